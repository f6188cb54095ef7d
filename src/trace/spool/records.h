/*
 * Walks over the records of one chunk: CUPTI's by kind and size, ours by their heads.
 *
 *     struct cupti_walk walk;
 *     cupti_walk_begin(&walk, part, spool_part_data(part, &scratch), sizes);
 *     while (cupti_walk_next(&walk)) … walk.kind, walk.record, walk.bytes …
 *     lost += walk.damaged;
 *
 * A record is given only when it lies within the chunk as a whole, and begins on a multiple of 8 bytes.
 */
#ifndef GPUTRACE_TRACE_SPOOL_RECORDS_H
#define GPUTRACE_TRACE_SPOOL_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/spool_file.h"

struct cupti_walk {
    const uint8_t *at, *end;
    const uint16_t *sizes; /* of each kind below SPOOL_CUPTI_KINDS, multiples of 8; 0: not known */
    bool done;             /* the chunk is whole: its end is not guessed */
    /* The record at hand. */
    const void *record;
    uint32_t kind; /* without SPOOL_IN_FLIGHT */
    uint32_t bytes;
    bool in_flight;
    /* After the last: 1 when bytes were left that could not be read. */
    uint64_t damaged;
};

/* DATA is what spool_part_data() gave; NULL counts as damage. */
void cupti_walk_begin(struct cupti_walk *walk, const struct spool_part *part, const uint8_t *data,
                      const uint16_t *sizes);
bool cupti_walk_next(struct cupti_walk *walk);

struct own_walk {
    const uint8_t *at, *end;
    const struct spool_record *record; /* its fixed fields and its text lie within `bytes` */
    const char *text;                  /* of types that have one; not terminated */
    uint32_t length;
    uint64_t damaged; /* records left out: unknown, too short, or cut */
};

void own_walk_begin(struct own_walk *walk, const struct spool_part *part);
bool own_walk_next(struct own_walk *walk);

/* Puts the walk on one record that own_walk_next() gave before. */
void own_walk_at(struct own_walk *walk, const void *record);

#endif
