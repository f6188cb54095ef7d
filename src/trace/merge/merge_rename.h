/*
 * The second reading of a trace: a sink that passes on events with the numbers and times of the output.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_RENAME_H
#define GPUTRACE_TRACE_MERGE_MERGE_RENAME_H

#include "trace/merge/merge_processes.h"

struct merge_rename {
    struct sink sink;
    struct sink_format format;
    const struct merge *merge;
    const struct merge_trace *trace;
    struct sink *to;
    const struct merge_process *recent;
    struct merge_stack *stacks; /* numbers of the trace's call stacks */
    uint64_t next_async;
    ARRAY(struct arg) args; /* arguments of the current event */
    struct arg_list list;
    struct args given;
    struct buffer text; /* in memory: changed arguments that are JSON text */
    struct buffer nothing;
    bool no_memory;
};
/* Returns 0, or -1 after error(). The caller must release RENAME in either case. */
int merge_rename_init(struct merge_rename *rename, const struct merge *merge, const struct merge_trace *trace);
void merge_rename_release(struct merge_rename *rename);
/* Returns the sink, which from now on passes all events to TO. */
struct sink *merge_rename_to(struct merge_rename *rename, struct sink *to);

#endif
