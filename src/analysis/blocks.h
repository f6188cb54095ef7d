/*
 * A trace file in blocks, in their order, with the events that are in them: threads read and parse them ahead.
 *
 * A block ends where an event seems to begin: behind "},", before '{'. Text can look like that too, so this is a guess;
 * each block's batch was read on it, and is used only by a reader who comes to the block's start and expects an event
 * there. So a wrong guess costs time, and the events are always those of the file, however many threads there are.
 *
 * The bytes are read by whichever thread wants the next block, under a lock; blocks are handed on by number. A file of
 * one block is read without threads, and so is everything where none can be made.
 */
#ifndef GPUTRACE_ANALYSIS_BLOCKS_H
#define GPUTRACE_ANALYSIS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/gzip/source.h"
#include "analysis/batch.h"

/* Text of a block at most. Its events should stay in a core's cache until the reader takes them. */
#define BLOCK_BYTES ((size_t)320 * 1024)

/* Threads beyond this would wait for the one that sums up. */
#define BLOCK_WORKERS_MAX 16

struct block {
    char *text; /* and zeros behind it (QUICK_PADDING) */
    size_t length;
    uint64_t lines; /* line ends in it, when has_batch */
    bool last;      /* nothing comes after it */
    bool has_batch;
    struct batch batch;
    struct source_failure failure; /* after this text */
};

struct blocks;

/* Opens PATH ("-": stdin) for WORKERS threads, 0: as many as there are processors for us. Gives NULL after error(). */
struct blocks *blocks_open(const char *path, unsigned workers);
void blocks_close(struct blocks *blocks);

/* Before the first block: batches are to hold texts instead of events. */
void blocks_keep_texts(struct blocks *blocks);

/* As messages call the file. */
const char *blocks_path(const struct blocks *blocks);

/* The next block, valid until the next call; not to be called after the last. NULL after error(). */
const struct block *blocks_next(struct blocks *blocks);

/* Tells a block's failure. Gives -1. */
int blocks_error(const struct blocks *blocks, const struct block *block);

#endif
