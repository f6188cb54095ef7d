/* Subscribers that write records of CUDA and NVTX events. */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_EVENTS_H
#define GPUTRACE_AGENT_SPOOL_RECORD_EVENTS_H

#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "common/spool_records.h"

/* Subscribes to the CUDA events that TRACE_BITS ask for. Returns 0, or -1 if there is no memory. */
int record_cuda_subscribe(uint64_t trace_bits);
/* Subscribes to events of graph nodes, for traces with a record per node. Returns 0, or -1 if there is no memory. */
int record_cuda_subscribe_graph_nodes(void);

/* --- NVTX --- */

int record_nvtx_subscribe(void);

/* Records an NVTX event that happens now and has only a message. The registry calls this as its shortcut. */
void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message);

/* In a forked child: resets the lock, which another thread may have held. */
void record_nvtx_atfork_child(void);

#endif
