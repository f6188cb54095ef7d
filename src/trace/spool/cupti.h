/*
 * CUPTI's activity records: a walk over the records of one chunk, by kind and size, and their decoding to events.
 *
 *     struct cupti_walk walk;
 *     cupti_walk_begin(&walk, part, spool_part_data(part, &scratch), sizes);
 *     while (cupti_walk_next(&walk)) … cupti_decode(&event, &walk) …
 *     lost += walk.damaged;
 *
 * The walk visits records that lie within the chunk as a whole and begin on a multiple of 8 bytes.
 *
 * The layouts are those of the headers that gputrace was compiled with. Records of an older CUPTI are shorter, with
 * their fields at the same offsets; fields beyond a record's end are taken as 0 and never read.
 */
#ifndef GPUTRACE_TRACE_SPOOL_CUPTI_H
#define GPUTRACE_TRACE_SPOOL_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/event_record.h"
#include "trace/spool/spool_file.h"

struct cupti_walk {
    const uint8_t *at, *end;
    const uint16_t *sizes; /* bytes of each kind below SPOOL_CUPTI_KINDS, multiples of 8; 0: unknown */
    bool done;             /* the chunk's size is exact, so zeros at its end are damage */
    /* The current record. */
    const void *record;
    uint32_t kind; /* without SPOOL_IN_FLIGHT */
    uint32_t bytes;
    bool in_flight;
    /* After the last record: 1 if bytes were left that could not be read. */
    uint64_t damaged;
};

/* DATA is what spool_part_data() returned; NULL counts as damage. */
void cupti_walk_begin(struct cupti_walk *walk, const struct spool_part *part, const uint8_t *data,
                      const uint16_t *sizes);
bool cupti_walk_next(struct cupti_walk *walk);

/*
 * Sets the size of every kind's records, for cupti_walk_begin(): the header's, or else that of its version of CUPTI. A
 * size is 0 if it is unknown.
 */
void cupti_record_sizes(uint16_t sizes[SPOOL_CUPTI_KINDS], const struct spool_header *header);

/* Whether records of this kind become events; other records are skipped. */
bool cupti_kind_decoded(uint32_t kind);

/* Sets EVENT from the current record; its type is EVENT_TYPE_NONE if the record has nothing for a trace. */
void cupti_decode(struct event *event, const struct cupti_walk *walk);

/* Kinds of GPU work, a bit each. */
enum launch_sorts {
    LAUNCH_KERNELS = 1,
    LAUNCH_COPIES = 2,
    LAUNCH_SETS = 4,
    LAUNCH_GRAPHS = 8,
    LAUNCH_CUDA_EVENTS = 16,
    LAUNCH_ANYTHING = 31,
};

/* Returns the name of an API function, or NULL if the headers do not have the id. DOMAIN: enum event_api_domain. */
const char *api_name(unsigned domain, uint32_t cbid);

/* Returns which kinds of GPU work a call starts, by its name: enum launch_sorts. */
unsigned api_sorts(unsigned domain, uint32_t cbid);

/* Ids of functions with a name are below this. */
#define API_CBID_LIMIT 4096

/* Returns a name such as "cudaErrorMemoryAllocation", or NULL if the headers have no error of this number; 0, success,
 * is not an error. */
const char *runtime_error_name(int64_t number);

/* Returns a name such as "CUDA_ERROR_OUT_OF_MEMORY", or NULL if the headers have no error of this number. */
const char *driver_error_name(int64_t number);

const char *copy_kind_name(unsigned kind);
const char *memory_kind_name(unsigned kind);

#endif
