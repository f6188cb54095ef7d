/*
 * NVTX's scopes: where events and counters of a process come from, by paths.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_SCOPES_H
#define GPUTRACE_TRACE_BUILD_NVTX_SCOPES_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/spool/event_record.h"
#include "common/spool_records.h"

struct sink;

/* Predefined ones that mean something here. */
enum {
    NVTX_SCOPES_NONE = 0,
    NVTX_SCOPES_ROOT = 1,
    NVTX_SCOPES_PROCESS = 21,
    NVTX_SCOPES_THREAD = 22,
    NVTX_SCOPES_INNERMOST = 31,
};

struct nvtx_scopes {
    ARRAY(const struct spool_nvtx_scope *) items;
    struct map by_id; /* domain and id -> index + 1 */
};

void nvtx_scopes_release(struct nvtx_scopes *scopes);

/* Remembers a record of a scope; others are passed over. Gives 0, or -1 after error(). */
int nvtx_scopes_see(struct nvtx_scopes *scopes, const struct event *event);

/* Writes the path of a scope, "device/queue", as it is; of one that is not known its number, of none nothing. */
void nvtx_scopes_put(const struct nvtx_scopes *scopes, struct sink *sink, uint32_t domain, uint64_t id);

#endif
