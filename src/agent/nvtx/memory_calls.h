/*
 * What functions of NVTX's memory extension share: batches of the program's structs, and a way to tell.
 */
#ifndef GPUTRACE_AGENT_NVTX_MEMORY_CALLS_H
#define GPUTRACE_AGENT_NVTX_MEMORY_CALLS_H

#include <string.h>

#include "agent/nvtx/domains.h"
#include "agent/nvtx/extension_headers.h"
#include "agent/dispatch/events.h"

#define NVTX_MEMORY_VERSION (NVTX_EXT_COMPATID_MEM >> 8)
/* A struct of the program's that is of a version known here, and as long as this one. */
#define NVTX_MEMORY_IS_SOUND(desc) \
    ((desc) && (desc)->extCompatID >> 8 == NVTX_MEMORY_VERSION && (desc)->structSize >= sizeof(*(desc)))

/* Elements of a batch, STRIDE bytes apart, that are there. */
struct nvtx_memory_elements {
    const char *first;
    size_t count, stride;
};

/* Of COUNT elements of the program those that can be read; none where they are shorter than SIZE_OF_ONE. */
struct nvtx_memory_elements nvtx_memory_elements(const void *first, size_t count, size_t stride, size_t size_of_one);

/* Copied, for the program says how far they are apart: they may lie anywhere. */
static inline void nvtx_memory_read(const struct nvtx_memory_elements *elements, size_t i, void *out, size_t size)
{
    memcpy(out, elements->first + i * elements->stride, size);
}

static const struct gputrace_text nvtx_no_name;

void nvtx_memory_tell(const struct nvtx_domain *domain, enum spool_nvtx_memory_operation operation,
                      struct spool_nvtx_memory record, struct gputrace_text name);

#endif
