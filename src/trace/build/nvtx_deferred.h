/*
 * NVTX's deferred events of one process: records as they were read, and the events in them once their times are known.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_DEFERRED_H
#define GPUTRACE_TRACE_BUILD_NVTX_DEFERRED_H

#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
#include "common/spool_records.h"
#include "trace/spool/event_record.h"

struct nvtx_submission {
    const struct spool_nvtx_deferred *record;
    uint32_t thread; /* that handed them over */
};

struct nvtx_deferred_event {
    const struct spool_nvtx_deferred *record;
    uint64_t start, end; /* ns */
    uint32_t index;      /* in the record */
    uint32_t row;        /* index + 1 in rows; 0: that of the thread */
    uint32_t thread;
    enum { NVTX_DEFERRED_MARK, NVTX_DEFERRED_NESTED, NVTX_DEFERRED_STARTED } kind;
};

/* A row for what comes from one scope of one domain. */
struct nvtx_deferred_row {
    uint64_t scope;
    uint32_t domain;
};

struct nvtx_deferred {
    FILE_VECTOR(struct nvtx_submission) submissions;
    FILE_VECTOR(struct nvtx_deferred_event) events; /* whoever knows their times puts them here */
    ARRAY(struct nvtx_deferred_row) rows;
    struct map row_of; /* domain and scope -> index + 1 */
};

void nvtx_deferred_release(struct nvtx_deferred *deferred);

/* Remembers a record of deferred events; others are passed over. Returns 0, or -1 after error(). */
int nvtx_deferred_index(struct nvtx_deferred *deferred, const struct event *event);

/* Index + 1 of the row of a scope, made when it is new; 0 after error(). */
uint32_t nvtx_deferred_row(struct nvtx_deferred *deferred, uint32_t domain, uint64_t scope);

/* How many of the events are started ranges. */
size_t nvtx_deferred_started(const struct nvtx_deferred *deferred);

/* What encloses comes first. Returns 0, or -1 after error(). */
int nvtx_deferred_sort(struct nvtx_deferred *deferred);

struct conversion;
struct piece_writer;
struct event;
struct json_out;
struct process;
int write_deferred(struct piece_writer *out, struct process *process);

#endif
