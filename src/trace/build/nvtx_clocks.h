/*
 * Clocks of a process other than the trace's, and how their times become the trace's: by moments at which two clocks
 * were read together, by what a clock says of itself, and through a third clock.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_CLOCKS_H
#define GPUTRACE_TRACE_BUILD_NVTX_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/spool_records.h"
#include "trace/spool/event_record.h"

#define NVTX_CLOCKS_OURS 1 /* the clock of nvtxTimestampGet(): the trace's */

struct nvtx_sync_point {
    int64_t from, to;
    double slope; /* ticks of `to` in one of `from`; 0: not told */
};

/* Moments at which two clocks were read, by the time of the first. */
struct nvtx_clock_pair {
    uint64_t from, to; /* ids */
    uint32_t domain;
    FILE_VECTOR(struct nvtx_sync_point) points;
};

struct nvtx_clocks {
    ARRAY(const struct spool_nvtx_time_domain *) domains;
    FILE_VECTOR(const struct spool_nvtx_sync *) syncs; /* until they are closed */
    ARRAY(struct nvtx_clock_pair) pairs;               /* once closed; each both ways round */
    const char *directory;                             /* for what memory cannot hold; NULL: there is none */
};

void nvtx_clocks_release(struct nvtx_clocks *clocks);

/* What is known need not stay in memory for now. */
void nvtx_clocks_evict(const struct nvtx_clocks *clocks);

/* Remembers a record of a clock; others are passed over. Returns 0, or -1 after error(). */
int nvtx_clocks_index(struct nvtx_clocks *clocks, const struct event *event);

/* After the last. Returns 0, or -1 after error(). */
int nvtx_clocks_close(struct nvtx_clocks *clocks);

/* The trace's time of a clock's TICKS. False: nothing says how the clock goes. */
bool nvtx_clocks_convert(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks,
                         uint64_t *time);

/* The clock that the program said a scope is timed by; NVTX_CLOCKS_OURS: none. */
uint64_t nvtx_clocks_of_scope(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t scope);

#endif
