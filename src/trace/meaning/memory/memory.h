/*
 * Allocations and releases of memory in a trace: instants on their threads, and memory in use as counters.
 *
 * Threads write their records in chunks of their own, so the steps are collected, sorted by time, and then applied.
 * A step holds all that its record says: by time, records lie anywhere in the spool, whose pages would all be needed.
 *
 * For stream-ordered memory, CUDA's runtime asks the driver before it has a context, makes one when that fails, and
 * asks again: all in one call of the program, which has not failed. So failures are left out when an allocation with
 * the same correlation id succeeded.
 */
#ifndef GPUTRACE_TRACE_MEANING_MEMORY_MEMORY_H
#define GPUTRACE_TRACE_MEANING_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/spool/event_record.h"

struct piece_writer;
struct process;

/*
 * An account of a process's allocations: which memory it holds, and how much of each kind on each device.
 *
 * An address can be given out again before its release was recorded, as calls return in another order than they act: of
 * several live allocations of one address the oldest is released first.
 */

/* The account remembers at least this many released addresses, and at most twice as many. An allocator may never
 * return the same address again, so the number of released addresses has no limit. */
#define ALLOCATIONS_GONE ((size_t)1 << 18)

/* What is wrong with a release. If its address is not remembered, the account cannot say whether it was ever allocated.
 *      fault            words in the trace */
#define MEMORY_FAULTS(X)          \
    X(NO_FAULT, "")               \
    X(FREED_TWICE, "double free") \
    X(NEVER_ALLOCATED, "unknown free")
enum memory_fault {
#define FAULT(name, text) MEMORY_##name,
    MEMORY_FAULTS(FAULT)
#undef FAULT
        MEMORY_FAULT_COUNT
};

struct allocation {
    uint64_t size;
    uint32_t device, context;
    uint16_t kind;
    bool live;
    uint8_t fault;     /* enum memory_fault */
    uint32_t next;     /* index + 1 of the next younger one of this address, or of the next free entry */
    uint32_t youngest; /* of the oldest of an address: index + 1 of the youngest */
};

/* The memory in use of one kind on one device. */
struct allocation_level {
    uint32_t device; /* EVENT_NO_DEVICE for host memory */
    uint16_t kind;
    bool changed; /* by the last event; the reader clears it */
    uint64_t bytes;
};

/* All zero is empty. */
struct allocations {
    struct map live;   /* address -> index + 1 of the oldest */
    struct map gone;   /* addresses that were released -> kind and device of the last allocation there … */
    struct map before; /* … and those before them; what was released before these is forgotten */
    ARRAY(struct allocation) entries;
    uint32_t free;                         /* index + 1 of the first free entry */
    ARRAY(struct allocation_level) levels; /* few */
};

void allocations_release(struct allocations *allocations);

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

/*
 * Applies a step that is not a context's end and describes its allocation in ABOUT. Of a release, size, kind and device are the
 * allocation's; when that allocation is not known, size is 0, `live` false, and `fault` says whether there was one
 * before. A failed operation changes nothing. Returns 0, or -1 after error().
 */
int allocations_apply(struct allocations *allocations, const struct memory_step *step, struct allocation *about);

/* Bytes in use on a device, of one KIND or of all (SPOOL_MEMORY_UNKNOWN). */
uint64_t allocations_held(const struct allocations *allocations, uint32_t device, uint16_t kind);

struct memory {
    FILE_VECTOR(struct memory_step) steps;
    struct map failed; /* correlation id of an allocation that failed -> ATTEMPT_* in memory.c; few */
    struct allocations allocations;
};

void memory_release(struct memory *memory);

/* Remembers a step; those of a thread come in their order. Returns 0, or -1 after error(). */
int memory_collect(struct memory *memory, const struct event *event);
/* Whether STEP is a failed attempt that its call repeated with success, once all steps were collected. */
bool memory_was_tried_again(const struct memory *memory, const struct memory_step *step);
/* Returns 0, or -1 after error(). */
int memory_sort(struct memory *memory);

int write_memory(struct piece_writer *out, struct process *process);

#endif
