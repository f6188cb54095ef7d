/*
 * When the GPUs of a process were idle, for what threads did meanwhile: the time between the first and the last
 * operation of its GPUs in which none of them ran anything. The GPUs of a process are those on which it launched
 * operations; of a process that launched none, such as a worker, those of the whole trace.
 */
#ifndef GPUTRACE_ANALYSIS_GPU_GPU_IDLE_H
#define GPUTRACE_ANALYSIS_GPU_GPU_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"

struct trace;

struct gpu_busy_time {
    int64_t start, end; /* ns */
};

/* All zero is of no GPU. */
struct gpu_idle {
    FILE_VECTOR(struct gpu_busy_time) busy; /* by GPU and time; those of one do not touch */
    ARRAY(struct gpu_busy_part) devices;    /* by index in trace.devices; it may end early */
    bool *used;                             /* by process, then device: by indices in the trace */
    bool *launches;                         /* by index in trace.threads */
    size_t device_count;
};

struct gpu_busy_part {
    size_t first, count;
    size_t next; /* of a walk: the first that has not ended by its time */
};

/* After trace_finish(); TRACE has a timeline. Returns 0, or -1: no memory, or after warning(). */
int gpu_idle_gather(struct gpu_idle *idle, const struct trace *trace);
void gpu_idle_release(struct gpu_idle *idle);

/* One thread's time is walked over forward: times never go back until the next begin. */
struct gpu_idle_walk {
    const struct gpu_idle *idle;
    ARRAY(struct gpu_busy_part) devices; /* of the process */
    int64_t from, to;                    /* the first start and the last end */
};

void gpu_idle_walk_release(struct gpu_idle_walk *walk);
/* PROCESS: index in trace.processes. Returns 0, or -1: no memory. WALK may be an old one. */
int gpu_idle_walk_begin(struct gpu_idle_walk *walk, const struct gpu_idle *idle, uint32_t process);

/* Whether the GPUs are idle at TIME; and for how many ns from START to END. */
bool gpu_idle_at(struct gpu_idle_walk *walk, int64_t time);
int64_t gpu_idle_within(struct gpu_idle_walk *walk, int64_t start, int64_t end);

#endif
