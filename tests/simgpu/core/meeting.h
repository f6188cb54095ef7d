/*
 * Kernels of several processes that wait for one another, as collective operations do. A place lies in memory that the
 * processes share. Each side of a place (a rank) comes to it with one kernel after another; the Nth kernels of all
 * sides are one meeting. None of them ends before the last one has started. All end together: at the start of the last
 * one and the duration of the kernel.
 *
 * Kernels of different kinds (another operation, another size) do not end when they meet: that is a deadlock.
 */
#ifndef SIMGPU_CORE_MEETING_H
#define SIMGPU_CORE_MEETING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEETING_SIDES 64
#define MEETING_SLOTS 64
#define MEETINGS_MAX 4u            /* of one kernel */
#define MEETING_ENDLESS UINT64_MAX /* duration of a kernel that never ends */

/* Starts as zeros. */
struct meeting_place {
    atomic_uint_least64_t arrived[MEETING_SIDES]; /* kernels of each side that have started */
    struct meeting_slot {
        atomic_uint_least64_t entered; /* kernels, in all meetings so far */
        atomic_uint_least64_t latest;  /* start of the last one, ns */
        atomic_uint_least64_t kind;    /* number of the meeting + 1, and the kind of its first kernel: see KIND_BITS */
        atomic_uint_least64_t broken;  /* number + 1 of the last meeting whose kernels were of different kinds */
    } slots[MEETING_SLOTS];
};

struct meeting {
    struct meeting_place *place;
    uint32_t side, sides;
    uint32_t kind;
    uint64_t number; /* of the meeting, once the kernel has started */
};

/* The kernel that started at START comes to its place. */
void meeting_enter(struct meeting *meeting, uint64_t start);
/* Whether all sides have come; then *LATEST is at least when the last one started. */
bool meeting_complete(const struct meeting *meeting, uint64_t *latest);

/* For programs: the next kernel that the calling thread launches or captures takes so long (ns, 0: by its size), and
 * comes to COUNT places. A kernel of a graph comes to them at each launch of the graph. */
void simgpu_next_kernel(uint64_t duration, const struct meeting *meetings, size_t count);

/* What was said of the next kernel, and no longer is. */
struct next_kernel {
    uint64_t duration;
    struct meeting meetings[MEETINGS_MAX];
    size_t count;
};
struct next_kernel meeting_take_next(void);

#endif
