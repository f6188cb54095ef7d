#include "agent/allocator/inquire.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "agent/allocator/heap.h"
#include "agent/allocator/order.h"

/* --- statistics --- */

static void add_reserved(struct heap *heap, CUmemoryPool memory, void *data)
{
    struct gputrace_allocator_stats *stats = data;
    cuuint64_t current = 0, high = 0;
    heap->cuda->cuMemPoolGetAttribute(memory, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &current);
    heap->cuda->cuMemPoolGetAttribute(memory, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &high);
    stats->reserved_bytes += current;
    stats->reserved_peak += high;
}

/* A device that nothing was allocated on: no context is made for the answer. */
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

int inquire_stats(int device, struct gputrace_allocator_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    struct heap *heap = heap_known(device);
    if (!heap)
        return stats_of_unused(device, stats);
    heap_lock(heap);
    *stats = heap->stats;
    heap_unlock(heap);
    private_pool_each(heap, add_reserved, stats);
    return 0;
}

int inquire_stream_stats(int device, struct CUstream_st *stream, struct gputrace_allocator_stream_stats *stats)
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
    size_t room, count;
};

static int add_stream(void *data, uint64_t stream, uint64_t *stats)
{
    (void)stream;
    struct stream_list *list = data;
    if (!*stats)
        return 0;
    if (list->count < list->room)
        list->stats[list->count] = *(const struct gputrace_allocator_stream_stats *)(uintptr_t)*stats;
    list->count++;
    return 0;
}

size_t inquire_streams(int device, struct gputrace_allocator_stream_stats *stats, size_t count)
{
    struct stream_list list = {.stats = stats, .room = count};
    struct heap *heap = heap_known(device);
    if (!heap)
        return 0;
    heap_lock(heap);
    map_each(&heap->streams, add_stream, &list);
    heap_unlock(heap);
    return list.count;
}

size_t inquire_history(int device, struct gputrace_allocator_event *events, size_t count)
{
    struct heap *heap = heap_known(device);
    if (!heap)
        return 0;
    heap_lock(heap);
    count = history_read(&heap->history, events, count);
    heap_unlock(heap);
    return count;
}

/* --- what is allocated --- */

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

static int by_sequence(const void *a, const void *b)
{
    const struct gputrace_allocator_allocation *left = a, *right = b;
    return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

static int snapshot(struct heap *heap, gputrace_allocator_allocation_fn *each, void *data)
{
    struct allocation_list list = {.device = heap->device};
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

int inquire_snapshot(int device, gputrace_allocator_allocation_fn *each, void *data)
{
    struct gputrace_allocator_stats unused;
    int result = 0;
    if (device != -1) {
        struct heap *heap = heap_known(device);
        return heap ? snapshot(heap, each, data) : stats_of_unused(device, &unused);
    }
    for (int i = 0; i < HEAPS_MAX && result == 0; i++) {
        struct heap *heap = heap_known(i);
        if (heap)
            result = snapshot(heap, each, data);
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

void *inquire_base(void *pointer, size_t *size)
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
