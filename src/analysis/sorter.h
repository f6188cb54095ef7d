/*
 * Puts any number of small records in order, in bounded memory: what there is room for is held, the rest is in a
 * temporary file that has no name, in TMPDIR or /tmp. Where such a file cannot be made or is full, all are held.
 *
 *     sorter_init(&sorter, &room, sizeof(struct thing), compare);
 *     sorter_add() …, sorter_ready(), then as often as wanted:
 *     sorter_walk_begin(&walk, &sorter); while ((thing = sorter_next(&walk))) …; status = sorter_walk_end(&walk);
 *
 * Records that compare equal come in any order, the same each time.
 */
#ifndef GPUTRACE_ANALYSIS_SORTER_H
#define GPUTRACE_ANALYSIS_SORTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"

/* Bytes of records that are held by all sorters of a trace, beyond those that are being added. */
#define SORTER_ROOM ((size_t)80 * 1024 * 1024)
/* Bytes of records that are sorted at a time. */
#define SORTER_RUN ((size_t)4 * 1024 * 1024)

/* The memory that several sorters share, also those of several threads. */
struct sorter_room {
    atomic_size_t left; /* bytes */
    size_t run;         /* of each run; at least one record */
};

static inline struct sorter_room sorter_room_usual(void)
{
    return (struct sorter_room){SORTER_ROOM, SORTER_RUN};
}

typedef int (*sorter_compare)(const void *left, const void *right);

struct sorter {
    size_t record_bytes;
    sorter_compare compare;
    struct sorter_room *room;
    uint64_t count; /* of all records */
    char *filling;  /* the run that is being added to; NULL: none */
    size_t filled;  /* bytes in it … */
    size_t most;    /* … of these */
    ARRAY(struct sorter_run) runs;
    char *greatest;  /* the last record of the last run */
    bool disordered; /* not every run begins where the one before it ends, or after that */
    int fd;          /* of the temporary file; -1: none */
    uint64_t end;    /* bytes in it */
    bool no_file;    /* there can be none */
};

struct sorter_run {
    char *held;      /* the records; NULL: they are in the file */
    size_t room;     /* bytes that it takes of the sorters' room */
    uint64_t offset; /* there */
    size_t count;
};

/* Where temporary files are made, also those of others in a report. */
const char *sorter_directory(void);

/* ROOM is of the caller, and outlives the sorter. */
void sorter_init(struct sorter *sorter, struct sorter_room *room, size_t record_bytes, sorter_compare compare);
void sorter_release(struct sorter *sorter);

/* Makes space for a record when the run is full. Returns 0, or -1: no memory. */
int sorter_make_room(struct sorter *sorter);

/* Adds what RECORD points to, a record. Returns 0, or -1: no memory. */
#define sorter_add(sorter, record) sorter_add_bytes(sorter, record, sizeof(*(record)))
static inline int sorter_add_bytes(struct sorter *sorter, const void *record, size_t size)
{
    if (sorter->filled == sorter->most && sorter_make_room(sorter) < 0)
        return -1;
    memcpy(sorter->filling + sorter->filled, record, size);
    sorter->filled += size;
    sorter->count++;
    return 0;
}

/* After the last record, before the first walk: 0, or -1: no memory. */
int sorter_ready(struct sorter *sorter);

/* A walk over the records, of which several may go on at a time, in one thread or several. */
struct sorter_walk {
    const struct sorter *sorter;
    struct sorter_cursor *cursors; /* those of runs that are not at their end are a heap */
    size_t count;
    size_t next; /* of the runs, which is not begun: they come one after another where they are in order */
    bool started;
    int status;
};

void sorter_walk_begin(struct sorter_walk *walk, const struct sorter *sorter);

/* The next record, valid until the next call; NULL: there is none. */
const void *sorter_next(struct sorter_walk *walk);

/* Returns 0, or -1: there was no memory, or after error(): records could not be read back. */
int sorter_walk_end(struct sorter_walk *walk);

#endif
