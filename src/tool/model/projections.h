/*
 * NVTX ranges on the GPU: for each range and stream the time from the first to the last GPU work that was started
 * within it.
 *
 * To a range of push and pop belongs what its thread started. A range of start and end may be handed on: to it belongs
 * what the thread that started it and the thread that ended it have started meanwhile.
 */
#ifndef GPUTRACE_TOOL_MODEL_PROJECTIONS_H
#define GPUTRACE_TOOL_MODEL_PROJECTIONS_H

#include <stdint.h>

#include "base/array.h"
#include "base/big_array.h"
#include "base/intervals.h"
#include "base/map.h"
#include "tool/model/nvtx.h"

struct projection {
    uint32_t range;      /* number: nvtx_range() */
    uint32_t track;      /* index of the stream's track */
    uint64_t start, end; /* ns */
    uint32_t next;       /* index + 1 of the same range's on another track; before they are sorted */
};

struct projections {
    BIG_ARRAY(struct projection) items;
    BIG_ARRAY(uint32_t) of_range;    /* by number: index + 1 of its first projection; not all are there */
    struct map started_by_thread;    /* -> index + 1 in started */
    ARRAY(struct intervals) started; /* ranges of start and end */
    const char *directory;
};

/* DIRECTORY is for what memory cannot hold, as nvtx_init() has it. */
void projections_init(struct projections *projections, const char *directory);
void projections_release(struct projections *projections);
void projections_rest(const struct projections *projections);

/* Before the first work, when all ranges are known. Gives 0, or -1 after error(). */
int projections_begin(struct projections *projections, const struct nvtx *nvtx);

/* What some of the GPU work is projected to. Several threads may find it at once, each in a struct of its own, which
 * starts as zeros. */
struct projections_found {
    struct nvtx_places places;
    ARRAY(struct projection) items;
};

/* GPU work on TRACK, whose call THREAD began at CALLED. Gives 0, or -1 after error(). */
int projections_find(struct projections_found *found, const struct projections *projections, const struct nvtx *nvtx,
                     uint32_t thread, uint64_t called, uint32_t track, uint64_t start, uint64_t end);
/* Adds what was found, and makes FOUND empty. Gives 0, or -1 after error(). */
int projections_add(struct projections *projections, struct projections_found *found);
void projections_found_release(struct projections_found *found);

/* After the last: gives outer ranges what their inner ones have, and sorts so that outer ones come first.
 * Gives 0, or -1 after error(). */
int projections_finish(struct projections *projections, const struct nvtx *nvtx);

#endif
