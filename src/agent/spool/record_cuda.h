/*
 * The recorder's part for CUDA: memory, with call stacks where they are wanted, contexts, streams, phases of
 * compilation, and when plugins were at work.
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_CUDA_H
#define GPUTRACE_AGENT_SPOOL_RECORD_CUDA_H

#include <stdbool.h>
#include <stdint.h>

/* Whether allocations keep the call stacks that asked for them, and failed ones too; stacks_prepare() comes before the
 * first. Off until it is said. */
void record_cuda_keep_stacks(bool on);

/* Subscribes to what TRACE_BITS ask for. Gives 0, or -1: no memory. */
int record_cuda_subscribe(uint64_t trace_bits);

#endif
