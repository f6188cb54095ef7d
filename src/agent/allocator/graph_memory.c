#include "agent/allocator/graph_memory.h"

#include <stdlib.h>

#include "agent/allocator/account.h"
#include "agent/allocator/give_back.h"

/* A block that is used again may be so many times as large as what is asked for. */
#define WASTE 2

/* --- blocks that a capture has freed --- */

void graph_memory_make_reusable(struct heap *heap, struct block *block)
{
    block->reusable = true;
    block_push(&heap->reusable, block);
}

void graph_memory_make_unusable(struct heap *heap, struct block *block)
{
    struct block **at = &heap->reusable;
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    block->reusable = false;
}

/* Work on it in the graph, or in earlier ones of its pool, comes before what STREAM captures from now on. */
static bool suits(const struct block *block, size_t bytes, CUstream stream, const struct private_pool *pool,
                  uint64_t capture)
{
    bool reachable = pool ? block->pool == pool : !block->pool && block->capture == capture;
    return reachable && block->stream == stream && block->room >= bytes && block->room / WASTE <= bytes;
}

static struct block *use_again(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture)
{
    struct block *best = NULL;
    heap_lock(heap);
    const struct private_pool *pool = private_pool_choose(heap, capture);
    for (struct block *block = heap->reusable; block; block = block->next)
        if (suits(block, bytes, stream, pool, capture) && (!best || block->room < best->room))
            best = block;
    if (best) {
        graph_memory_make_unusable(heap, best);
        best->settled = false;
        best->bytes = bytes;
    }
    heap_unlock(heap);
    return best;
}

/* --- new ones --- */

/* Memory that is there when this returns. Other streams' captures do not mind. */
static CUresult take_aside(struct heap *heap, struct block *block)
{
    const struct cuda_calls *cuda = heap->cuda;
    CUstream stream = order_own(heap, &heap->taking);
    CUdeviceptr address = 0;
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct relaxed relaxed = order_relax(cuda);
    CUmemoryPool memory = block->pool ? block->pool->memory : heap->memory;
    CUresult result = cuda->cuMemAllocFromPoolAsync(&address, block->bytes, memory, stream);
    if (result == CUDA_SUCCESS)
        cuda->cuStreamSynchronize(stream);
    order_unrelax(&relaxed);
    block->address = address;
    return result;
}

static struct block *take_new(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture, CUresult *result)
{
    struct block *block = heap_ask(heap, bytes, stream, capture, result);
    if (!block)
        return NULL;
    block->captured = true;
    *result = take_aside(heap, block);
    if (*result != CUDA_SUCCESS) {
        heap_give_up(heap, block);
        return NULL;
    }
    heap_lock(heap);
    account_held(heap, block->room);
    heap_unlock(heap);
    return block;
}

/* --- what graphs hold --- */

/* Called by CUDA when no graph has it any more, on a thread on which CUDA is not to be called. */
static void CUDA_CB graph_gone(void *data)
{
    struct hold *hold = data;
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
    CUuserObject object = NULL;
    struct hold *hold = malloc(sizeof(*hold));
    if (!hold)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *hold = (struct hold){.heap = heap, .block = block};
    count_hold(heap, block, 1);
    CUresult result = heap->cuda->cuUserObjectCreate(&object, hold, graph_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result != CUDA_SUCCESS) {
        count_hold(heap, block, -1);
        free(hold);
        return result;
    }
    result = heap->cuda->cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS)
        heap->cuda->cuUserObjectRelease(object, 1); /* which tells graph_gone() */
    return result;
}

void graph_memory_forget(struct hold *hold)
{
    free(hold);
}

struct block *graph_memory_take(struct heap *heap, size_t bytes, CUstream stream, const struct capture *capture,
                                CUresult *result)
{
    struct block *block = capture->id ? use_again(heap, bytes, stream, capture->id) : NULL;
    if (!block)
        block = take_new(heap, bytes, stream, capture->id, result);
    if (!block)
        return NULL;
    if (capture->graph && block->capture != capture->id) {
        *result = hold_by_graph(heap, block, capture->graph);
        if (*result != CUDA_SUCCESS) {
            block->freed_in = stream;
            give_back(heap, block);
            return NULL;
        }
    }
    block->capture = capture->id;
    return block;
}
