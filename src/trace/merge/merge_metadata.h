/*
 * The metadata of all traces together.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_METADATA_H
#define GPUTRACE_TRACE_MERGE_MERGE_METADATA_H

struct merge;
struct sink;

/* Gives SINK the metadata. Returns 0, or -1 after error(). */
int merge_write_metadata(struct merge *merge, struct sink *sink);

#endif
