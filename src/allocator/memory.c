/*
 * Allocates and frees blocks. Within a capture a freed block is used again for the same graph, and returns to its pool
 * when the last graph that refers to it is gone.
 */
#include "allocator/heap.h"

#include <stdlib.h>

/* A block that is used again may be so many times as large as what is asked for. */
#define WASTE 2

/* --- the list of blocks that were freed in their own capture; with the lock held --- */

static void make_reusable(struct heap *heap, struct block *block)
{
    block->reusable = true;
    block_push(&heap->reusable, block);
}

static void make_unusable(struct heap *heap, struct block *block)
{
    struct block **at = &heap->reusable;
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    block->reusable = false;
}

/* --- release --- */

/* A block's release, in two steps: the first with the lock held, the second without. */
struct release {
    uint64_t address;
    size_t bytes;
    CUmemoryPool pool; /* that the block was the last one of, and that goes; or NULL */
};

static struct release begin_release(struct heap *heap, struct block *block)
{
    struct release release = {.address = block->address, .bytes = block->capacity};
    release.pool = account_released(heap, block);
    return release;
}

static void end_release(struct heap *heap, const struct release *release, CUstream stream)
{
    if (heap->gpu.cuda->cuMemFreeAsync(release->address, stream) != CUDA_SUCCESS) {
        heap_lock(heap);
        account_lost(heap, release->bytes);
        heap_unlock(heap);
    }
    if (release->pool)
        heap->gpu.cuda->cuMemPoolDestroy(release->pool);
}

static bool is_being_captured(const struct heap *heap, const struct block *block)
{
    bool is = gpu_capture(&heap->gpu, block->freed_in).active;
    for (unsigned i = 0; i < block->other_count && !is; i++)
        is = gpu_capture(&heap->gpu, block->others[i]).active;
    return is;
}

void memory_release(struct heap *heap, struct block *block)
{
    if (is_being_captured(heap, block)) {
        heap_lock(heap);
        block_push(&heap->deferred, block);
        __atomic_add_fetch(&heap->pending, 1, __ATOMIC_RELAXED);
        heap_unlock(heap);
        return;
    }
    CUstream stream = block->captured ? gpu_stream(&heap->gpu, &heap->gpu.free_stream) : NULL;
    if (!stream)
        stream = block->freed_in;
    gpu_order(&heap->gpu, block->freed_in, stream);
    for (unsigned i = 0; i < block->other_count; i++)
        gpu_order(&heap->gpu, block->others[i], stream);
    heap_lock(heap);
    bool held = block->graphs > 0;
    struct release release = {0};
    if (!held)
        release = begin_release(heap, block);
    else { /* only graphs hold it: they, or a later capture from the same private pool, can use it */
        block->settled = true;
        if (block->pool && block->freed_in == block->stream && block->other_count == 0)
            make_reusable(heap, block);
    }
    heap_unlock(heap);
    if (!held)
        end_release(heap, &release, stream);
}

/* Counts graphs that are gone. Returns a list of the blocks that are no longer used. With the lock held. */
static struct block *collect_returned(struct heap *heap)
{
    struct block *free_blocks = NULL;
    struct graph_hold *hold = __atomic_exchange_n(&heap->returned, NULL, __ATOMIC_ACQUIRE);
    while (hold) {
        struct block *block = hold->block;
        struct graph_hold *next = hold->next;
        __atomic_sub_fetch(&heap->pending, 1, __ATOMIC_RELAXED);
        free(hold);
        hold = next;
        if (--block->graphs > 0 || !(block->settled || block->reusable))
            continue;
        if (block->reusable)
            make_unusable(heap, block);
        block_push(&free_blocks, block);
    }
    return free_blocks;
}

void memory_release_pending(struct heap *heap)
{
    if (__atomic_load_n(&heap->pending, __ATOMIC_ACQUIRE) == 0)
        return;
    heap_lock(heap);
    struct block *returned = collect_returned(heap), *deferred = heap->deferred, *block;
    heap->deferred = NULL;
    for (block = deferred; block; block = block->next)
        __atomic_sub_fetch(&heap->pending, 1, __ATOMIC_RELAXED);
    heap_unlock(heap);
    while ((block = block_pop(&returned))) {
        CUstream stream = gpu_stream(&heap->gpu, &heap->gpu.free_stream);
        heap_lock(heap);
        struct release release = begin_release(heap, block);
        heap_unlock(heap);
        end_release(heap, &release, stream);
    }
    while ((block = block_pop(&deferred)))
        memory_release(heap, block);
}

/* --- free --- */

enum fate { FATE_RELEASE, FATE_KEEP, FATE_WAIT };

/* What happens to a block that the program frees. With the lock held. */
static enum fate fate_of(struct heap *heap, struct block *block, CUstream stream, const struct capture *capture)
{
    if (block->other_count > 0 || (!block->captured && capture->active))
        return FATE_WAIT;
    if (!block->captured)
        return FATE_RELEASE;
    if (capture->id == 0 || capture->id != block->capture || block->graphs == 0)
        return FATE_WAIT;
    /* In its own capture: the GPU has not used it yet, and everything that will is in the graph. */
    block->settled = true;
    if (stream == block->stream)
        make_reusable(heap, block);
    return FATE_KEEP;
}

