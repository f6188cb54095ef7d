/*
 * What `gputrace run --live` tells: figures of all processes of a run, as far as CUPTI has told the times of GPU work,
 * so some 300 ms late.
 *
 * How busy a GPU is: in each millisecond what its work took, that of several streams added up, but a millisecond at
 * most. Without overlaps that is exact, with overlaps it is too much rather than too little. Memory in use: what was
 * allocated on GPUs and not released, from when recording began.
 */
#ifndef GPUTRACE_LAUNCH_LIVE_H
#define GPUTRACE_LAUNCH_LIVE_H

#include <stdint.h>

#include "common/map.h"
#include "trace/spool/spool_file.h"

#define LIVE_GPUS_MAX 16u
#define LIVE_SLOTS 8192u /* milliseconds that are remembered */

struct live_gpu {
    bool seen;
    uint64_t latest;            /* millisecond of the last slot in use */
    uint32_t slots[LIVE_SLOTS]; /* ns of work in each, by millisecond % LIVE_SLOTS */
};

struct live {
    uint64_t started;  /* CLOCK_REALTIME, ns */
    uint64_t events;   /* calls, GPU work, NVTX and everything else that becomes an event */
    uint64_t memory;   /* bytes in use on GPUs */
    uint64_t recorded; /* bytes of records */
    struct live_gpu gpus[LIVE_GPUS_MAX];
};

/* Of one process: its allocations, by address. */
struct live_process {
    struct map allocated; /* -> bytes */
    struct map released;  /* before the allocation was heard of, which threads tell apart -> when; not many */
};
void live_process_release(struct live_process *process, struct live *live);

/* CUPTI's records since the last time, `size` bytes at part->data, with the sizes of each kind. Of a chunk in use, up
 * to the first whose times are not there yet. Returns the bytes that were seen. */
size_t live_see_cupti(struct live *live, const struct spool_part *part, const uint16_t record_bytes[SPOOL_CUPTI_KINDS]);
/* Records of the library's own, since the last time. */
void live_see_own(struct live *live, struct live_process *process, const struct spool_part *part);

/* The share of the milliseconds from FROM to TO (CLOCK_REALTIME, ns) in which GPU had work, 0 to 1; -1: it never had.
 */
double live_busy(const struct live *live, uint32_t gpu, uint64_t from, uint64_t to);

#endif
