/* What stands before the events of a trace. */
#ifndef GPUTRACE_TRACE_MEANING_WRITE_METADATA_H
#define GPUTRACE_TRACE_MEANING_WRITE_METADATA_H

struct conversion;

/* Returns 0, or -1 after error(). */
int write_metadata(struct conversion *conversion);

#endif
