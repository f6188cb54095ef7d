/* Arguments of calls and kernels of communication. Any number of threads may ask for them. */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_WRITE_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_WRITE_H

#include <stdint.h>

#include "common/text.h"
#include "trace/event.h"

struct event;
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

#endif
