/*
 * The doors of the allocator: what include/gputrace/allocator.h promises. They need no spool and start no recording.
 */
#include <errno.h>

#include <gputrace/allocator.h>

#include "agent/allocator/allocate.h"
#include "agent/allocator/heap.h"
#include "agent/allocator/inquire.h"
#include "agent/allocator/limits.h"
#include "agent/allocator/observers.h"
#include "agent/allocator/refusal.h"

/* --- memory --- */

void *gputrace_malloc(size_t size, int device, struct CUstream_st *stream)
{
    int saved = errno;
    void *pointer = allocate(size, device, stream);
    errno = saved;
    return pointer;
}

void gputrace_free(void *pointer, size_t size, int device, struct CUstream_st *stream)
{
    (void)size;
    int saved = errno;
    allocate_free(pointer, device, stream);
    errno = saved;
}

void *gputrace_torch_malloc(size_t size, int device, struct CUstream_st *stream)
{
    void *pointer = gputrace_malloc(size, device, stream);
    if (!pointer && size > 0)
        refusal_throw(size, device);
    return pointer;
}

void gputrace_allocator_record_stream(void *pointer, struct CUstream_st *stream)
{
    allocate_record_stream(pointer, stream);
}

void *gputrace_allocator_base(void *pointer, size_t *size)
{
    return inquire_base(pointer, size);
}

void gputrace_allocator_trim(void)
{
    allocate_trim();
}

void gputrace_allocator_init(int devices)
{
    (void)devices;
    cuda_calls();
}

/* --- limits --- */

int gputrace_allocator_set_fraction(double fraction, int device)
{
    return limits_set_fraction(fraction, device);
}

int gputrace_allocator_set_release_threshold(int device, uint64_t bytes)
{
    return limits_set_release_threshold(device, bytes);
}

int gputrace_allocator_enable_peer(int device, int peer)
{
    return limits_enable_peer(device, peer);
}

/* --- private pools --- */

void gputrace_allocator_begin_pool(int device, struct gputrace_pool_id pool, void *filter)
{
    (void)filter;
    struct heap *heap = pool.first || pool.second ? heap_of(device) : NULL;
    if (heap)
        private_pool_begin(heap, pool);
}

void gputrace_allocator_end_pool(int device, struct gputrace_pool_id pool)
{
    struct heap *heap = heap_known(device);
    if (heap)
        private_pool_end(heap, pool);
}

void gputrace_allocator_release_pool(int device, struct gputrace_pool_id pool)
{
    struct heap *heap = heap_known(device);
    if (heap)
        private_pool_release(heap, pool);
}

/* --- what is known --- */

int gputrace_allocator_stats(int device, struct gputrace_allocator_stats *stats)
{
    return inquire_stats(device, stats);
}

int gputrace_allocator_stream_stats(int device, struct CUstream_st *stream,
                                    struct gputrace_allocator_stream_stats *stats)
{
    return inquire_stream_stats(device, stream, stats);
}

size_t gputrace_allocator_streams(int device, struct gputrace_allocator_stream_stats *stats, size_t count)
{
    return inquire_streams(device, stats, count);
}

void gputrace_allocator_reset_peak(int device)
{
    limits_reset_peak(device);
}

void gputrace_allocator_reset_accumulated(int device)
{
    limits_reset_accumulated(device);
}

int gputrace_allocator_snapshot(int device, gputrace_allocator_allocation_fn *each, void *data)
{
    return inquire_snapshot(device, each, data);
}

int gputrace_allocator_history(int device, size_t count)
{
    return limits_keep_history(device, count);
}

size_t gputrace_allocator_history_read(int device, struct gputrace_allocator_event *events, size_t count)
{
    return inquire_history(device, events, count);
}

int gputrace_allocator_on_failure(gputrace_allocator_failure_fn *call, void *data)
{
    return observers_add(call, data);
}

int gputrace_allocator_off_failure(gputrace_allocator_failure_fn *call, void *data)
{
    return observers_remove(call, data);
}
