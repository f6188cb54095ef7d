/*
 * Synchronisation objects of NVTX: who waited for one, and who held it.
 *
 * Threads write for themselves, so what they did is first gathered, then sorted by time and matched. A wait ends on its
 * own thread. What is held may be released by another thread, as a semaphore is: then what was taken first ends.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_SYNCS_H
#define GPUTRACE_TRACE_BUILD_NVTX_SYNCS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
#include "trace/build/capture_intervals.h"
#include "trace/spool/event_record.h"

struct nvtx_sync_step {
    uint64_t time, object;
    uint32_t thread;
    uint16_t what; /* SPOOL_NVTX_ACQUIRE … SPOOL_NVTX_RELEASE */
};

struct nvtx_wait {
    uint64_t object, start, end;
    uint32_t thread;
    bool failed, open_at_end;
};

struct nvtx_hold {
    uint64_t object, start, end;
    uint32_t thread, end_thread;
    uint32_t next; /* index + 1 of the one that was taken before and is still held */
    bool open_at_end;
};

struct nvtx_syncs {
    FILE_VECTOR(struct nvtx_sync_step) steps;
    FILE_VECTOR(struct nvtx_wait) waits; /* after nvtx_syncs_match() */
    FILE_VECTOR(struct nvtx_hold) holds;
    struct map waiting; /* thread, object -> index + 1 */
    struct map held;    /* object -> index + 1 of the last that was taken and is held */
    uint64_t unmatched; /* steps that follow from none */
};

void nvtx_syncs_release(struct nvtx_syncs *syncs);

/* What is known need not stay in memory for now. */
void nvtx_syncs_evict(const struct nvtx_syncs *syncs);

/* An EVENT_NVTX of such a step. Returns 0, or -1 after error(). */
int nvtx_syncs_index(struct nvtx_syncs *syncs, const struct event *event);

/* After the last; what is open ends at TIME, or with its capture interval. Returns 0, or -1 after error(). */
int nvtx_syncs_match(struct nvtx_syncs *syncs, const struct capture_intervals *capture_intervals, uint64_t time);

#endif
