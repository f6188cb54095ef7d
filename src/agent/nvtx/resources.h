/*
 * Numbers for resources and synchronisation objects, and telling of them.
 */
#ifndef GPUTRACE_AGENT_NVTX_RESOURCES_H
#define GPUTRACE_AGENT_NVTX_RESOURCES_H

#include <stdint.h>

#include "agent/nvtx/domains.h"

/* TYPE and IDENTIFIER as in struct spool_nvtx_resource. Gives the number, never 0; 0: DOMAIN is off. */
uint64_t nvtx_resource_made(const struct nvtx_domain *domain, uint32_t type, uint64_t identifier,
                            struct gputrace_text name);

/* Does nothing for 0. */
void nvtx_resource_destroyed(uint64_t resource);

#endif
