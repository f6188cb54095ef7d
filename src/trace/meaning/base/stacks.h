/*
 * Call stacks of one process as they were recorded, and the mappings of its code that their addresses lie in. What is
 * kept points into the spool; names are found elsewhere (frames.h). Stacks in the trace are below.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_STACKS_H
#define GPUTRACE_TRACE_MEANING_BASE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/base/process.h"

struct recorded_stack {
    const char *words; /* addresses, innermost first, not aligned; NULL: its record was lost */
    uint32_t count;    /* of them */
    uint32_t number;   /* within the process */
    uint32_t uses;     /* events of the trace that refer to it */
    uint8_t owner;     /* enum frame_owner: whose code that place is; once it is in the trace */
    uint32_t leaf;     /* its number in the trace: the innermost of its stackFrames; 0: the trace does not have it */
    uint32_t place;    /* of the interner conversion.stacks.places: the line of the program's that it is known by */
};

/* A call of the process that launched or waited. */
struct call_stack {
    uint32_t correlation, stack;
};

#define CRASH_FRAMES_MAX 128

/* Of the stack of the thread that crashed: the process gives no stack of its own this one. */
#define CRASH_STACK UINT32_MAX

struct stacks {
    struct map by_number;               /* -> index + 1 in items */
    ARRAY(struct recorded_stack) items; /* as they came */
    ARRAY(struct recorded_mapping {
        const char *text; /* a line of maps, without newline or NUL */
        uint32_t length;
    })
    mappings;
    FILE_VECTOR(struct call_stack) calls; /* by correlation, once they are in order */
    struct stack_snapshot crash;          /* of the thread that crashed; its bytes are NULL: there is none */
    uint64_t crash_registers[SPOOL_CRASH_REGISTERS];
    uint64_t crash_words[CRASH_FRAMES_MAX]; /* the same, unwound */
    struct backward_line {                  /* the line of the program that calls PyTorch's backward pass */
        bool known, differs;                /* differs: several do */
        uint32_t place;                     /* as of a recorded stack */
    } backward;
    struct map python_frames; /* number -> index + 1 in python_items */
    ARRAY(struct recorded_python_frame {
        const char *text; /* function, NUL, file */
        uint32_t length;
        uint32_t line; /* 0: none */
    })
    python_items;
};

/* So many events refer to stack NUMBER; 0 is none. Returns 0, or -1 after error(). */
int stacks_use(struct stacks *stacks, uint32_t number, uint32_t events);

/* NULL: nothing is known of it. */
struct recorded_stack *stacks_get(const struct stacks *stacks, uint32_t number);
/* The frames of a process's stack, with names where there is a namer; to be freed, and the texts of Python's functions
 * with them. None when it is not known. Returns 0, or -1 after error(). */
int stack_frames(struct conversion *conversion, struct process *process, uint32_t number, struct stack_frame **frames,
                 size_t *count);
/* The innermost frame alone. Returns 0, or -1 after error(). */
int stack_innermost(struct conversion *conversion, struct process *process, const struct recorded_stack *stack,
                    struct stack_frame *frame);

/* Puts the stacks of calls in order, after the agent's records. Returns 0, or -1 after error(). */
int order_call_stacks(struct process *process);
/* The number of the stack of a call that launched or waited; 0: it has none. */
uint32_t call_stack(const struct process *process, uint32_t correlation);

/* The number that the trace has for a stack of the process; 0: it is not in the trace. */
static inline uint32_t stack_in_trace(const struct process *process, uint32_t number)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    return stack ? stack->leaf : 0;
}

/*
 * All stacks that events refer to, as the tree of the trace-event format: "stackFrames" are frames by number, each with the
 * number of the frame that called it. A stack has the number of its innermost frame. Frames that are called the same, and
 * below the same, are one, also of several processes.
 */

/* Names the stacks that events refer to, and makes them ready for the metadata. Returns 0, or -1 after error(). */
int gather_stacks(struct conversion *conversion);
/* The key "stackFrames" of the metadata, where there are any. */
void write_stacks(struct conversion *conversion);
/* Adds a stack of the process to the arguments of an event, and the line of the program that it is known by as OF_PLACE
 * (ARG_CALLED_AT, ARG_CAPTURED_AT); nothing, where the trace does not have it. */
void args_stack(struct args *args, const struct process *process, uint32_t number, enum arg_key of_place);
/* Adds the line that is number PLACE of conversion.stacks.places as KEY. */
void args_line(struct args *args, const struct process *process, enum arg_key key, uint32_t place);

#endif
