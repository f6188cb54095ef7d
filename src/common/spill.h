/*
 * Memory for indexes that grow with what is read. The first blocks are ordinary memory; those after them lie in a file
 * without a name, mapped, so that their pages need not stay in our memory: spill_rest() gives them back, and they are
 * read again when they are touched. Where no file can be made, or its disk is full, it is ordinary memory all the same.
 */
#ifndef GPUTRACE_COMMON_SPILL_H
#define GPUTRACE_COMMON_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

#define SPILL_PLAIN_BYTES ((uint64_t)32 << 20) /* that are ordinary memory before there is a file */

struct spill {
    const char *directory; /* of the file; NULL: there will be none */
    uint64_t most_plain;   /* bytes of ordinary memory before the file; SPILL_PLAIN_BYTES, as a rule */
    bool started;          /* the file was asked for */
    int fd;                /* once started; -1: there is none */
    uint64_t file_bytes, plain_bytes;
    ARRAY(struct spill_extent {
        char *at;
        size_t size;
        size_t used;
        bool in_file;
    })
    extents;
};

/* DIRECTORY stays the caller's, and as it is, as long as the spill is in use. */
void spill_init(struct spill *spill, const char *directory);
/* All blocks are gone. Also of one that is all zero. */
void spill_release(struct spill *spill);

/* SIZE zeroed bytes, a power of two up to 1 MiB, aligned to it up to a page; they stay where they are. NULL: no
 * memory. */
void *spill_block(struct spill *spill, size_t size);
/* Whether the last block lies in the file, so that its pages can be given back by themselves. */
bool spill_last_in_file(const struct spill *spill);

/* What was touched is not needed for now. Pointers stay valid, other threads may be reading and writing. */
void spill_rest(const struct spill *spill);

#endif
