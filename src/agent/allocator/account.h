/*
 * What is counted and remembered of allocations. All with the heap's lock held.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_ACCOUNT_H
#define GPUTRACE_AGENT_ALLOCATOR_ACCOUNT_H

#include <stddef.h>

#include "agent/allocator/heap.h"

/* The program has BLOCK, from TIME on: its address, bytes and stream are filled in. False: no memory to know it, and
 * nothing was done. */
bool account_allocated(struct heap *heap, struct block *block, uint64_t time);
/* The program has freed it, in STREAM. */
void account_freed(struct heap *heap, struct block *block, CUstream stream);
/* BYTES for STREAM were not to be had. */
void account_failed(struct heap *heap, size_t bytes, CUstream stream);

/* The driver gave BYTES, which had been asked for; got them back; did not, and they are lost. */
void account_held(struct heap *heap, size_t bytes);
void account_given_back(struct heap *heap, size_t bytes);
void account_lost(struct heap *heap, size_t bytes);

void account_reset_peak(struct heap *heap);
void account_reset_accumulated(struct heap *heap);

#endif
