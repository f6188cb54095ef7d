/*
 * Which NVTX ranges of a thread, and operators of PyTorch, are open at a time.
 */
#ifndef GPUTRACE_TRACE_MEANING_GPU_OPEN_RANGES_H
#define GPUTRACE_TRACE_MEANING_GPU_OPEN_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct nvtx;
struct process;

#define OPEN_NAMES 32u /* the innermost */

/* What is open, outermost first, and for how long that is so. */
struct open_names {
    uint64_t from, until;
    struct open_name {
        uint64_t start;
        struct name name; /* its text lives as long as the spool is open */
    } items[OPEN_NAMES];
    size_t count;
    bool left_out; /* there are more around them */
};

/* Before the first time is asked for, once projections_begin() was called. Returns 0, or -1 after error(). */
int open_ranges_begin(struct nvtx *nvtx);
/* Adds the ranges of THREAD that are open at TIME. */
void open_ranges_at(const struct process *process, uint32_t thread, uint64_t time, struct open_names *names);
void open_ranges_end(struct nvtx *nvtx);

#endif
