/*
 * NVTX ranges on the GPU: for each range and stream the time from the first to the last GPU operation that was started
 * within the range. A range of push and pop covers what its thread started. A range of start and end may be passed to
 * another thread, so it covers what both the thread that started it and the thread that ended it started meanwhile.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_PROJECTIONS_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_PROJECTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

struct nvtx;
struct projections;

/* Prepares for projections_find(), when all ranges are known. Returns 0, or -1 after error(). */
int projections_begin(struct nvtx *nvtx);

#define PROJECTIONS_RECENT 64 /* a power of two */

/* Extents of some of the GPU operations in the pieces of threads. Several threads may find them at once, each in a
 * struct of its own, which starts as zeros. */
struct projections_found {
    ARRAY(struct extents_point) items;
    uint32_t recent[PROJECTIONS_RECENT]; /* by a hash of thread and track: index + 1 of the last item */
    size_t places[PROJECTIONS_RECENT];   /* by thread: where the last search ended */
};

/* Adds a GPU operation on TRACK, whose call began on THREAD at CALLED, to FOUND. Returns 0, or -1 after error(). */
int projections_find(struct projections_found *found, const struct projections *projections, uint32_t thread,
                     uint64_t called, uint32_t track, uint64_t start, uint64_t end);
/* Moves what was found to PROJECTIONS; FOUND becomes empty. Returns 0, or -1 after error(). */
int projections_add(struct projections *projections, struct projections_found *found);

/* After the last operation: makes projections.items, by start, outer ones first. Returns 0, or -1 after error(). */
int projections_finish(struct nvtx *nvtx);

#endif
