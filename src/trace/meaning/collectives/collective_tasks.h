/* What NCCL's profiler plugin said of operations, joined with the calls. */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVE_TASKS_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/nvtx/payload_schemas.h"

struct collective_task;
struct communication;
struct process;

/* Once the calls are sorted: finds the task of each. Returns 0, or -1 after error(). */
int collectives_join_tasks(struct process *process);
/* Gives task NUMBER to a call that LAUNCHER launched, if one fits it. */
void collectives_join_launched(const struct communication *collectives, uint32_t number, uint32_t launcher);
enum collective_word {
    COLLECTIVE_WORD_FUNCTION,
    COLLECTIVE_WORD_TYPE,
    COLLECTIVE_WORD_ALGORITHM,
    COLLECTIVE_WORD_PROTOCOL
};
/* NULL text: it is not known. */
struct nvtx_text collective_task_word(const struct collective_task *task, enum collective_word which);
/* What the user should know about the plugin of a process that called NCCL. False: nothing. */
#define COLLECTIVES_NOTE 512
bool collectives_note(const struct process *process, char text[COLLECTIVES_NOTE]);

#endif
