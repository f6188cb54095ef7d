/*
 * Joins the metadata of all traces.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_METADATA_H
#define GPUTRACE_TRACE_MERGE_MERGE_METADATA_H

struct merge;
struct sink;

/* Writes the joined metadata to SINK. Returns 0, or -1 after error(). */
int merge_write_metadata(struct merge *merge, struct sink *sink);

#endif
