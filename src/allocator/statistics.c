/*
 * The functions of include/gputrace/allocator.h for limits, statistics, snapshots and history. No lock is held while
 * the driver is called.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/allocator.h>

#include "allocator/heap.h"
#include "allocator/memory.h"
#include "common/array.h"
#include "common/map.h"

/* --- limits --- */

int gputrace_allocator_set_fraction(double fraction, int device)
{
    bool valid = fraction >= 0; /* false for NaN */
    struct heap *heap = valid ? heap_of(device) : NULL;
    if (!heap)
        return -1;
    heap_lock(heap);
    heap->stats.limit = fraction < 1 ? (uint64_t)(fraction * (double)heap->stats.device_bytes) : UINT64_MAX;
    heap_unlock(heap);
    return 0;
}

static void set_threshold(struct heap *heap, CUmemoryPool memory, void *bytes)
{
    heap->gpu.cuda->cuMemPoolSetAttribute(memory, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes);
}

int gputrace_allocator_set_release_threshold(int device, uint64_t bytes)
{
    struct heap *heap = heap_of(device);
    if (!heap)
        return -1;
    heap_lock(heap);
    heap->threshold = bytes; /* for pools created later */
    heap_unlock(heap);
    heap_each_pool(heap, set_threshold, &bytes);
    return 0;
}

struct peer {
    int device;
    CUresult result;
};

static void allow_peer(struct heap *heap, CUmemoryPool memory, void *data)
{
    struct peer *peer = data;
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = peer->device},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = heap->gpu.cuda->cuMemPoolSetAccess(memory, &access, 1);
    if (result != CUDA_SUCCESS)
        peer->result = result;
}

int gputrace_allocator_enable_peer(int device, int peer)
{
    struct peer access = {.device = peer, .result = CUDA_SUCCESS};
    struct heap *heap = peer >= 0 && peer < HEAPS_MAX ? heap_of(device) : NULL;
    if (!heap)
        return -1;
    heap_each_pool(heap, allow_peer, &access);
    if (access.result != CUDA_SUCCESS)
        return -1;
    heap_lock(heap);
    heap->peers |= UINT64_C(1) << peer; /* for pools created later */
    heap_unlock(heap);
    return 0;
}

/* --- statistics --- */

static void add_reserved(struct heap *heap, CUmemoryPool memory, void *data)
{
    struct gputrace_allocator_stats *stats = data;
    cuuint64_t current = 0, high = 0;
    heap->gpu.cuda->cuMemPoolGetAttribute(memory, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &current);
    heap->gpu.cuda->cuMemPoolGetAttribute(memory, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &high);
    stats->reserved_bytes += current;
    stats->reserved_peak += high;
}

/* Fills in the statistics of a device on which nothing was allocated. Creates no context. Returns 0, or -1 if the
 * device does not exist. */
static int stats_of_unused(int device, struct gputrace_allocator_stats *stats)
{
    const struct cuda_calls *cuda = cuda_calls();
    CUdevice found;
    size_t bytes = 0;
    if (!cuda || cuda->cuDeviceGet(&found, device) != CUDA_SUCCESS)
        return -1;
    cuda->cuDeviceTotalMem_v2(&bytes, found);
    stats->device_bytes = bytes;
    stats->limit = UINT64_MAX;
    return 0;
}

int gputrace_allocator_stats(int device, struct gputrace_allocator_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    struct heap *heap = heap_known(device);
    if (!heap)
        return stats_of_unused(device, stats);
    heap_lock(heap);
    *stats = heap->stats;
    heap_unlock(heap);
    heap_each_pool(heap, add_reserved, stats);
    return 0;
}

int gputrace_allocator_stream_stats(int device, struct CUstream_st *stream,
                                    struct gputrace_allocator_stream_stats *stats)
{
    struct gputrace_allocator_stats unused;
    memset(stats, 0, sizeof(*stats));
    stats->stream = stream;
    struct heap *heap = heap_known(device);
    if (!heap)
        return stats_of_unused(device, &unused);
    heap_lock(heap);
    const uint64_t *found = map_get(&heap->streams, (uintptr_t)stream);
    if (found && *found)
        *stats = *(const struct gputrace_allocator_stream_stats *)(uintptr_t)*found;
    heap_unlock(heap);
    return 0;
}

struct stream_list {
    struct gputrace_allocator_stream_stats *stats;
    size_t capacity, count;
};

static int add_stream(void *data, uint64_t stream, uint64_t *stats)
{
    (void)stream;
    struct stream_list *list = data;
    if (!*stats)
        return 0;
    if (list->count < list->capacity)
        list->stats[list->count] = *(const struct gputrace_allocator_stream_stats *)(uintptr_t)*stats;
    list->count++;
    return 0;
}

size_t gputrace_allocator_streams(int device, struct gputrace_allocator_stream_stats *stats, size_t count)
{
    struct stream_list list = {.stats = stats, .capacity = count};
    struct heap *heap = heap_known(device);
    if (!heap)
        return 0;
    heap_lock(heap);
    map_each(&heap->streams, add_stream, &list);
    heap_unlock(heap);
    return list.count;
}

static void reset_figure(struct gputrace_allocator_figure *figure, bool peak)
{
    if (peak)
        figure->peak = figure->current;
    else
        figure->total = figure->freed = 0;
}

