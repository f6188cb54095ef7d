/* What is written of CUDA. The functions return 0, or -1 without memory. */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_EVENTS_H
#define GPUTRACE_AGENT_SPOOL_RECORD_EVENTS_H

#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "common/spool_records.h"

/* Each subscribes to what TRACE_BITS ask for. Returns 0, or -1 without memory. */
int record_cuda_subscribe(uint64_t trace_bits);
/* Subscribes to what nodes of graphs launch, for traces with a record per node. */
int record_cuda_subscribe_graph_nodes(void);

/* --- NVTX --- */

int record_nvtx_subscribe(void);

/* The registry's shortcut: an NVTX event that happens now and has nothing but a message. */
void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message);

/* In a forked child: another thread may have held the lock. */
void record_nvtx_atfork_child(void);

#endif
