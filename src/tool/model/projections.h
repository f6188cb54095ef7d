/*
 * NVTX ranges on the GPU: for each range and stream the time from the first to the last GPU work that the range's
 * thread started within it.
 */
#ifndef GPUTRACE_TOOL_MODEL_PROJECTIONS_H
#define GPUTRACE_TOOL_MODEL_PROJECTIONS_H

#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "tool/model/nvtx.h"

struct projection {
    uint32_t range;      /* index in nvtx.ranges */
    uint32_t track;      /* index of the stream's track */
    uint64_t start, end; /* ns */
};

struct projections {
    struct map by_key; /* range, track -> index + 1 */
    ARRAY(struct projection) items;
};

void projections_release(struct projections *projections);

/* GPU work on TRACK, whose call THREAD began at CALLED. Gives 0, or -1 after error(). */
int projections_see(struct projections *projections, const struct nvtx *nvtx, uint32_t thread, uint64_t called,
                    uint32_t track, uint64_t start, uint64_t end);

/* After the last: gives outer ranges what their inner ones have, and sorts so that outer ones come first.
 * Gives 0, or -1 after error(). */
int projections_finish(struct projections *projections, const struct nvtx *nvtx);

#endif
