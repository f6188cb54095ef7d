/*
 * Operations that NCCL told its profiler plugin about, and the arguments of calls and kernels of communication. Several
 * threads may ask for arguments at once.
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

/* Memory for the arguments of one event. */
struct collective_args {
    struct args args;
    struct arg_list list;
    char communicator[NUMBER_SPACE];
};

/* Adds the arguments of the call that is range NUMBER, if it is a call. SPACE must live as long as ARGS. */
void collectives_describe_range(struct args *args, const struct process *process, uint32_t number,
                                struct collective_args *space);
/* Adds the arguments of the kernel EVENT, if it communicates. */
void collectives_describe_kernel(struct args *args, const struct process *process, const struct event *event,
                                 struct nvtx_places *places, struct collective_args *space);

/* Finds the call of each task, after collectives_find(). Returns 0, or -1 after error(). */
int collectives_join_tasks(struct process *process);
/* Joins task NUMBER with a call that LAUNCHER launched, if one fits. */
void collectives_join_launched(const struct communication *collectives, uint32_t number, uint32_t launcher);
/* Writes a note for the user if the process called NCCL but the plugin recorded nothing. Returns false if there is no
 * need for it. */
#define COLLECTIVES_NOTE 512
bool collectives_note(const struct process *process, char text[COLLECTIVES_NOTE]);

#endif
