/* What is written of CUDA. The functions return 0, or -1 without memory. */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_CUDA_H
#define GPUTRACE_AGENT_SPOOL_RECORD_CUDA_H

#include <stdint.h>

/* Each subscribes to what TRACE_BITS ask for. Returns 0, or -1 without memory. */
int record_cuda_subscribe(uint64_t trace_bits);
/* Subscribes to what nodes of graphs launch, for traces with a record per node. */
int record_cuda_subscribe_graph_nodes(void);

#endif
