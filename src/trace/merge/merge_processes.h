/*
 * Writes the metadata of processes and GPUs with the numbers and times of the output, and joins call stacks.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_PROCESSES_H
#define GPUTRACE_TRACE_MERGE_MERGE_PROCESSES_H

#include "trace/merge/merge_trace.h"

struct json_out;
struct merge_stacks;

/* How values of TRACE's metadata are written to JSON with the numbers and times of the output. */
struct merge_remap {
    const struct merge *merge;
    const struct merge_trace *trace;
    const struct merge_process *process; /* times are by its host's clock; NULL: times are not corrected */
    const struct merge_stacks *stacks;
    struct json_out *json;
};

/* Appends the processes of a trace to a list. TEXT is the list in the trace's metadata, or empty. */
void merge_put_processes(const struct merge_remap *remap, struct json_text text);
/* Appends any other value. */
void merge_put_value(const struct merge_remap *remap, struct json_text value);
/* Appends the properties in TEXT of TRACE's devices that are not in PUT, and adds these to PUT. Returns 0, or -1
 * without memory. */
int merge_put_devices(const struct merge *merge, const struct merge_trace *trace, struct json_text text,
                      struct map *put, struct json_out *json);

/* Call stacks of all traces as one tree. */
struct merge_stacks {
    struct map known;                  /* hash of a frame and its parent's number -> number of the frame */
    struct buffer frames;              /* in memory: the members of "stackFrames", each behind a comma */
    ARRAY(struct merge_stack) numbers; /* numbers of the trace that was added last */
    bool full;                         /* stacks were left out, as readers could not hold more */
};
/* Adds the frames of a trace's "stackFrames", and sets `numbers`. Returns 0, or -1 after error(). */
int merge_stacks_add(struct merge_stacks *stacks, struct json_text text);
void merge_stacks_release(struct merge_stacks *stacks);
/* Returns the new number of the stack NUMBER, or 0 if it is unknown. */
uint32_t merge_stacks_find(const struct merge_stack *numbers, size_t count, uint64_t number);

/* Writes the joined metadata of all traces to SINK; merge_metadata.c. Returns 0, or -1 after error(). */
int merge_write_metadata(struct merge *merge, struct sink *sink);

#endif
