/*
 * The way of an allocation, and of a free.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_ALLOCATE_H
#define GPUTRACE_AGENT_ALLOCATOR_ALLOCATE_H

#include <cuda.h>
#include <stddef.h>

/* As gputrace_malloc(), gputrace_free() and gputrace_allocator_record_stream() say. */
void *allocate(size_t size, int device, CUstream stream);
void allocate_free(void *pointer, int device, CUstream stream);
void allocate_record_stream(void *pointer, CUstream stream);

/* Gives what pools hold and nobody uses back to the devices. */
void allocate_trim(void);

#endif
