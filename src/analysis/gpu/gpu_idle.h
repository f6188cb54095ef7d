/*
 * When the GPUs of a process were idle: the time between the first and the last operation of its GPUs in which none of
 * them ran anything. The GPUs of a process are those on which it launched operations; for a process that launched none,
 * such as a worker, they are all GPUs of the trace.
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

/* All zero is empty. */
struct gpu_idle {
    FILE_VECTOR(struct gpu_busy_time) busy; /* by GPU and time; there is idle time between those of a GPU */
    ARRAY(struct gpu_busy_list) devices;    /* by index in trace.devices; there may be fewer than there */
    bool *used;                             /* by process * device_count + device, indices in the trace */
    bool *launches;                         /* by index in trace.threads: whether it launched operations */
    size_t device_count;
};

/* The busy times of a GPU. */
struct gpu_busy_list {
    size_t first, count;
    size_t next; /* in a walk: the first that has not ended by the walk's time */
};

/* Fills IDLE from trace.timeline, after trace_finish(). Returns 0, or -1: no memory, or after warning(). */
int gpu_idle_gather(struct gpu_idle *idle, const struct trace *trace);
void gpu_idle_release(struct gpu_idle *idle);

/* A walk forward in time. Times must not go back until the next gpu_idle_walk_begin(). */
struct gpu_idle_walk {
    const struct gpu_idle *idle;
    ARRAY(struct gpu_busy_list) devices; /* of the process; the caller releases it */
    int64_t from, to;                    /* the first start and the last end of busy times, ns */
};

/* Begins a walk over the GPUs of PROCESS, an index in trace.processes. WALK is zero or was used before. Returns 0, or
 * -1: no memory. */
int gpu_idle_walk_begin(struct gpu_idle_walk *walk, const struct gpu_idle *idle, uint32_t process);

/* gpu_idle_at() returns whether the GPUs are idle at TIME, gpu_idle_within() for how many ns they are from START to
 * END. */
bool gpu_idle_at(struct gpu_idle_walk *walk, int64_t time);
int64_t gpu_idle_within(struct gpu_idle_walk *walk, int64_t start, int64_t end);

#endif
