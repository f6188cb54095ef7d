/*
 * How long kernels computed on a GPU within given intervals, as many as there are and however they overlap: what of
 * communication is hidden behind computation. Needs trace.timeline.
 */
#ifndef GPUTRACE_ANALYSIS_MODEL_COMPUTING_H
#define GPUTRACE_ANALYSIS_MODEL_COMPUTING_H

#include <stdint.h>

#include "common/sorter.h"

struct trace;

struct computing {
    struct sorter points; /* where intervals begin and end, by device and time */
};

/* An interval, and the answer. */
struct computing_answer {
    void *context;
    /* Of interval NUMBER: gets what kernels had computed on its GPU by its start, later by its end: ns. The difference
     * is the answer. */
    void (*take)(void *context, uint64_t number, bool end, int64_t computed);
};

void computing_init(struct computing *computing, struct sorter_space *space);
static inline void computing_release(struct computing *computing)
{
    sorter_release(&computing->points);
}

/* DEVICE: index in trace.devices. Returns 0, or -1: no memory. */
int computing_add(struct computing *computing, uint64_t number, uint32_t device, int64_t start, int64_t end);

/* After the last. Returns 0, or -1: no memory, or after error(). */
int computing_gather(struct computing *computing, const struct trace *trace, const struct computing_answer *answer);

#endif
