/* Payload schemas that the program registered, and what it says of entries and counters. */
#ifndef GPUTRACE_AGENT_NVTX_SCHEMAS_H
#define GPUTRACE_AGENT_NVTX_SCHEMAS_H

#include <stdint.h>

#include "agent/nvtx/domains.h"

struct payload_schema;

/* The schema of this id that was registered last in the domain of this number; NULL: there is none. It is never changed
 * nor freed. Names and descriptions are published and not kept. */
const struct payload_schema *nvtx_schema_find(uint32_t domain, uint64_t id);

/* Defines what a list of semantics (unit, limits, scope, clock) says of entry INDEX of the schema with the number OF,
 * or of the counter with that number. */
enum { NVTX_SEMANTICS_OF_ENTRY = 0, NVTX_SEMANTICS_OF_COUNTER = 1 };
void nvtx_semantics_define(const nvtxSemanticsHeader_t *first, uint16_t what, uint32_t of, uint32_t index);

#endif
