/*
 * Memory as the program annotates it through NVTX: heaps, and regions in them, step by step in the order of time.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_MEMORY_H
#define GPUTRACE_TRACE_BUILD_NVTX_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
#include "common/spool_records.h"
#include "trace/build/payload_schemas.h"
#include "trace/spool/event_record.h"

/* After so many more than lived last those that are gone are forgotten: where a program never gives the same handle
 * again there is no end to them. */
#define NVTX_HEAPS_GONE ((size_t)1 << 18)

struct nvtx_heap {
    uint64_t handle; /* 0: all of the process */
    uint32_t domain;
    struct payload_text name;
    uint64_t size, regions;  /* bytes */
    ARRAY(uint32_t) members; /* regions that came into it since it was empty, of which some may have gone */
};

struct nvtx_region {
    uint64_t handle, size;
    uint32_t heap; /* index */
    bool live;
    struct payload_text name;
};

struct nvtx_heap_step {
    const struct spool_nvtx_memory *record;
    uint64_t time;
    uint32_t thread, order;
};

struct nvtx_heaps {
    FILE_VECTOR(struct nvtx_heap_step) steps;
    ARRAY(struct nvtx_heap) items;
    ARRAY(struct nvtx_region) regions;
    size_t lived;        /* of them, when some were forgotten … */
    size_t registered;   /* … and how many came since */
    uint32_t changed[2]; /* heaps that the last step changed: what moves leaves one and enters another */
    unsigned changed_count;
    struct map heap_of;   /* domain and handle -> index + 1 */
    struct map region_of; /* likewise */
};

void nvtx_heaps_release(struct nvtx_heaps *heaps);

/* Remembers a record of memory; others are passed over. Returns 0, or -1 after error(). */
int nvtx_heaps_index(struct nvtx_heaps *heaps, const struct event *event);
/* After the last. Returns 0, or -1 after error(). */
int nvtx_heaps_sort(struct nvtx_heaps *heaps);

/* Applies a step. *REGION and *HEAP are what it is about, NULL where it is about none; valid until the next step.
 * Returns 0, or -1 after error(). */
int nvtx_heaps_apply(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, const struct nvtx_heap **heap,
                     const struct nvtx_region **region);

struct conversion;
struct piece_writer;
struct event;
struct json_out;
struct process;
int write_nvtx_memory(struct piece_writer *out, struct process *process);

#endif
