/*
 * One round of draining a spool: what spool_drain.c, which drains while the process runs, and spool_end.c, which does
 * when it has ended, have in common.
 */
#ifndef GPUTRACE_LAUNCH_ROUND_H
#define GPUTRACE_LAUNCH_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/spool_drain.h"

/* A round: the files are open for it alone, as a run may have more processes than we may have descriptors. */
struct round {
    struct spool_drain *drain;
    struct drain_tools *tools;
    struct spool_header header;
    int spool;
    int packed; /* -1: not opened yet */
    int count;  /* of chunks packed */
};

/* Those that give an int: 0, or -1. */
int round_open(struct round *round);
void round_close(struct round *round);
int round_read(int fd, void *bytes, size_t size, uint64_t offset);
int round_write(int fd, const void *bytes, size_t size, uint64_t offset);
bool round_is_usable(const struct spool_header *header);
/* The round is to end early. */
bool round_is_to_stop(const struct round *round);

/* The header at OFFSET, which has so much ROOM. */
int round_read_chunk(struct round *round, struct spool_chunk *chunk, uint64_t offset, uint64_t room);
/* Packs a chunk that is done, and marks it. */
int round_drain_chunk(struct round *round, struct spool_chunk *chunk, uint64_t offset);
/* Opens the packed file, unless it is open. */
int round_open_packed(struct round *round);
/* Notes what the files take on the disk. */
void round_see_disk(struct round *round);

#endif
