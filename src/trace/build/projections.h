/*
 * NVTX ranges on the GPU: for each range and stream the time from the first to the last GPU operation that was started
 * within it.
 *
 * To a range of push and pop belongs what its thread started. A range of start and end may be handed on: to it belongs
 * what the thread that started it and the thread that ended it have started meanwhile.
 */
#ifndef GPUTRACE_TRACE_BUILD_PROJECTIONS_H
#define GPUTRACE_TRACE_BUILD_PROJECTIONS_H

#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/extents.h"
#include "common/map.h"
#include "trace/build/nvtx.h"

struct projection {
    uint32_t range;      /* number: nvtx_range() */
    uint32_t track;      /* index of the stream's track */
    uint64_t start, end; /* ns */
};

/*
 * Calls of a thread between which no range begins or ends are in the same ranges: they are one piece, known by the time
 * at which it begins. So what is kept does not grow with the launches, nor with the ranges that are open meanwhile.
 */
struct projections {
    FILE_VECTOR(struct projection) items;
    FILE_VECTOR(struct projection) of_two; /* of ranges that two threads have: one of each */
    struct extents extents;
    struct map threads; /* -> index + 1 in pieces */
    ARRAY(struct projection_pieces {
        FILE_VECTOR(uint64_t) starts; /* sorted */
    })
    pieces;
    const char *directory;
};

/* DIRECTORY is for what memory cannot hold, as nvtx_init() has it. */
void projections_init(struct projections *projections, const char *directory);
void projections_release(struct projections *projections);
void projections_evict(const struct projections *projections);

/* Before the first GPU operation, when all ranges are known. Returns 0, or -1 after error(). */
int projections_begin(struct projections *projections, const struct nvtx *nvtx);

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
int projections_finish(struct projections *projections, const struct nvtx *nvtx);

#endif
