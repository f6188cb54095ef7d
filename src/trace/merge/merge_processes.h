/*
 * What the metadata says of processes and GPUs, with the numbers and times of the output, and call stacks.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_PROCESSES_H
#define GPUTRACE_TRACE_MERGE_MERGE_PROCESSES_H

#include "trace/merge/merge_trace.h"

struct json_out;
struct merge_stacks;

/* Values of the metadata of TRACE are written to JSON with the numbers and times of the output. */
struct merge_remap {
    const struct merge *merge;
    const struct merge_trace *trace;
    const struct merge_process *process; /* by whose clock times are; NULL: they stay */
    const struct merge_stacks *stacks;
    struct json_out *json;
};

/* Appends what the output says of the processes of a trace: TEXT is the list that the trace has, or
 * empty. */
void merge_put_processes(const struct merge_remap *remap, struct json_text text);
/* Appends another value. */
void merge_put_value(const struct merge_remap *remap, struct json_text value);
/* Appends the properties of those devices of TRACE that are not in PUT, and adds them. Returns 0, or -1: no memory. */
int merge_put_devices(const struct merge *merge, const struct merge_trace *trace, struct json_text text,
                      struct map *put, struct json_out *json);

/* Call stacks of all traces as one tree. */
struct merge_stacks {
    struct map known;                  /* hash of a frame and of what it is below -> its number */
    struct buffer frames;              /* in memory: the members of the object, each behind a comma */
    ARRAY(struct merge_stack) numbers; /* of the trace at hand */
    bool full;                         /* there are more than readers can hold */
};
/* Adds the frames of TEXT, an object, and sets `numbers`. Returns 0, or -1 after error(). */
int merge_stacks_add(struct merge_stacks *stacks, struct json_text text);
void merge_stacks_release(struct merge_stacks *stacks);
/* The new number; 0: it is not known. */
uint32_t merge_stacks_find(const struct merge_stack *numbers, size_t count, uint64_t number);

#endif
