/*
 * NVTX ranges on the GPU: for each range and stream the time from the first to the last GPU operation that was started
 * within it. To a range of push and pop belongs what its thread started. A range of start and end may be handed on: to
 * it belongs what the thread that started it and the thread that ended it have started meanwhile.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_PROJECTIONS_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_PROJECTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

struct nvtx;
struct projections;

/* Before the first GPU operation, when all ranges are known. Returns 0, or -1 after error(). */
int projections_begin(struct nvtx *nvtx);

#define PROJECTIONS_RECENT 64 /* a power of two */

/* What some of the GPU operations are projected to. Several threads may find it at once, each in a struct of its own,
 * which starts as zeros. */
struct projections_found {
    ARRAY(struct extents_point) items;
    uint32_t recent[PROJECTIONS_RECENT]; /* by thread and track: index + 1 of the last item … */
    size_t places[PROJECTIONS_RECENT];   /* … and by thread, where the last search ended */
};

/* A GPU operation on TRACK, whose call THREAD began at CALLED. Returns 0, or -1 after error(). */
int projections_find(struct projections_found *found, const struct projections *projections, uint32_t thread,
                     uint64_t called, uint32_t track, uint64_t start, uint64_t end);
/* Adds what was found, and makes FOUND empty. Returns 0, or -1 after error(). */
int projections_add(struct projections *projections, struct projections_found *found);
void projections_found_release(struct projections_found *found);

/* After the last: makes the items, in order of their start, outer ones first. Returns 0, or -1 after error(). */
int projections_finish(struct nvtx *nvtx);

#endif
