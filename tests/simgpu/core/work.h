/*
 * Work in time. A piece of work is an op, what it waits for, and when it starts and ends. Its start follows from the
 * end of all it waits for and the call that made it, so times do not depend on how fast this simulator is; it counts as
 * done when the clock has passed its end and its bytes have been moved. One thread does that for all devices, in order
 * of ends; another calls functions of the host, whose duration nobody can know before.
 *
 * All functions want the simulator's lock held.
 */
#ifndef SIMGPU_CORE_WORK_H
#define SIMGPU_CORE_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/activity.h"
#include "core/list.h"
#include "core/op.h"

struct work {
    struct op op;
    uint64_t earliest;   /* ns: not before this */
    uint64_t start, end; /* known once everything it waits for has ended */
    bool done;
    bool entered;              /* of a kernel that waits for others: it has started */
    bool hangs;                /* never ends */
    bool timeless;             /* its record gets no times */
    bool faults;               /* sets *lost when it ends */
    atomic_bool *lost;         /* once this is set it is not done, and its record stays as it is; or NULL */
    struct activity_slot slot; /* its record */
    struct work *span; /* the work whose start is that of the first with this span: a graph's last, of its nodes */
    unsigned references, waiting;
    struct list dependents;
};

/* A new piece of work, with one reference, that waits for nothing yet and has not been started. */
struct work *work_new(const struct op *op);
/* WORK starts when ON has ended. ON may be NULL or done. */
void work_depend(struct work *work, struct work *on);
/* From now on it happens by itself. */
void work_start(struct work *work);
/* Lets the lock go until WORK is done. NULL is done. */
void work_wait(struct work *work);

struct work *work_hold(struct work *work);
void work_drop(struct work *work); /* may be NULL */
/* *PLACE drops what it held and holds WORK. */
void work_replace(struct work **place, struct work *work);

#endif
