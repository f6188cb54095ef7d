/*
 * Stalls: times in which a GPU was idle because the thread that launched its next operation was in an API call of some
 * kind, or came back from one late. A rule gives its calls to stalls_add(), then all operations to stalls_op(), each as
 * the engine does.
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

/* So many of a thread's last calls are remembered. */
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
    int64_t until;   /* its operations ran until then */
    bool any;
    struct finding_measured {
        int64_t from, to; /* from the launch of the first kernel to the start of the last one */
        bool any;
    } kernels;
};

struct stall_thread {
    struct stall_call calls[STALL_CALLS];
    unsigned next, count;
};

/* A GPU was idle from FROM to TO, as CALL, of the thread that launched the operation at TO, … */
enum stall_kind {
    STALL_WITHIN, /* … ended after FROM */
    STALL_WAITED, /* … the same, and began before FROM, as waits do */
};
struct stall {
    int64_t from, to;
    struct stall_call call;
};

void stalls_release(struct stalls *stalls);

/* Returns 0, or -1: no memory. */
int stalls_add(struct stalls *stalls, const struct trace *trace, const struct host_call *call);
/* Looks at OP. Returns 1: it ended a stall of this kind, which it sets; 0: it did not; -1: no memory. */
int stalls_op(struct stalls *stalls, const struct timeline_op *op, enum stall_kind kind, struct stall *stall);
/* After stalls_op(): OP's own call was one of these. Returns 0, or -1: no memory. */
int stalls_note(struct stalls *stalls, const struct timeline_op *op);

/* Where CALL was. */
struct finding_place stall_place(const struct stall_call *call);

/* Calls EACH with all calls that began between kernels. Returns 0, or -1: no memory, or what EACH returned. */
int stalls_between_kernels(struct stalls *stalls, int (*each)(void *context, const struct stall_call *call),
                           void *context);

#endif
