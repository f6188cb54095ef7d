/*
 * CUPTI's activity records: a walk over those of one chunk, by kind and size, and what they become.
 *
 *     struct cupti_walk walk;
 *     cupti_walk_begin(&walk, part, spool_part_data(part, &scratch), sizes);
 *     while (cupti_walk_next(&walk)) … cupti_decode(&event, &walk) …
 *     lost += walk.damaged;
 *
 * A record is given only when it lies within the chunk as a whole, and begins on a multiple of 8 bytes.
 *
 * The layouts are those of the header this was compiled with. Records of an older CUPTI are shorter, with the fields
 * that they have at the same places; fields beyond a record's end are taken as 0 and never read.
 */
#ifndef GPUTRACE_TRACE_SPOOL_CUPTI_H
#define GPUTRACE_TRACE_SPOOL_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/event_record.h"
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

/*
 * The size of every kind's records, for cupti_walk_begin(): what the header tells, else what is known of its version of
 * CUPTI. 0 for kinds of which neither is known, and for sizes that cannot be right.
 */
void cupti_record_sizes(uint16_t sizes[SPOOL_CUPTI_KINDS], const struct spool_header *header);

/* Whether this kind becomes an event at all; records of others are stepped over. */
bool cupti_kind_decoded(uint32_t kind);

/* Fills EVENT from the record at hand. EVENT_TYPE_NONE: a record that tells nothing for a trace. */
void cupti_decode(struct event *event, const struct cupti_walk *walk);

/* Sorts of GPU work, a bit each. */
enum launch_sorts {
    LAUNCH_KERNELS = 1,
    LAUNCH_COPIES = 2,
    LAUNCH_SETS = 4,
    LAUNCH_GRAPHS = 8,
    LAUNCH_CUDA_EVENTS = 16,
    LAUNCH_ANYTHING = 31,
};

/* DOMAIN is of enum event_api_domain. NULL for an id that the headers do not have. */
const char *api_name(unsigned domain, uint32_t cbid);

/* The sorts of GPU work that a call starts, by its name: enum launch_sorts. */
unsigned api_sorts(unsigned domain, uint32_t cbid);

/* Ids that have a name are below this. */
#define API_CBID_LIMIT 4096

/* "cudaErrorMemoryAllocation". NULL: the headers have no error of this number; 0, success, is not an error. */
const char *runtime_error_name(int64_t number);

/* "CUDA_ERROR_OUT_OF_MEMORY", likewise. */
const char *driver_error_name(int64_t number);

const char *copy_kind_name(unsigned kind);
const char *memory_kind_name(unsigned kind);

#endif
