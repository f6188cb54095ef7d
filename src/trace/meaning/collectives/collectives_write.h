/*
 * What NCCL's profiler plugin said of operations, and the arguments of calls and kernels of communication, which any
 * number of threads may ask for.
 */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_WRITE_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"
#include "trace/meaning/nvtx/payload_schemas.h"

struct communication;
struct nvtx_places;
struct process;

/* Where the arguments are put together. */
struct collective_args {
    struct args args;
    struct arg_list list;
    char communicator[NUMBER_SPACE];
};

/* Adds those of the call that is range NUMBER, if it is one; SPACE lives as long as ARGS. */
void collectives_describe_range(struct args *args, const struct process *process, uint32_t number,
                                struct collective_args *space);
/* Adds those of the kernel EVENT. */
void collectives_describe_kernel(struct args *args, const struct process *process, const struct event *event,
                                 struct nvtx_places *places, struct collective_args *space);

/* Once the calls are sorted: finds the task of each. Returns 0, or -1 after error(). */
int collectives_join_tasks(struct process *process);
/* Gives task NUMBER to a call that LAUNCHER launched, if one fits it. */
void collectives_join_launched(const struct communication *collectives, uint32_t number, uint32_t launcher);
/* What the user should know about the plugin of a process that called NCCL. False: nothing. */
#define COLLECTIVES_NOTE 512
bool collectives_note(const struct process *process, char text[COLLECTIVES_NOTE]);

#endif
