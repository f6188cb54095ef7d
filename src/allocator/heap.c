/*
 * Heaps by device, the tables of their blocks, and their private pools. Heaps are created at first use and found by
 * pointer. A private pool is destroyed with its last block.
 */
#include "allocator/heap.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"

static struct heap *heaps[HEAPS_MAX]; /* each is set once it is complete, and never changes then */
static bool forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In a forked child the allocator does nothing: CUDA does not work there, and threads that the child does not have may
 * hold locks. */
static void atfork_child(void)
{
    forked = true;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, atfork_child);
}

uint32_t heap_thread(void)
{
    static __thread uint32_t thread;
    return thread ? thread : (thread = (uint32_t)gettid());
}

/* --- blocks by address --- */

#define TABLE_CAPACITY_FIRST 1024

/* Addresses are multiples of 512 or more, so their lowest bits do not distribute blocks. */
static struct block **chain_of(const struct block_table *table, uint64_t address)
{
    return &table->chains[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (table->capacity - 1)];
}

static int grow(struct block_table *table)
{
    struct block_table grown = {.capacity = table->capacity ? table->capacity * 2 : TABLE_CAPACITY_FIRST};
    grown.count = table->count;
    grown.chains = calloc(grown.capacity, sizeof(*grown.chains));
    if (!grown.chains)
        return -1;
    for (size_t i = 0; i < table->capacity; i++) {
        struct block *block;
        while ((block = block_pop(&table->chains[i])))
            block_push(chain_of(&grown, block->address), block);
    }
    free(table->chains);
    *table = grown;
    return 0;
}

bool block_table_put(struct block_table *table, struct block *block)
{
    if (table->count == table->capacity && grow(table) != 0)
        return false;
    block_push(chain_of(table, block->address), block);
    table->count++;
    return true;
}

void block_table_remove(struct block_table *table, struct block *block)
{
    struct block **at = chain_of(table, block->address);
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    table->count--;
}

struct block *block_table_get(const struct block_table *table, uint64_t address)
{
    struct block *block = table->count ? *chain_of(table, address) : NULL;
    while (block && block->address != address)
        block = block->next;
    return block;
}

int block_table_each(const struct block_table *table, int (*each)(void *data, const struct block *block), void *data)
{
    for (size_t i = 0; i < table->capacity; i++) {
        for (const struct block *block = table->chains[i]; block; block = block->next) {
            int result = each(data, block);
            if (result)
                return result;
        }
    }
    return 0;
}

/* --- heaps --- */

/* Creates a pool on the heap's device with the heap's settings, or returns NULL if the driver fails. The caller must
 * not hold the lock. */
static CUmemoryPool create_pool(struct heap *heap)
{
    const struct cuda_calls *cuda = heap->gpu.cuda;
    const CUmemPoolProps properties = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = heap->gpu.device},
    };
    CUmemoryPool pool = NULL;
    if (cuda->cuMemPoolCreate(&pool, &properties) != CUDA_SUCCESS)
        return NULL;
    heap_lock(heap);
    uint64_t threshold = heap->threshold, peers = heap->peers;
    heap_unlock(heap);
    cuda->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    for (int peer = 0; peer < HEAPS_MAX; peer++) {
        const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = peer},
                                        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        if (peers >> peer & 1)
            cuda->cuMemPoolSetAccess(pool, &access, 1);
    }
    return pool;
}

static void destroy_pool(const struct heap *heap, CUmemoryPool memory)
{
    if (memory)
        heap->gpu.cuda->cuMemPoolDestroy(memory);
}

static void heap_free(struct heap *heap)
{
    destroy_pool(heap, heap->memory);
    if (heap->gpu.context)
        heap->gpu.cuda->cuDevicePrimaryCtxRelease_v2(heap->gpu.device);
    pthread_mutex_destroy(&heap->lock);
    free(heap);
}

/* Returns NULL if the driver fails or there is no memory. */
static struct heap *heap_new(const struct cuda_calls *cuda, int device)
{
    struct heap *heap = calloc(1, sizeof(*heap));
    if (!heap)
        return NULL;
    *heap = (struct heap){.gpu = {.device = device, .cuda = cuda}, .threshold = UINT64_MAX};
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&heap->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    heap->stats.limit = UINT64_MAX;
    size_t bytes = 0;
    struct gpu_relaxed relaxed = gpu_relax(cuda);
    if (cuda->cuDeviceTotalMem_v2(&bytes, device) == CUDA_SUCCESS &&
        cuda->cuDevicePrimaryCtxRetain(&heap->gpu.context, device) == CUDA_SUCCESS)
        heap->memory = create_pool(heap);
    gpu_unrelax(&relaxed);
    heap->stats.device_bytes = bytes;
    if (heap->memory)
        return heap;
    heap_free(heap);
    return NULL;
}

