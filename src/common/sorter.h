/*
 * Sorts any number of small records in bounded memory. Sorted runs that do not fit into the budget lie in a temporary
 * file; where none can be made or the disk is full, they stay in memory.
 *
 *     sorter_init(&sorter, &space, sizeof(struct thing), compare);
 *     sorter_add() …, sorter_ready(), then as often as wanted:
 *     sorter_walk_begin(&walk, &sorter); while ((thing = sorter_next(&walk))) …; status = sorter_walk_end(&walk);
 *
 * Records that compare equal come in any order, which is the same in each walk.
 */
#ifndef GPUTRACE_COMMON_SORTER_H
#define GPUTRACE_COMMON_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "common/memory.h"

/* Limit for all sorters of a report: bytes of records in memory, without the runs that are being filled. */
#define SORTER_SPACE ((size_t)80 * 1024 * 1024)
/* Bytes of records that are sorted at a time. */
#define SORTER_RUN ((size_t)4 * 1024 * 1024)

/* The memory that several sorters share, also those of several threads. */
struct sorter_space {
    size_t left;           /* bytes left; changed atomically */
    size_t run;            /* bytes of a run; at least one record */
    const char *directory; /* for temporary files; NULL: temporary_directory() */
};

static inline struct sorter_space sorter_space_usual(void)
{
    return (struct sorter_space){.left = SORTER_SPACE, .run = SORTER_RUN};
}

typedef int (*sorter_compare)(const void *left, const void *right);

struct sorter {
    size_t record_bytes;
    sorter_compare compare;
    struct sorter_space *space;
    uint64_t count; /* number of records */
    char *filling;  /* the run that is being filled; NULL: none */
    size_t filled;  /* bytes of records in `filling` */
    size_t most;    /* bytes that fit into `filling` */
    ARRAY(struct sorter_run) runs;
    char *greatest;  /* the last record of the last run */
    bool disordered; /* a run begins before the end of the previous run */
    int fd;          /* descriptor of the temporary file; -1: none */
    uint64_t end;    /* bytes in the file */
    bool no_file;    /* no file can be made, or the disk is full */
};

struct sorter_run {
    char *held;      /* the records; NULL: they are in the file */
    size_t space;    /* bytes of sorter_space.left that it takes */
    uint64_t offset; /* offset in the file */
    size_t count;
};

/* SPACE is owned by the caller and must outlive the sorter. */
void sorter_init(struct sorter *sorter, struct sorter_space *space, size_t record_bytes, sorter_compare compare);
void sorter_release(struct sorter *sorter);

/* Ends the full run and begins another. Returns 0, or -1: no memory. */
int sorter_make_space(struct sorter *sorter);

/* Adds the record that RECORD points to. Returns 0, or -1: no memory. */
#define sorter_add(sorter, record) sorter_add_bytes(sorter, record, sizeof(*(record)))
static inline int sorter_add_bytes(struct sorter *sorter, const void *record, size_t size)
{
    if (sorter->filled == sorter->most && sorter_make_space(sorter) < 0)
        return -1;
    memcpy(sorter->filling + sorter->filled, record, size);
    sorter->filled += size;
    sorter->count++;
    return 0;
}

/* Ends the last run. Call it after the last record and before the first walk. Returns 0, or -1: no memory. */
int sorter_ready(struct sorter *sorter);

/* A walk over the records. Several walks may go on at a time, in one thread or several. */
struct sorter_walk {
    const struct sorter *sorter;
    struct sorter_cursor *cursors; /* a heap of the cursors of runs that have records left */
    size_t count;
    size_t next; /* the first run that is not begun: ordered runs are read one after another */
    bool started;
    int status;
};

void sorter_walk_begin(struct sorter_walk *walk, const struct sorter *sorter);

/* Returns the next record, valid until the next call, or NULL after the last one. */
const void *sorter_next(struct sorter_walk *walk);

/* Ends the walk. Returns 0, or -1: no memory, or after warning() if records could not be read back. */
int sorter_walk_end(struct sorter_walk *walk);

/* Walks over SORTER: sets the caller's pointer RECORD to each record and evaluates the expression STATUS, until it is
 * not 0. The result is the last STATUS, or that of sorter_walk_end() if STATUS is 0. */
#define SORTER_EACH(sorter, record, status)                    \
    ({                                                         \
        struct sorter_walk walk_;                              \
        int status_ = 0;                                       \
        sorter_walk_begin(&walk_, (sorter));                   \
        while (status_ == 0 && (record = sorter_next(&walk_))) \
            status_ = (status);                                \
        int ended_ = sorter_walk_end(&walk_);                  \
        status_ ?: ended_;                                     \
    })

#endif
