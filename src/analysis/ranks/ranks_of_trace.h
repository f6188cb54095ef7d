/*
 * Fills struct ranks from the sections of a trace.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_RANKS_OF_TRACE_H
#define GPUTRACE_ANALYSIS_RANKS_RANKS_OF_TRACE_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/gpu/temporal.h"

struct ranks;
struct trace;

/* Fills RANKS with the ranks of TRACE, from the states of section_ranks, section_comm, section_steps and section_idle.
 * Returns 0, or -1: no memory, or after warning(). */
int ranks_of_trace(struct ranks *ranks, const struct trace *trace);

/* Sets `between` of each rank: the operations or lines of the program between which its host is outside CUDA
 * longest. Sets nothing if there are CPU samples, which tell more. Call it after ranks_of_trace(). Returns 0, or -1:
 * no memory. */
int ranks_describe_gaps(struct ranks *ranks, const struct trace *trace);

#define RANK_NONE UINT32_MAX

/* An item of trace.ranks that has a process. */
struct rank_time {
    uint32_t known;             /* index in trace.ranks */
    struct temporal_device gpu; /* busy time of all of its GPUs */
    struct temporal_lane lane;  /* used while operations are walked */
    bool shares;                /* another rank uses one of its GPUs, too */
};

struct rank_kernel_key {
    uint64_t rank, name; /* index in rank_times.items; text of the trace */
};
/* Sums of a kernel that computes, or of a copy. */
struct rank_kernel {
    int64_t total, count; /* ns */
    bool copy;
};

/* The state of section_ranks. Initialise with zeros. */
struct rank_times {
    ARRAY(struct rank_time) items;
    ARRAY(uint32_t)
    of_process, of_device; /* by index in the trace: index in items; RANK_NONE: of no rank, or of several ranks */
    struct dense_map kernel_keys; /* struct rank_kernel_key */
    ARRAY(struct rank_kernel) kernels;
};

/* Fills TIMES. Call it after trace_finish(), with trace.timeline. Returns 0, or -1: no memory, or after error(). */
int rank_times_gather(void *times, const struct trace *trace);
void rank_times_release(void *times);

#endif
