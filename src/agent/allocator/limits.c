#include "agent/allocator/limits.h"

#include <stdbool.h>

#include "agent/allocator/account.h"
#include "agent/allocator/heap.h"

int limits_set_fraction(double fraction, int device)
{
    bool valid = fraction >= 0; /* not for NaN */
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
    heap->cuda->cuMemPoolSetAttribute(memory, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes);
}

int limits_set_release_threshold(int device, uint64_t bytes)
{
    struct heap *heap = heap_of(device);
    if (!heap)
        return -1;
    heap_lock(heap);
    heap->threshold = bytes; /* of pools to come */
    heap_unlock(heap);
    private_pool_each(heap, set_threshold, &bytes);
    return 0;
}

struct peer {
    int device;
    CUresult result;
};

static void let_in(struct heap *heap, CUmemoryPool memory, void *data)
{
    struct peer *peer = data;
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = peer->device},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = heap->cuda->cuMemPoolSetAccess(memory, &access, 1);
    if (result != CUDA_SUCCESS)
        peer->result = result;
}

int limits_enable_peer(int device, int peer)
{
    struct peer access = {.device = peer, .result = CUDA_SUCCESS};
    struct heap *heap = peer >= 0 && peer < HEAPS_MAX ? heap_of(device) : NULL;
    if (!heap)
        return -1;
    private_pool_each(heap, let_in, &access);
    if (access.result != CUDA_SUCCESS)
        return -1;
    heap_lock(heap);
    heap->peers |= UINT64_C(1) << peer; /* of pools to come */
    heap_unlock(heap);
    return 0;
}

int limits_keep_history(int device, size_t count)
{
    struct heap *heap = heap_of(device);
    if (!heap)
        return -1;
    heap_lock(heap);
    int result = history_keep(&heap->history, count);
    heap_unlock(heap);
    return result;
}

static void reset_reserved(struct heap *heap, CUmemoryPool memory, void *unused)
{
    (void)unused;
    cuuint64_t zero = 0; /* the only value that is taken: it begins anew */
    heap->cuda->cuMemPoolSetAttribute(memory, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
}

void limits_reset_peak(int device)
{
    struct heap *heap = heap_known(device);
    if (!heap)
        return;
    private_pool_each(heap, reset_reserved, NULL);
    heap_lock(heap);
    account_reset_peak(heap);
    heap_unlock(heap);
}

void limits_reset_accumulated(int device)
{
    struct heap *heap = heap_known(device);
    if (!heap)
        return;
    heap_lock(heap);
    account_reset_accumulated(heap);
    heap_unlock(heap);
}
