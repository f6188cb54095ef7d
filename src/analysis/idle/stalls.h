/*
 * Stalls are times in which a GPU was idle because the thread that launched its next operation was in an API call of
 * some kind, or had just returned from it. A rule passes its calls to stalls_call(), then all operations to
 * stalls_op(), both in the order in which the engine calls its hooks.
 */
#ifndef GPUTRACE_ANALYSIS_IDLE_STALLS_H
#define GPUTRACE_ANALYSIS_IDLE_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/sorter.h"
#include "analysis/engine/findings.h"

struct stall_call {
    int64_t start, end; /* ns */
    uint32_t thread;    /* index in trace.threads */
    uint32_t name;
    uint8_t kind; /* enum call_kind */
};

/* The number of a thread's last calls that are remembered. */
#define STALL_CALLS 4

/* All zero is empty. */
struct stalls {
    struct sorter calls; /* struct stall_call by start; not initialised while count is 0 */
    uint64_t count;
    bool ready, walking;
    struct sorter_walk walk;
    const struct stall_call *next; /* of the walk */
    ARRAY(struct stall_thread) threads;
    uint32_t device; /* of the last operation */
    int64_t until;   /* the latest end of the device's operations so far, ns */
    bool any;
    struct kernels_time {
        int64_t from, to; /* from the launch of the first kernel to the start of the last, ns */
        bool any;
    } kernels;
};

struct stall_thread {
    struct stall_call calls[STALL_CALLS];
    unsigned next, count;
};

enum stall_kind {
    STALL_WITHIN, /* the call ended while the GPU was idle */
    STALL_WAITED, /* the call also began before the GPU was idle, as waits do */
};

/* A GPU was idle from `from` to `to` because of `call`, made by the thread that launched the operation at `to`. */
struct stall {
    int64_t from, to;
    struct stall_call call;
};

/* Hooks for rules whose states begin with a struct stalls. */
void stalls_release(void *state);
int stalls_call(void *state, const struct trace *trace, const struct host_call *call);

/* Reads OP. Returns 1 and sets *STALL if OP ended a stall of this kind; 0 if not; -1: no memory. */
int stalls_op(struct stalls *stalls, const struct timeline_op *op, enum stall_kind kind, struct stall *stall);
/* Remembers OP's own call as a call of the rule, after stalls_op(). Returns 0, or -1: no memory. */
int stalls_add_own_call(struct stalls *stalls, const struct timeline_op *op);

/* Returns the place of CALL. */
struct finding_place stall_place(const struct stall_call *call);

/* Calls EACH with all calls that began between the first and the last kernel. Stops when EACH returns non-zero, and
 * returns that; else 0, or -1: no memory. */
int stalls_between_kernels(struct stalls *stalls, int (*each)(void *context, const struct stall_call *call),
                           void *context);

#endif