bool memory_free(struct heap *heap, const void *pointer, CUstream stream, const struct capture *capture)
{
    struct release release = {0};
    heap_lock(heap);
    struct block *block = block_table_get(&heap->blocks, (uintptr_t)pointer);
    if (!block) {
        heap_unlock(heap);
        return false;
    }
    account_freed(heap, block, stream);
    block->freed_in = stream;
    enum fate fate = fate_of(heap, block, stream, capture);
    if (fate == FATE_RELEASE)
        release = begin_release(heap, block);
    heap_unlock(heap);
    if (fate == FATE_RELEASE)
        end_release(heap, &release, stream);
    if (fate == FATE_WAIT)
        memory_release(heap, block);
    return true;
}

/* --- allocation --- */

/* Work on the block in this graph, or in earlier ones of its pool, comes before what STREAM captures from now on. */
static bool suits(const struct block *block, size_t bytes, CUstream stream, const struct private_pool *pool,
                  uint64_t capture)
{
    bool reachable = pool ? block->pool == pool : !block->pool && block->capture == capture;
    return reachable && block->stream == stream && block->capacity >= bytes && block->capacity / WASTE <= bytes;
}

static struct block *use_again(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture)
{
    struct block *best = NULL;
    heap_lock(heap);
    const struct private_pool *pool = heap_choose_pool(heap, capture);
    for (struct block *block = heap->reusable; block; block = block->next)
        if (suits(block, bytes, stream, pool, capture) && (!best || block->capacity < best->capacity))
            best = block;
    if (best) {
        make_unusable(heap, best);
        best->settled = false;
        best->bytes = bytes;
    }
    heap_unlock(heap);
    return best;
}

/* Memory that is there when this returns. Captures of other streams go on. */
static CUresult allocate_now(struct heap *heap, struct block *block)
{
    const struct cuda_calls *cuda = heap->gpu.cuda;
    CUstream stream = gpu_stream(&heap->gpu, &heap->gpu.alloc_stream);
    CUdeviceptr address = 0;
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct gpu_relaxed relaxed = gpu_relax(cuda);
    CUmemoryPool memory = block->pool ? block->pool->memory : heap->memory;
    CUresult result = cuda->cuMemAllocFromPoolAsync(&address, block->bytes, memory, stream);
    if (result == CUDA_SUCCESS)
        cuda->cuStreamSynchronize(stream);
    gpu_unrelax(&relaxed);
    block->address = address;
    return result;
}

static struct block *allocate_new(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture, CUresult *result)
{
    struct block *block = account_request(heap, bytes, stream, capture, result);
    if (!block)
        return NULL;
    block->captured = true;
    *result = allocate_now(heap, block);
    if (*result != CUDA_SUCCESS) {
        account_cancel(heap, block);
        return NULL;
    }
    heap_lock(heap);
    account_held(heap, block->capacity);
    heap_unlock(heap);
    return block;
}

/* CUDA calls this when no graph has it any more, on a thread on which CUDA must not be called. */
static void CUDA_CB graph_gone(void *data)
{
    struct graph_hold *hold = data;
    struct heap *heap = hold->heap;
    __atomic_add_fetch(&heap->pending, 1, __ATOMIC_RELAXED);
    hold->next = __atomic_load_n(&heap->returned, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&heap->returned, &hold->next, hold, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static void count_hold(struct heap *heap, struct block *block, int change)
{
    heap_lock(heap);
    block->graphs = (unsigned)((int)block->graphs + change);
    heap_unlock(heap);
}

static CUresult hold_by_graph(struct heap *heap, struct block *block, CUgraph graph)
{
    const struct cuda_calls *cuda = heap->gpu.cuda;
    CUuserObject object = NULL;
    struct graph_hold *hold = malloc(sizeof(*hold));
    if (!hold)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *hold = (struct graph_hold){.heap = heap, .block = block};
    count_hold(heap, block, 1);
    CUresult result = cuda->cuUserObjectCreate(&object, hold, graph_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result != CUDA_SUCCESS) {
        count_hold(heap, block, -1);
        free(hold);
        return result;
    }
    result = cuda->cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS)
        cuda->cuUserObjectRelease(object, 1); /* which calls graph_gone() */
    return result;
}

struct block *memory_allocate_captured(struct heap *heap, size_t bytes, CUstream stream, const struct capture *capture,
                                       CUresult *result)
{
    struct block *block = capture->id ? use_again(heap, bytes, stream, capture->id) : NULL;
    if (!block)
        block = allocate_new(heap, bytes, stream, capture->id, result);
    if (!block)
        return NULL;
    if (capture->graph && block->capture != capture->id) {
        *result = hold_by_graph(heap, block, capture->graph);
        if (*result != CUDA_SUCCESS) {
            block->freed_in = stream;
            memory_release(heap, block);
            return NULL;
        }
    }
    block->capture = capture->id;
    return block;
}
