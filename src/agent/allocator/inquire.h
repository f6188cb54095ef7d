/*
 * What is known of the allocator's memory, and its limits: what allocator.h says of the functions with these names.
 * None is held up by the driver while a lock is held.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_INQUIRE_H
#define GPUTRACE_AGENT_ALLOCATOR_INQUIRE_H

#include <gputrace/allocator.h>

int inquire_stats(int device, struct gputrace_allocator_stats *stats);
int inquire_stream_stats(int device, struct CUstream_st *stream, struct gputrace_allocator_stream_stats *stats);
size_t inquire_streams(int device, struct gputrace_allocator_stream_stats *stats, size_t count);
int inquire_snapshot(int device, gputrace_allocator_allocation_fn *each, void *data);
size_t inquire_history(int device, struct gputrace_allocator_event *events, size_t count);
void *inquire_base(void *pointer, size_t *size);

#endif
