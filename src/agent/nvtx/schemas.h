/*
 * Payload schemas and enumerations that the program registered, and the semantic extensions.
 */
#ifndef GPUTRACE_AGENT_NVTX_SCHEMAS_H
#define GPUTRACE_AGENT_NVTX_SCHEMAS_H

#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/extension_headers.h"
#include "common/payload.h"

/*
 * Payload schemas and enumerations that the program registered, as far as copying payloads needs them here: what they
 * are called is published and not kept.
 */

/* The schema of this id in the domain of this number, the latest that was registered; NULL: there is none. It is never
 * changed nor freed. */
const struct payload_schema *nvtx_schema_find(uint32_t domain, uint64_t id);

/*
 * What NVTX's semantic extensions say of an entry or a counter: its scope, its clock, its unit and limits.
 */

enum { NVTX_SEMANTICS_OF_ENTRY = 0, NVTX_SEMANTICS_OF_COUNTER = 1 };

/* Defines what the list says, if anything, of entry INDEX of the schema, or of the counter, with the number OF. */
void nvtx_semantics_define(const nvtxSemanticsHeader_t *first, uint16_t what, uint32_t of, uint32_t index);

#endif
