/*
 * NVTX's counters of one process: what was registered, and samples in the order of their times.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_COUNTERS_H
#define GPUTRACE_TRACE_BUILD_NVTX_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
#include "common/spool_records.h"
#include "trace/build/payload_schemas.h"
#include "trace/spool/event_record.h"

#define NVTX_SERIES_MAX 32 /* values of one counter group; what comes after is not shown */

struct nvtx_counter {
    const struct spool_nvtx_counter *record;
    struct payload_text name, description;
    const struct spool_nvtx_semantics *semantics; /* of all its values; NULL: none */
    /* While its samples are written: */
    double total[NVTX_SERIES_MAX];        /* of values that are told as differences */
    const struct spool_nvtx_sample *last; /* the sample before; NULL: there was none */
    uint32_t last_index;
};

/* A record of samples as it was read. */
struct nvtx_sampling {
    const struct spool_nvtx_sample *record;
    uint32_t thread;
};

struct nvtx_sample {
    const struct spool_nvtx_sample *record;
    uint64_t time;
    uint32_t index; /* of a batch */
    uint32_t order; /* of samples of one time: as they were read */
};

struct nvtx_counters {
    ARRAY(struct nvtx_counter) items; /* once closed: by number */
    ARRAY(const struct spool_nvtx_semantics *) semantics;
    FILE_VECTOR(struct nvtx_sampling) samplings;
    FILE_VECTOR(struct nvtx_sample) samples; /* whoever knows their times puts them here */
    struct map by_id;                        /* domain and id -> index + 1 of the latest */
};

void nvtx_counters_release(struct nvtx_counters *counters);

/* Remembers a record of a counter, its semantics or samples; others are passed over. Returns 0, or -1 after error(). */
int nvtx_counters_index(struct nvtx_counters *counters, const struct event *event);

/* After the last record. Returns 0, or -1 after error(). */
int nvtx_counters_close(struct nvtx_counters *counters);

/* NULL: there is none of this id in the domain. */
struct nvtx_counter *nvtx_counters_find(const struct nvtx_counters *counters, uint32_t domain, uint64_t id);

/* A sample at TIME. Returns 0, or -1 after error(). */
int nvtx_counters_put(struct nvtx_counters *counters, const struct spool_nvtx_sample *record, uint32_t index,
                      uint64_t time);
/* After the last. Returns 0, or -1 after error(). */
int nvtx_counters_sort(struct nvtx_counters *counters);

struct conversion;
struct piece_writer;
struct event;
struct json_out;
struct process;
int emit_nvtx_counters(struct piece_writer *out, struct process *process);
/* Within an object: "nvtx_counters" is an array of what is known of each counter. */
void put_nvtx_counters(const struct conversion *conversion, struct json_out *json);

#endif
