#include "agent/allocator/private_pool.h"

#include <stdlib.h>

#include "common/log.h"
#include "agent/allocator/heap.h"
#include "agent/allocator/order.h"
#include "agent/dispatch/fork_watch.h"

static struct private_pool *find(const struct heap *heap, struct gputrace_pool_id id)
{
    struct private_pool *pool = heap->pools;
    while (pool && (pool->uses == 0 || pool->id.first != id.first || pool->id.second != id.second))
        pool = pool->next; /* one that was released only waits for its blocks */
    return pool;
}

/* Takes it away when nobody needs it. Gives what is to be destroyed. */
static CUmemoryPool forget_unused(struct heap *heap, struct private_pool *pool)
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

static void destroy(const struct heap *heap, CUmemoryPool memory)
{
    if (memory)
        heap->cuda->cuMemPoolDestroy(memory);
}

static void count_begin(struct private_pool *pool)
{
    pool->uses++;
    pool->active++;
    pool->thread = thread_id();
    pool->capture = 0;
}

static bool begin_known(const struct heap *heap, struct gputrace_pool_id id)
{
    struct private_pool *pool = find(heap, id);
    if (pool)
        count_begin(pool);
    return pool != NULL;
}

/* False: no memory. */
static bool begin_new(struct heap *heap, struct gputrace_pool_id id, CUmemoryPool memory)
{
    struct private_pool *pool = memory ? calloc(1, sizeof(*pool)) : NULL;
    if (!pool)
        return false;
    *pool = (struct private_pool){.id = id, .memory = memory, .next = heap->pools};
    heap->pools = pool;
    count_begin(pool);
    return true;
}

void private_pool_begin(struct heap *heap, struct gputrace_pool_id id)
{
    heap_lock(heap);
    bool done = begin_known(heap, id);
    heap_unlock(heap);
    if (done)
        return;
    struct relaxed relaxed = order_relax(heap->cuda);
    CUmemoryPool memory = heap_make_pool(heap), spare = memory;
    order_unrelax(&relaxed);
    heap_lock(heap);
    done = begin_known(heap, id); /* meanwhile */
    if (!done && begin_new(heap, id, memory)) {
        done = true;
        spare = NULL;
    }
    heap_unlock(heap);
    destroy(heap, spare);
    if (!done)
        warning("the allocator has no private pool to give on device %d: memory comes from the common one",
                heap->device);
}

void private_pool_end(struct heap *heap, struct gputrace_pool_id id)
{
    heap_lock(heap);
    struct private_pool *pool = find(heap, id);
    if (pool && pool->active > 0) {
        pool->active--;
        pool->capture = 0;
    }
    heap_unlock(heap);
}

void private_pool_release(struct heap *heap, struct gputrace_pool_id id)
{
    heap_lock(heap);
    struct private_pool *pool = find(heap, id);
    CUmemoryPool gone = NULL;
    if (pool && --pool->uses == 0) {
        pool->active = 0;
        gone = forget_unused(heap, pool);
    }
    heap_unlock(heap);
    destroy(heap, gone);
}

/* Is POOL for this thread's allocation in CAPTURE? 2: without doubt; 1: if there is no better one; 0: no. */
static unsigned suits(const struct private_pool *pool, uint64_t capture, uint32_t thread)
{
    bool own = pool->thread == thread;
    if (pool->active == 0)
        return 0;
    if (capture == 0)
        return own ? 2 : 0;
    if (pool->capture != 0)
        return pool->capture == capture ? 2 : 0;
    return own ? 2 : 1; /* another thread's part of the capture, as PyTorch's backward pass */
}

struct private_pool *private_pool_choose(struct heap *heap, uint64_t capture)
{
    if (!heap->pools)
        return NULL;
    struct private_pool *best = NULL;
    unsigned most = 0;
    uint32_t thread = thread_id();
    for (struct private_pool *pool = heap->pools; pool; pool = pool->next) {
        unsigned how = suits(pool, capture, thread);
        if (how > most) {
            most = how;
            best = pool;
        }
    }
    if (best && capture)
        best->capture = capture;
    return best;
}

CUmemoryPool private_pool_leave(struct heap *heap, struct private_pool *pool)
{
    if (!pool)
        return NULL;
    pool->blocks--;
    return forget_unused(heap, pool);
}

void private_pool_each(struct heap *heap, void (*each)(struct heap *heap, CUmemoryPool memory, void *data), void *data)
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
        CUmemoryPool gone = forget_unused(heap, pool);
        if (gone) {
            if (next)
                next->pins++;
            heap_unlock(heap);
            destroy(heap, gone);
            heap_lock(heap);
            if (next)
                next->pins--;
        }
        pool = next;
    }
    heap_unlock(heap);
}
