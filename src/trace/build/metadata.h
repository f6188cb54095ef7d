/* Everything that stands before the events. */
#ifndef GPUTRACE_TRACE_BUILD_METADATA_H
#define GPUTRACE_TRACE_BUILD_METADATA_H

struct conversion;
/* metadata.c: everything before the events. Returns 0, or -1 after error(). */
int write_metadata(struct conversion *conversion);

#endif
