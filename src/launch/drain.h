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

/* --- figures of a run for `gputrace run --live` --- */

/*
 * The figures cover all processes of the run. They are about 300 ms late, because CUPTI collects GPU times late.
 *
 * How busy a GPU is: for each millisecond, the time of its work, summed over streams and limited to one millisecond.
 * The sum is exact unless work of several streams overlaps; then it may be too large. Memory in use: the bytes that
 * were allocated on GPUs since recording began and are not yet released.
 */

#define LIVE_GPUS_MAX 16u
#define LIVE_SLOTS 8192u /* milliseconds in the ring of a GPU */

struct live_gpu {
    bool seen;
    uint64_t latest;            /* millisecond of the last slot in use */
    uint32_t slots[LIVE_SLOTS]; /* ns of work in a millisecond, by millisecond % LIVE_SLOTS */
};

struct live {
    uint64_t started;  /* CLOCK_REALTIME, ns */
    uint64_t events;   /* records that become events: calls, GPU work, NVTX and the rest */
    uint64_t memory;   /* bytes in use on GPUs */
    uint64_t recorded; /* bytes of records */
    struct live_gpu gpus[LIVE_GPUS_MAX];
};

/* The allocations of one process, by address. */
struct live_process {
    struct map allocated; /* -> bytes */
    struct map released;  /* released before the allocation was read from another thread's records -> time */
};
/* Frees PROCESS and subtracts its allocations from the memory in LIVE, which may be NULL. */
void live_process_release(struct live_process *process, struct live *live);

/* Adds the CUPTI records in PART, where RECORD_BYTES has the size of each kind. In a chunk that is still in use, stops
 * at the first record that has no times yet. Returns the bytes that were read. */
size_t live_add_cupti(struct live *live, const struct spool_part *part, const uint16_t record_bytes[SPOOL_CUPTI_KINDS]);
/* Adds the agent's records in PART, which belong to PROCESS. */
void live_add_agent(struct live *live, struct live_process *process, const struct spool_part *part);

/* Returns the share of the time from FROM to TO (CLOCK_REALTIME, ns) in which GPU had work, 0 to 1, or -1 if the GPU
 * has had no work yet. */
double live_busy(const struct live *live, uint32_t gpu, uint64_t from, uint64_t to);

/* --- spool_drain.c: one spool --- */

/*
 * Complete chunks are packed into a file beside the spool. Their space goes back to the writer or the disk
 * (common/spool.h).
 *
 * Files are read and written through descriptors, never through a mapping, so that a truncated file is an error here
 * and not a SIGBUS. The traced process and this one may be killed at any moment: a chunk is marked as drained after its
 * packed bytes were written, and readers count a chunk once that is in both files without a mark. If an ended process
 * left little, its packed chunks move to the file of ended processes, and its own files are removed.
 */

/* The buffers and counters that are shared by all spools of a run, which are drained one after another. */
struct drain_tools {
    int directory; /* the run directory */
    struct packer packer;
    uint8_t *data;     /* space for a chunk, SPOOL_ALIGN-aligned */
    const bool *stop;  /* set by another thread: the round must end early */
    struct live *live; /* the figures of drained records are added here; may be NULL */
    uint64_t ended;    /* bytes in the file of processes that have ended */
};

/* A segment of a spool file that may still have chunks to drain. */
struct segment_drain {
    uint32_t number;   /* position in the file, from 0 */
    uint32_t at;       /* offset in the segment: chunks before this are drained */
    uint64_t sequence; /* of the segment's first chunk; if it has changed, the segment was reused and `at` is 0 */
};

struct spool_drain {
    char name[64];
    char packed_name[64];
    uint32_t segments; /* number of segments of the file that were put into `open` so far */
    ARRAY(struct segment_drain) open;
    uint64_t packed_size; /* bytes in the packed file */
    uint64_t drained;     /* number of drained chunks, as in the spool's header */
    uint64_t bytes;       /* bytes of records in the drained chunks */
    uint64_t disk;        /* bytes that both files take on the disk */
    struct live_process process;
    struct map seen;      /* offset of a chunk -> its bytes that are in the figures of `live` */
    bool unusable;        /* the spool has another format and is not drained */
    bool over;            /* the process has ended, and nothing is left to drain */
    bool removed;         /* its chunks are in the file of ended processes, and its own files are removed */
    bool no_space;        /* the last packed chunk could not be written; a later round tries again */
    uint64_t pause, next; /* the caller's: ns between rounds, and time of the next one (CLOCK_MONOTONIC, ns) */
};

/* NAME is the name of a spool file in the run directory. Returns 0, or -1 if it is too long. */
int spool_drain_init(struct spool_drain *drain, const char *name);
void spool_drain_release(struct spool_drain *drain);

/* Drains the chunks that are complete now. Returns their number, or -1 if there is no space or no such file. */
int spool_drain_round(struct spool_drain *drain, struct drain_tools *tools);

/* Checks whether the process of a spool has ended. If it has, packs the remaining chunks, complete or not, frees the
 * rest of the spool's space on the disk, and sets `over`. */
void spool_drain_end(struct spool_drain *drain, struct drain_tools *tools);

/* --- drain.c: the thread --- */

/* The thread raises its nice value by 10 once it has packed several MB, so that the program keeps its processors. */

struct drain;

/* The thread calls report() at most once in `every` nanoseconds. DISK: bytes that the run takes on the disk. */
struct drain_listener {
    void (*report)(void *context, const struct live *live, uint64_t disk);
    void *context;
    uint64_t every; /* ns */
};

/* Starts a thread that drains the spools in the run directory PATH, with all signals blocked. LISTENER, which may be
 * NULL, is copied. Returns NULL with errno set on failure; the records then stay unpacked. */
struct drain *drain_start(const char *path, const struct drain_listener *listener);

/* The work of a drain. */
struct drain_figures {
    uint64_t chunks;
    uint64_t bytes, packed; /* bytes of records before and after packing */
    uint64_t processor;     /* ns of CPU time that the thread took */
};

/* Ends the thread as soon as its current chunk is packed, and frees DRAIN, which may be NULL. Chunks that are not
 * drained stay in the spools. */
struct drain_figures drain_stop(struct drain *drain);

/* Keeps the launcher of a run that goes on from draining the spools in DIRECTORY until this process ends, so that this
 * process can read them. Waits for the launcher's round to end, two seconds at most. Returns 0, or -1 if spools may be
 * drained while they are read. */
int drain_hold(const char *directory);

#endif
