/*
 * Packs the spools of a run while its programs write them, so that they take little space on the disk and little is
 * left to read at the end. drain.c: the thread, and figures for `gputrace run --live`; spool_drain.c: one spool.
 */
#ifndef GPUTRACE_LAUNCH_DRAIN_H
#define GPUTRACE_LAUNCH_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/spool.h"
#include "trace/spool/packing.h"
#include "trace/spool/spool_file.h"

/* --- figures of all processes of a run, as far as CUPTI has collected GPU times: some 300 ms late --- */

/*
 * How busy a GPU is: the time of its work in each millisecond, added up over streams, at most a millisecond. Without
 * overlaps this is exact, with overlaps it is too much rather than too little. Memory in use: what was allocated on
 * GPUs and not released since recording began.
 */

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

/* The allocations of one process, by address. */
struct live_process {
    struct map allocated; /* -> bytes */
    struct map released;  /* before the allocation was read, from another thread's records -> when; not many */
};
void live_process_release(struct live_process *process, struct live *live);

/* Adds CUPTI's records since the last time: `size` bytes at part->data, with the sizes of each kind. Of a chunk in use,
 * up to the first record without its times. Returns the bytes that were read. */
size_t live_add_cupti(struct live *live, const struct spool_part *part, const uint16_t record_bytes[SPOOL_CUPTI_KINDS]);
/* The agent's records since the last time. */
void live_add_agent(struct live *live, struct live_process *process, const struct spool_part *part);

/* The share of the milliseconds from FROM to TO (CLOCK_REALTIME, ns) in which GPU had work, 0 to 1; -1: it never had.
 */
double live_busy(const struct live *live, uint32_t gpu, uint64_t from, uint64_t to);

/* --- spool_drain.c: one spool --- */

/*
 * Chunks that are done are packed into the file beside the spool, and their space goes back to the writer or the disk
 * (common/spool.h).
 *
 * Everything is read and written through descriptors, never through a mapping: whatever happens to the files is an
 * error here and not a SIGBUS. The process may be killed at any moment, and so may we: a chunk is marked as drained
 * after its packed bytes were written, and one that is in both files without a mark counts once. What a process that
 * has ended leaves, if it is little, goes into the file of ended processes before its own files are removed.
 */

/* What every spool is drained with, one after another. */
struct drain_tools {
    int directory; /* the run directory */
    struct packer packer;
    uint8_t *data;     /* space for a chunk, SPOOL_ALIGN-aligned */
    const bool *stop;  /* becomes true when a round is to end early */
    struct live *live; /* counts what is drained; may be NULL */
    uint64_t ended;    /* bytes in the file of processes that have ended */
};

/* A segment in which something may be to drain still. */
struct segment_drain {
    uint32_t number;   /* from the begin of the file */
    uint32_t at;       /* offset in it of the first chunk that was not done with … */
    uint64_t sequence; /* … while its first chunk has this sequence: else the segment was used anew */
};

struct spool_drain {
    char name[64];
    char packed_name[64];
    uint32_t segments; /* of the file that were seen */
    ARRAY(struct segment_drain) open;
    uint64_t packed_size; /* bytes in the packed file */
    uint64_t drained;     /* chunks, as in the header … */
    uint64_t bytes;       /* … and what they held */
    uint64_t disk;        /* bytes that both files take there */
    struct live_process process;
    struct map seen; /* of chunks, by offset: bytes that `live` has counted */
    bool unusable;   /* it is left alone from now on */
    bool over;       /* the process has ended, and nothing is left to drain */
    bool removed;    /* … and its files are gone: what it recorded is among the processes that have ended */
    bool no_space;   /* what was packed last could not be written: later again */
    /* When it is looked at: the caller's. */
    uint64_t pause, next;
};

/* NAME is that of a spool in the run directory. Returns 0, or -1: it is too long to be one. */
int spool_drain_init(struct spool_drain *drain, const char *name);
void spool_drain_release(struct spool_drain *drain);

/* Drains what is done now. Returns how many chunks that were, or -1: no space, or no such file. */
int spool_drain_round(struct spool_drain *drain, struct drain_tools *tools);

/* Looks whether the process of a spool has ended, if nothing was drained for a while. If it has, packs what is left, in
 * use or not, and frees the rest of its space on the disk. Then the spool is `over`. */
void spool_drain_end(struct spool_drain *drain, struct drain_tools *tools);

/* --- drain.c: the thread --- */

/*
 * Once much was packed the thread runs at a nice value 10 higher than ours. Spools of processes that have ended are
 * packed as a whole.
 */

struct drain;

/* The thread calls report() at most once in `every` nanoseconds, with the bytes that the run has on the disk. */
struct drain_listener {
    void (*report)(void *context, const struct live *live, uint64_t disk);
    void *context;
    uint64_t every; /* ns */
};

/* Begins to drain the run directory PATH; all signals are blocked in the thread. LISTENER, which may be NULL, is
 * copied. NULL with errno set: it cannot be done, and nothing is lost. */
struct drain *drain_start(const char *path, const struct drain_listener *listener);

/* What was done. */
struct drain_figures {
    uint64_t chunks;
    uint64_t bytes, packed; /* of records, before and after */
    uint64_t processor;     /* ns that it took of one */
};

/* Ends that, as soon as the chunk at hand is packed. What is not drained is in the spools. */
struct drain_figures drain_stop(struct drain *drain);

/* Stops draining in DIRECTORY until this process ends, which reads the spools of a run that goes on. Waits for a round
 * to end, two seconds at most. Returns 0, or -1: what is read may be drained meanwhile. */
int drain_hold(const char *directory);

#endif
