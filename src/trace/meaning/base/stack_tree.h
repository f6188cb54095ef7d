/* Call stacks in the trace: the tree of frames of all stacks that events refer to, and the arguments that do. */
#ifndef GPUTRACE_TRACE_MEANING_BASE_STACK_TREE_H
#define GPUTRACE_TRACE_MEANING_BASE_STACK_TREE_H

#include <stdint.h>

#include "trace/event.h"

struct conversion;
struct process;

/* Names the stacks that events refer to, and makes them ready for the metadata. Returns 0, or -1 after error(). */
int gather_stacks(struct conversion *conversion);
/* The key "stackFrames" of the metadata, where there are any. */
void write_stacks(struct conversion *conversion);
/* Adds a stack of the process to the arguments of an event, and the line of the program that it is known by; nothing,
 * where the trace does not have it. */
void args_stack(struct args *args, const struct process *process, uint32_t number);
/* The same of the stack that captured what a graph replays. */
void args_stack_of_capture(struct args *args, const struct process *process, uint32_t number);
/* Adds the line that is number PLACE of conversion.stacks.places as KEY. */
void args_line(struct args *args, const struct process *process, enum arg_key key, uint32_t place);

#endif
