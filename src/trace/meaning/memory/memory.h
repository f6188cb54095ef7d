/*
 * Allocations and releases of memory in a trace: instants on their threads, and memory in use as counters.
 *
 * Threads write their records in chunks of their own, so the steps are collected, sorted by time, and then applied.
 *
 * For stream-ordered memory, CUDA's runtime asks the driver before it has a context, makes one when that fails, and
 * asks again: all in one call of the program, which has not failed. So failures are left out when an allocation with
 * the same correlation id succeeded.
 *
 * A step holds all that its record says: by time, records lie anywhere in the spool, whose pages would all be needed.
 */
#ifndef GPUTRACE_TRACE_MEANING_MEMORY_MEMORY_H
#define GPUTRACE_TRACE_MEANING_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/map.h"
#include "trace/meaning/memory/allocations.h"
#include "trace/spool/event_record.h"

/* An EVENT_MEMORY, or a context's end. */
struct memory_step {
    uint64_t time;
    uint64_t order; /* in which it was read */
    uint64_t address, size, pool;
    uint32_t device, context, stream, thread, correlation, stack;
    int32_t result;
    uint16_t operation;
    uint8_t kind;
    bool ends_context;
};

struct memory {
    FILE_VECTOR(struct memory_step) steps;
    struct map failed; /* correlation id of an allocation that failed -> ATTEMPT_* in memory.c; few */
    struct allocations allocations;
};

void memory_release(struct memory *memory);

/* Remembers a step; those of a thread come in their order. Returns 0, or -1 after error(). */
int memory_collect(struct memory *memory, const struct event *event);
/* Whether EVENT is a failed attempt that its call repeated with success, once all steps were collected. */
bool memory_was_tried_again(const struct memory *memory, const struct event *event);
/* Returns 0, or -1 after error(). */
int memory_sort(struct memory *memory);
/* The event of a step: what it was collected from, but for `record`. */
struct event memory_event(const struct memory_step *step);

struct piece_writer;
struct process;
int write_memory(struct piece_writer *out, struct process *process);

#endif
