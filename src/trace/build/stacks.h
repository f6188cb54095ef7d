/*
 * Call stacks of one process as they were recorded, and the mappings of its code that their addresses lie in. What is
 * kept points into the spool; names are found elsewhere (frames.h).
 */
#ifndef GPUTRACE_TRACE_BUILD_STACKS_H
#define GPUTRACE_TRACE_BUILD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/build/process.h"
#include "trace/spool/event_record.h"

struct recorded_stack {
    const char *words; /* addresses, innermost first, not aligned; NULL: its record was lost */
    uint32_t count;    /* of them */
    uint32_t number;   /* within the process */
    bool wanted;       /* events of the trace refer to it */
    bool written;      /* the trace's metadata has it */
};

struct stacks {
    struct map by_number;               /* -> index + 1 in items */
    ARRAY(struct recorded_stack) items; /* as they came */
    ARRAY(struct recorded_mapping {
        const char *text; /* a line of maps, without newline or NUL */
        uint32_t length;
    })
    mappings;
    uint32_t highest; /* number that was seen */
};

/* All zero is empty. */
void stacks_release(struct stacks *stacks);

/* Index pass. Return 0, or -1 after error(). */

/* An event refers to stack NUMBER; 0 is none. Returns 0, or -1 after error(). */
int stacks_want(struct stacks *stacks, uint32_t number);

/* NULL: nothing is known of it. */
struct recorded_stack *stacks_get(const struct stacks *stacks, uint32_t number);

struct json_out;
struct stack_frame;
/* The frames of a process's stack, with names where there is a namer; to be freed. None when it is not known. Returns
 * 0, or -1 after error(). */
int stack_frames(struct conversion *conversion, struct process *process, uint32_t number, struct stack_frame **frames,
                 size_t *count);
/* The innermost frame alone. Returns 0, or -1 after error(). */
int stack_innermost(struct conversion *conversion, struct process *process, const struct recorded_stack *stack,
                    struct stack_frame *frame);
/* Names the stacks that events refer to, and makes them ready for the metadata. Returns 0, or -1 after error(). */
int gather_stacks(struct conversion *conversion);
/* Within an object: "frames" is an array of them, "stacks" one whose elements refer to it. */
void write_stacks(const struct conversion *conversion, struct json_out *json);
/* The number that the trace has for a stack. */
static inline uint32_t stack_in_trace(const struct process *process, uint32_t number)
{
    return process->stack_offset + number;
}

/* metadata_frames.c: an object. */
void put_frame(const struct stack_frame *frame, struct json_out *json);

#endif
