/*
 * Payload schemas and enumerations that the program registered, as far as copying payloads needs them here: what they
 * are called is told to the registry and not kept.
 */
#ifndef GPUTRACE_AGENT_NVTX_SCHEMAS_H
#define GPUTRACE_AGENT_NVTX_SCHEMAS_H

#include <stdint.h>

#include "common/payload.h"

/* The schema of this id in the domain of this number, the latest that was registered; NULL: there is none. It is never
 * changed nor freed. */
const struct payload_schema *nvtx_schema_find(uint32_t domain, uint64_t id);

#endif
