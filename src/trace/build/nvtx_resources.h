/*
 * Resources of NVTX: what the program gave a name beside threads and CUDA's objects, among it synchronisation objects.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_RESOURCES_H
#define GPUTRACE_TRACE_BUILD_NVTX_RESOURCES_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/spool/event_record.h"

struct nvtx_resource {
    uint64_t identifier;
    uint64_t created, destroyed; /* ns; 0: it was not */
    uint32_t type, domain;
    uint32_t length;
    const char *text; /* in the spool */
};

struct nvtx_resources {
    ARRAY(struct nvtx_resource) items;
    struct map by_number; /* -> index + 1 */
};

void nvtx_resources_release(struct nvtx_resources *resources);

/* An EVENT_NVTX_RESOURCE. Its end may be read before it. Gives 0, or -1 after error(). */
int nvtx_resources_see(struct nvtx_resources *resources, const struct event *event);

/* NULL: not known. */
const struct nvtx_resource *nvtx_resource(const struct nvtx_resources *resources, uint64_t number);

/* What a type is called; NULL: it is none of NVTX's headers. */
const char *nvtx_resource_type(uint32_t type);

#endif
