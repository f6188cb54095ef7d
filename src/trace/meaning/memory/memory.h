/*
 * Allocations and releases of memory in a trace: instants on their threads, and memory in use as counters.
 *
 * Threads write their records in chunks of their own, so the steps are collected, sorted by time, and then applied. A
 * step copies what its record says: in order of time, records lie all over the spool, whose pages would all be read.
 *
 * For stream-ordered memory, CUDA's runtime asks the driver before it has a context, creates one when that fails, and
 * asks again: all in one call of the program, which has not failed. So a failure is not shown if an allocation with its
 * correlation id succeeded.
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
 * An address can be allocated again before its release was recorded, since calls need not return in the order in which
 * they act: if several allocations of one address are live, the oldest is released first.
 */

/* The account remembers at least this many released addresses, and at most twice as many. An allocator may never
 * return the same address again, so the number of released addresses has no limit. */
#define ALLOCATIONS_GONE ((size_t)1 << 18)

/* What is wrong with a release. MEMORY_NEVER_ALLOCATED means that the account does not remember the address.
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
    uint32_t next;     /* index + 1 of the next younger entry of this address, or of the next free entry */
    uint32_t youngest; /* in the oldest entry of an address: index + 1 of the youngest */
};

/* The memory in use of one kind on one device. */
struct allocation_level {
    uint32_t device; /* EVENT_NO_DEVICE for host memory */
    uint16_t kind;
    bool changed; /* by the last event; the reader clears it */
    uint64_t bytes;
};

/* A struct of zeros is empty. */
struct allocations {
    struct map live;   /* address -> index + 1 of its oldest entry */
    struct map gone;   /* released address -> kind and device of the last allocation there; ALLOCATIONS_GONE at most */
    struct map before; /* the map `gone` before the present one; older ones are forgotten */
    ARRAY(struct allocation) entries;
    uint32_t free;                         /* index + 1 of the first free entry */
    ARRAY(struct allocation_level) levels; /* few */
};

void allocations_release(struct allocations *allocations);

/* An EVENT_MEMORY, or the end of a context. */
struct memory_step {
    uint64_t time;
    uint64_t order; /* of reading */
    uint64_t address, size, pool;
    uint32_t device, context, stream, thread, correlation, stack;
    int32_t result;
    uint16_t operation;
    uint8_t kind;
    bool ends_context;
};

/*
 * Applies a step that is not a context's end and describes its allocation in ABOUT. A release gets size, kind and
 * device from its allocation. If that is unknown, size is 0, `live` is false, and `fault` says whether the address was
 * allocated before. A failed operation changes nothing. Returns 0, or -1 after error().
 */
int allocations_apply(struct allocations *allocations, const struct memory_step *step, struct allocation *about);

/* Returns how many bytes are in use on a device, of one KIND or of all (SPOOL_MEMORY_UNKNOWN). */
uint64_t allocations_held(const struct allocations *allocations, uint32_t device, uint16_t kind);

struct memory {
    FILE_VECTOR(struct memory_step) steps;
    struct map failed; /* correlation id of an allocation that failed -> ATTEMPT_* in memory.c; few */
    struct allocations allocations;
};

void memory_release(struct memory *memory);

/* Adds a step. The steps of each thread must come in their order. Returns 0, or -1 after error(). */
int memory_collect(struct memory *memory, const struct event *event);
/* Whether STEP is a failed attempt that its call repeated with success. Valid after the last memory_collect(). */
bool memory_was_tried_again(const struct memory *memory, const struct memory_step *step);
/* Sorts the steps by time. Returns 0, or -1 after error(). */
int memory_sort(struct memory *memory);

int write_memory(struct piece_writer *out, struct process *process);

#endif
