#include "agent/allocator/heap.h"

#include <stdlib.h>

#include "common/log.h"
#include "agent/allocator/order.h"

static struct heap *heaps[HEAPS_MAX]; /* each once it is whole; never changes then */
static bool forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* CUDA does not work in it, and locks may be held by threads that are not there: nothing is done any more. */
static void after_fork_in_child(void)
{
    forked = true;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

struct heap *heap_known(int device)
{
    if (device < 0 || device >= HEAPS_MAX || forked)
        return NULL;
    return __atomic_load_n(&heaps[device], __ATOMIC_ACQUIRE);
}

static void release(struct heap *heap)
{
    if (heap->memory)
        heap->cuda->cuMemPoolDestroy(heap->memory);
    if (heap->context)
        heap->cuda->cuDevicePrimaryCtxRelease_v2(heap->device);
    pthread_mutex_destroy(&heap->lock);
    free(heap);
}

static void make_lock(struct heap *heap)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&heap->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* NULL: the driver refuses. */
static struct heap *make(const struct cuda_calls *cuda, int device)
{
    struct heap *heap = calloc(1, sizeof(*heap));
    if (!heap)
        return NULL;
    *heap = (struct heap){.device = device, .cuda = cuda, .threshold = UINT64_MAX};
    make_lock(heap);
    heap->stats.limit = UINT64_MAX;
    size_t bytes = 0;
    struct relaxed relaxed = order_relax(cuda);
    if (cuda->cuDeviceTotalMem_v2(&bytes, device) == CUDA_SUCCESS &&
        cuda->cuDevicePrimaryCtxRetain(&heap->context, device) == CUDA_SUCCESS)
        heap->memory = heap_make_pool(heap);
    order_unrelax(&relaxed);
    heap->stats.device_bytes = bytes;
    if (heap->memory)
        return heap;
    release(heap);
    return NULL;
}

struct heap *heap_of(int device)
{
    struct heap *heap = heap_known(device), *none = NULL;
    if (heap || device < 0 || device >= HEAPS_MAX || forked)
        return heap;
    pthread_once(&once, watch_forks);
    const struct cuda_calls *cuda = cuda_calls();
    CUdevice found;
    if (!cuda || cuda->cuDeviceGet(&found, device) != CUDA_SUCCESS)
        return NULL;
    heap = make(cuda, device);
    if (!heap) {
        static bool told;
        if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
            warning("the allocator has no memory to give: device %d has no memory pool, or no context", device);
        return NULL;
    }
    /* No lock while the driver is called, so two threads may have made it; one of them has been quicker. */
    if (__atomic_compare_exchange_n(&heaps[device], &none, heap, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return heap;
    release(heap);
    return heap_known(device);
}

static struct heap *lock_if_owner(struct heap *heap, const void *pointer, struct block **block)
{
    if (!heap)
        return NULL;
    heap_lock(heap);
    *block = block_table_get(&heap->blocks, (uintptr_t)pointer);
    if (*block)
        return heap;
    heap_unlock(heap);
    return NULL;
}

struct heap *heap_lock_owner(const void *pointer, int device, struct block **block)
{
    struct heap *owner = lock_if_owner(heap_known(device), pointer, block);
    for (int i = 0; !owner && i < HEAPS_MAX; i++)
        if (i != device)
            owner = lock_if_owner(heap_known(i), pointer, block);
    return owner;
}

CUmemoryPool heap_make_pool(struct heap *heap)
{
    const CUmemPoolProps properties = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = heap->device},
    };
    CUmemoryPool pool = NULL;
    if (heap->cuda->cuMemPoolCreate(&pool, &properties) != CUDA_SUCCESS)
        return NULL;
    heap_lock(heap);
    uint64_t threshold = heap->threshold, peers = heap->peers;
    heap_unlock(heap);
    heap->cuda->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    for (int peer = 0; peer < HEAPS_MAX; peer++) {
        const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = peer},
                                        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        if (peers >> peer & 1)
            heap->cuda->cuMemPoolSetAccess(pool, &access, 1);
    }
    return pool;
}

struct gputrace_allocator_stream_stats *heap_stream(struct heap *heap, CUstream stream)
{
    static __thread struct { /* that the thread has asked for */
        const struct heap *heap;
        struct gputrace_allocator_stream_stats *stats;
    } last;
    if (last.heap == heap && last.stats->stream == stream)
        return last.stats;
    uint64_t *place = map_put(&heap->streams, (uintptr_t)stream, NULL);
    if (!place)
        return NULL;
    struct gputrace_allocator_stream_stats *stats = (void *)(uintptr_t)*place;
    if (!stats) {
        stats = calloc(1, sizeof(*stats));
        *place = (uintptr_t)stats;
        if (stats)
            stats->stream = stream;
    }
    if (stats) {
        last.heap = heap;
        last.stats = stats;
    }
    return stats;
}

struct block *heap_ask(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture, CUresult *result)
{
    heap_lock(heap);
    struct gputrace_allocator_stream_stats *of_stream = heap_stream(heap, stream);
    bool within = bytes <= heap->stats.limit && heap->asked <= heap->stats.limit - bytes;
    struct block *block = of_stream && within ? block_new(&heap->spare) : NULL;
    *result = within ? CUDA_ERROR_OUT_OF_MEMORY : HEAP_LIMIT;
    if (block) {
        heap->asked += bytes;
        block->bytes = block->room = bytes;
        block->stream = stream;
        block->of_stream = of_stream;
        block->pool = private_pool_choose(heap, capture);
        if (block->pool)
            block->pool->blocks++;
    }
    heap_unlock(heap);
    return block;
}

void heap_give_up(struct heap *heap, struct block *block)
{
    heap_lock(heap);
    heap->asked -= block->room;
    CUmemoryPool gone = private_pool_leave(heap, block->pool);
    block_recycle(&heap->spare, block);
    heap_unlock(heap);
    if (gone)
        heap->cuda->cuMemPoolDestroy(gone);
}
