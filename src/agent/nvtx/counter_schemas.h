/*
 * Which schema the samples of a counter have: all that sampling needs to know of it here.
 */
#ifndef GPUTRACE_AGENT_NVTX_COUNTER_SCHEMAS_H
#define GPUTRACE_AGENT_NVTX_COUNTER_SCHEMAS_H

#include <stdint.h>

void nvtx_counter_schema_put(uint32_t domain, uint64_t counter, uint64_t schema);

/* The schema that the counter was registered with last; 0: it is not known. */
uint64_t nvtx_counter_schema(uint32_t domain, uint64_t counter);

#endif
