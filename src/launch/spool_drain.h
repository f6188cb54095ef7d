/*
 * Draining one spool while its process writes it: chunks that are done are packed into the file beside, and their room
 * given back to the writer, or to the disk (common/spool.h tells how).
 *
 * Everything is read and written through descriptors, never through a mapping: whatever becomes of the files meanwhile
 * is an error here and no SIGBUS. The process may be killed at any moment, and so may we: a chunk is marked as drained
 * after its packed bytes were written, and what is marked in neither way is found in both files, and counts once. What
 * a process that has ended leaves, if it is little, goes into the file of those that have ended, before its own are
 * removed.
 */
#ifndef GPUTRACE_LAUNCH_SPOOL_DRAIN_H
#define GPUTRACE_LAUNCH_SPOOL_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/spool.h"
#include "launch/live.h"
#include "trace/spool/packing.h"

/* What every spool is drained with, one after another. */
struct drain_tools {
    int directory; /* the run directory */
    struct packer packer;
    uint8_t *data;     /* room for a chunk, SPOOL_ALIGN-aligned */
    const bool *stop;  /* becomes true when a round is to end early */
    struct live *live; /* hears of what is drained; NULL: nobody does */
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
    struct map seen; /* of chunks, by offset: bytes that `live` has heard of */
    bool unusable;   /* it is left alone from now on */
    bool over;       /* the process has ended, and nothing is left to drain */
    bool removed;    /* … and its files are gone: what it recorded is among the processes that have ended */
    bool no_room;    /* what was packed last could not be written: later again */
    /* When it is looked at: the caller's. */
    uint64_t pause, next;
};

/* NAME is that of a spool in the run directory. Returns 0, or -1: it is too long to be one. */
int spool_drain_init(struct spool_drain *drain, const char *name);
void spool_drain_release(struct spool_drain *drain);

/* Drains what is done now. Returns how many chunks that were, or -1: no room, or no such file. */
int spool_drain_round(struct spool_drain *drain, struct drain_tools *tools);

/* For a spool of which nothing was drained for a while: when its process has ended, packs what is left, in use or not,
 * and gives the disk back what its files take beyond that. Then the spool is `over`. */
void spool_drain_end(struct spool_drain *drain, struct drain_tools *tools);

#endif
