/*
 * Call stacks of one process as they were recorded, and the mappings of the code that their addresses lie in; both
 * point into the spool. A frame_namer finds the names (frames.h). The second half joins the stacks to one tree in the
 * trace.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_STACKS_H
#define GPUTRACE_TRACE_MEANING_BASE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/base/process.h"

struct recorded_stack {
    const char *words; /* addresses, innermost first, not aligned; NULL: the stack's record was lost */
    uint32_t count;    /* number of addresses */
    uint32_t number;   /* within the process */
    uint32_t uses;     /* events of the trace that refer to the stack */
    uint8_t owner;     /* enum frame_owner of the frame that PLACE is of; set when the stack is in the trace */
    uint32_t leaf;  /* number of the innermost frame in the trace's stackFrames; 0: the trace does not have the stack */
    uint32_t place; /* in the interner conversion.stacks.places: the program's line that the stack is known by */
};

/* Ties a call that launched or waited to the stack that it was made from. */
struct call_stack {
    uint32_t correlation, stack;
};

#define CRASH_FRAMES_MAX 128

/* Number of the stack of the thread that crashed. The process numbers no other stack so. */
#define CRASH_STACK UINT32_MAX

struct stacks {
    struct map by_number;               /* -> index + 1 in items */
    ARRAY(struct recorded_stack) items; /* in the order in which the numbers were first seen */
    ARRAY(struct recorded_mapping {
        const char *text; /* a line of maps, without newline or NUL */
        uint32_t length;
    })
    mappings;
    FILE_VECTOR(struct call_stack) calls; /* sorted by correlation after order_call_stacks() */
    struct stack_snapshot crash;          /* of the thread that crashed; its bytes are NULL if there is none */
    uint64_t crash_registers[SPOOL_CRASH_REGISTERS];
    uint64_t crash_words[CRASH_FRAMES_MAX]; /* addresses of the crashed thread's stack, unwound */
    struct backward_line {                  /* the line of the program that calls PyTorch's backward pass */
        bool known, differs;                /* differs: several lines do */
        uint32_t place;                     /* in conversion.stacks.places */
    } backward;
    struct map python_frames; /* number -> index + 1 in python_items */
    ARRAY(struct recorded_python_frame {
        const char *text; /* function, NUL, file */
        uint32_t length;
        uint32_t line; /* 0: none */
    })
    python_items;
};

/* Counts EVENTS more events that refer to stack NUMBER; 0 is no stack. Returns 0, or -1 after error(). */
int stacks_use(struct stacks *stacks, uint32_t number, uint32_t events);

/* Returns NULL if no record and no event had this number. */
struct recorded_stack *stacks_get(const struct stacks *stacks, uint32_t number);
/* Sets FRAMES to a stack's frames, innermost first, with names if there is a namer; the caller frees the array, which
 * holds the texts of Python's functions. An unknown stack has 0 frames. Returns 0, or -1 after error(). */
int stack_frames(struct conversion *conversion, struct process *process, uint32_t number, struct stack_frame **frames,
                 size_t *count);
/* Sets FRAME to the innermost frame of the stack, all zeros if the stack is empty. Returns 0, or -1 after error(). */
int stack_innermost(struct conversion *conversion, struct process *process, const struct recorded_stack *stack,
                    struct stack_frame *frame);

/* Sorts the stacks of calls, after the agent's records. Returns 0, or -1 after error(). */
int order_call_stacks(struct process *process);
/* Returns the number of the stack of a call that launched or waited, or 0 if it has none. */
uint32_t call_stack(const struct process *process, uint32_t correlation);

/* Returns the trace's number for a stack of the process, or 0 if the trace does not have the stack. */
static inline uint32_t stack_in_trace(const struct process *process, uint32_t number)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    return stack ? stack->leaf : 0;
}

/*
 * All stacks that events refer to, as the tree of the trace-event format: "stackFrames" maps a number to a frame, which
 * has the number of the frame that called it. A stack has the number of its innermost frame. Frames that look alike and
 * have the same caller are one frame, across processes too.
 */

/* Names the stacks that events refer to and makes their JSON for the metadata. Returns 0, or -1 after error(). */
int gather_stacks(struct conversion *conversion);
/* Writes the key "stackFrames" of the metadata, if there are frames. */
void write_stacks(struct conversion *conversion);
/* Adds a stack of the process to the arguments of an event, and as OF_PLACE (ARG_CALLED_AT, ARG_CAPTURED_AT) the line
 * that it is known by. Adds nothing if the trace does not have the stack. */
void args_stack(struct args *args, const struct process *process, uint32_t number, enum arg_key of_place);
/* Adds the text of PLACE, a number in conversion.stacks.places, as KEY. */
void args_line(struct args *args, const struct process *process, enum arg_key key, uint32_t place);

#endif
