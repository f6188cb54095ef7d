/*
 * The second reading of a trace.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_RENAME_H
#define GPUTRACE_TRACE_MERGE_MERGE_RENAME_H

#include "trace/merge/merge_processes.h"

/* A sink that gives TO the events of a trace as they are in the output. */
struct merge_rename {
    struct sink sink;
    struct sink_format format;
    const struct merge *merge;
    const struct merge_trace *trace;
    struct sink *to;
    const struct merge_process *recent;
    struct merge_stack *stacks; /* of the trace */
    uint64_t next_async;
    ARRAY(struct arg) args; /* of the event at hand */
    struct arg_list list;
    struct args given;
    struct buffer text; /* in memory: of arguments that are text of JSON */
    struct buffer nothing;
    bool no_memory;
};
/* Returns 0, or -1 after error(). It is released in either case. */
int merge_rename_init(struct merge_rename *rename, const struct merge *merge, const struct merge_trace *trace);
void merge_rename_release(struct merge_rename *rename);
/* From now on TO is given all that comes. */
struct sink *merge_rename_to(struct merge_rename *rename, struct sink *to);

#endif