struct heap *heap_known(int device)
{
    if (device < 0 || device >= HEAPS_MAX || forked)
        return NULL;
    return __atomic_load_n(&heaps[device], __ATOMIC_ACQUIRE);
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
    heap = heap_new(cuda, device);
    if (!heap) {
        static bool warned;
        if (!__atomic_exchange_n(&warned, true, __ATOMIC_RELAXED))
            warning("the allocator has no memory to give: device %d has no memory pool, or no context", device);
        return NULL;
    }
    /* No lock is held while the driver is called, so two threads may each have created a heap: the first one is used.
     */
    if (__atomic_compare_exchange_n(&heaps[device], &none, heap, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return heap;
    heap_free(heap);
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

/* --- private pools; the caller of find_pool() to begin_known_pool() holds the lock --- */

static struct private_pool *find_pool(const struct heap *heap, struct gputrace_pool_id id)
{
    struct private_pool *pool = heap->pools;
    while (pool && (pool->uses == 0 || pool->id.first != id.first || pool->id.second != id.second))
        pool = pool->next; /* a released pool only waits for its blocks */
    return pool;
}

/* Removes a pool if it is not used any more. Returns the driver's pool to destroy, or NULL. */
static CUmemoryPool remove_unused(struct heap *heap, struct private_pool *pool)
{
    if (pool->uses > 0 || pool->blocks > 0 || pool->pins > 0)
        return NULL;
    struct private_pool **at = &heap->pools;
    while (*at != pool)
        at = &(*at)->next;
    *at = pool->next;
    CUmemoryPool memory = pool->memory;
    free(pool);
    return memory;
}

static void count_begin(struct private_pool *pool)
{
    pool->uses++;
    pool->active++;
    pool->thread = heap_thread();
    pool->capture = 0;
}

static bool begin_known_pool(const struct heap *heap, struct gputrace_pool_id id)
{
    struct private_pool *pool = find_pool(heap, id);
    if (pool)
        count_begin(pool);
    return pool != NULL;
}

void gputrace_allocator_begin_pool(int device, struct gputrace_pool_id id, void *filter)
{
    (void)filter;
    struct heap *heap = id.first || id.second ? heap_of(device) : NULL;
    if (!heap)
        return;
    heap_lock(heap);
    bool done = begin_known_pool(heap, id);
    heap_unlock(heap);
    if (done)
        return;
    struct gpu_relaxed relaxed = gpu_relax(heap->gpu.cuda);
    CUmemoryPool memory = create_pool(heap), unused = memory;
    gpu_unrelax(&relaxed);
    heap_lock(heap);
    done = begin_known_pool(heap, id); /* another thread may have begun the pool meanwhile */
    struct private_pool *pool = !done && memory ? calloc(1, sizeof(*pool)) : NULL;
    if (pool) {
        *pool = (struct private_pool){.id = id, .memory = memory, .next = heap->pools};
        heap->pools = pool;
        count_begin(pool);
        done = true;
        unused = NULL;
    }
    heap_unlock(heap);
    destroy_pool(heap, unused);
    if (!done)
        warning("the allocator has no private pool to give on device %d: memory comes from the common one", device);
}

void gputrace_allocator_end_pool(int device, struct gputrace_pool_id id)
{
    struct heap *heap = heap_known(device);
    if (!heap)
        return;
    heap_lock(heap);
    struct private_pool *pool = find_pool(heap, id);
    if (pool && pool->active > 0) {
        pool->active--;
        pool->capture = 0;
    }
    heap_unlock(heap);
}

void gputrace_allocator_release_pool(int device, struct gputrace_pool_id id)
{
    struct heap *heap = heap_known(device);
    if (!heap)
        return;
    heap_lock(heap);
    struct private_pool *pool = find_pool(heap, id);
    CUmemoryPool gone = NULL;
    if (pool && --pool->uses == 0) {
        pool->active = 0;
        gone = remove_unused(heap, pool);
    }
    heap_unlock(heap);
    destroy_pool(heap, gone);
}

struct private_pool *heap_choose_pool(struct heap *heap, uint64_t capture)
{
    if (!heap->pools)
        return NULL;
    struct private_pool *best = NULL;
    unsigned most = 0;
    uint32_t thread = heap_thread();
    for (struct private_pool *pool = heap->pools; pool; pool = pool->next) {
        /* 2: the pool certainly fits. 1: it fits if there is no better one, as for another thread's part of the capture
         * in PyTorch's backward pass. 0: it does not fit. */
        unsigned suits = pool->thread == thread ? 2 : capture != 0 ? 1 : 0;
        if (capture != 0 && pool->capture != 0)
            suits = pool->capture == capture ? 2 : 0;
        if (pool->active > 0 && suits > most) {
            most = suits;
            best = pool;
        }
    }
    if (best && capture)
        best->capture = capture;
    return best;
}

CUmemoryPool heap_leave_pool(struct heap *heap, struct private_pool *pool)
{
    if (!pool)
        return NULL;
    pool->blocks--;
    return remove_unused(heap, pool);
}

void heap_each_pool(struct heap *heap, void (*each)(struct heap *heap, CUmemoryPool memory, void *data), void *data)
{
    each(heap, heap->memory, data);
    heap_lock(heap);
    struct private_pool *pool = heap->pools;
    while (pool) {
        pool->pins++;
        heap_unlock(heap);
        each(heap, pool->memory, data);
        heap_lock(heap);
        struct private_pool *next = pool->next;
        pool->pins--;
        CUmemoryPool gone = remove_unused(heap, pool);
        if (gone) {
            if (next)
                next->pins++;
            heap_unlock(heap);
            destroy_pool(heap, gone);
            heap_lock(heap);
            if (next)
                next->pins--;
        }
        pool = next;
    }
    heap_unlock(heap);
}
