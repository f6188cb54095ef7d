/*
 * What NVTX's semantic extensions say of an entry or a counter: its scope, its clock, its unit and limits.
 */
#ifndef GPUTRACE_AGENT_NVTX_SEMANTICS_H
#define GPUTRACE_AGENT_NVTX_SEMANTICS_H

#include "agent/nvtx/extension_headers.h"
#include "agent/dispatch/events.h"

enum { NVTX_SEMANTICS_OF_ENTRY = 0, NVTX_SEMANTICS_OF_COUNTER = 1 };

/* Defines what the list says, if anything, of entry INDEX of the schema, or of the counter, with the number OF. */
void nvtx_semantics_define(const nvtxSemanticsHeader_t *first, uint16_t what, uint32_t of, uint32_t index);

#endif