static int reset_stream(void *peak, uint64_t stream, uint64_t *value)
{
    (void)stream;
    struct gputrace_allocator_stream_stats *stats = (void *)(uintptr_t)*value;
    if (!stats)
        return 0;
    reset_figure(&stats->allocations, peak != NULL);
    reset_figure(&stats->allocated_bytes, peak != NULL);
    stats->failures = peak ? stats->failures : 0;
    return 0;
}

/* Resets peaks, or else totals. The caller holds the lock. */
static void reset_figures(struct heap *heap, bool peak)
{
    reset_figure(&heap->stats.allocations, peak);
    reset_figure(&heap->stats.allocated_bytes, peak);
    reset_figure(&heap->stats.held_bytes, peak);
    map_each(&heap->streams, reset_stream, peak ? heap : NULL);
}

static void reset_reserved(struct heap *heap, CUmemoryPool memory, void *unused)
{
    (void)unused;
    cuuint64_t zero = 0; /* the only value that CUDA accepts: the peak becomes the current value */
    heap->gpu.cuda->cuMemPoolSetAttribute(memory, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
}

void gputrace_allocator_reset_peak(int device)
{
    struct heap *heap = heap_known(device);
    if (!heap)
        return;
    heap_each_pool(heap, reset_reserved, NULL);
    heap_lock(heap);
    reset_figures(heap, true);
    heap_unlock(heap);
}

void gputrace_allocator_reset_accumulated(int device)
{
    struct heap *heap = heap_known(device);
    if (!heap)
        return;
    heap_lock(heap);
    reset_figures(heap, false);
    heap->stats.failures = heap->stats.retries = heap->stats.unknown_frees = heap->stats.failed_frees = 0;
    heap_unlock(heap);
}

/* --- history --- */

int gputrace_allocator_history(int device, size_t count)
{
    struct heap *heap = heap_of(device);
    struct gputrace_allocator_event *events = heap && count ? calloc(count, sizeof(*events)) : NULL;
    if (!heap || (count && !events))
        return -1;
    heap_lock(heap);
    struct gputrace_allocator_event *before = heap->history.events;
    heap->history = (struct history){.events = events, .capacity = count};
    heap_unlock(heap);
    free(before);
    return 0;
}

size_t gputrace_allocator_history_read(int device, struct gputrace_allocator_event *events, size_t count)
{
    struct heap *heap = heap_known(device);
    if (!heap)
        return 0;
    heap_lock(heap);
    const struct history *history = &heap->history;
    uint64_t kept = history->added < history->capacity ? history->added : history->capacity;
    if (count > kept)
        count = (size_t)kept;
    for (size_t i = 0; i < count; i++)
        events[i] = history->events[(history->added - count + i) % history->capacity];
    heap_unlock(heap);
    return count;
}

/* --- allocations --- */

struct allocation_list {
    int device;
    ARRAY(struct gputrace_allocator_allocation) array;
};

static int add_allocation(void *data, const struct block *block)
{
    struct allocation_list *list = data;
    struct gputrace_allocator_allocation *allocation = array_push(&list->array);
    if (!allocation)
        return -1;
    *allocation = (struct gputrace_allocator_allocation){.pointer = (void *)(uintptr_t)block->address,
                                                         .bytes = block->bytes,
                                                         .stream = block->stream,
                                                         .time = block->time,
                                                         .sequence = block->sequence,
                                                         .device = list->device,
                                                         .thread = block->thread};
    return 0;
}

ORDER_BY(by_sequence, struct gputrace_allocator_allocation, sequence)

static int snapshot_heap(struct heap *heap, gputrace_allocator_allocation_fn *each, void *data)
{
    struct allocation_list list = {.device = heap->gpu.device};
    heap_lock(heap);
    int result = block_table_each(&heap->blocks, add_allocation, &list);
    heap_unlock(heap);
    if (list.array.count > 1)
        qsort(list.array.items, list.array.count, sizeof(list.array.items[0]), by_sequence);
    for (size_t i = 0; i < list.array.count && result == 0; i++)
        result = each(data, &list.array.items[i]);
    array_release(&list.array);
    return result;
}

int gputrace_allocator_snapshot(int device, gputrace_allocator_allocation_fn *each, void *data)
{
    struct gputrace_allocator_stats unused;
    int result = 0;
    if (device != -1) {
        struct heap *heap = heap_known(device);
        return heap ? snapshot_heap(heap, each, data) : stats_of_unused(device, &unused);
    }
    for (int i = 0; i < HEAPS_MAX && result == 0; i++) {
        struct heap *heap = heap_known(i);
        if (heap)
            result = snapshot_heap(heap, each, data);
    }
    return result;
}

struct search {
    uint64_t pointer;
    const struct block *found;
};

static int search(void *data, const struct block *block)
{
    struct search *it = data;
    if (it->pointer >= block->address && it->pointer - block->address < block->bytes)
        it->found = block;
    return it->found != NULL;
}

void *gputrace_allocator_base(void *pointer, size_t *size)
{
    struct search it = {.pointer = (uintptr_t)pointer};
    void *base = NULL;
    size_t bytes = 0;
    for (int i = 0; i < HEAPS_MAX && !base; i++) {
        struct heap *heap = heap_known(i);
        if (!heap)
            continue;
        heap_lock(heap);
        if (block_table_each(&heap->blocks, search, &it)) {
            base = (void *)(uintptr_t)it.found->address;
            bytes = it.found->bytes;
        }
        heap_unlock(heap);
    }
    if (size)
        *size = bytes;
    return base;
}
