#include "agent/allocator/give_back.h"

#include "agent/allocator/account.h"
#include "agent/allocator/graph_memory.h"
#include "agent/allocator/order.h"

struct give_back_step give_back_begin(struct heap *heap, struct block *block)
{
    struct give_back_step step = {block->address, block->room, private_pool_leave(heap, block->pool)};
    account_given_back(heap, block->room);
    block_recycle(&heap->spare, block);
    return step;
}

void give_back_end(struct heap *heap, const struct give_back_step *step, CUstream stream)
{
    if (heap->cuda->cuMemFreeAsync(step->address, stream) != CUDA_SUCCESS) {
        heap_lock(heap);
        account_lost(heap, step->bytes);
        heap_unlock(heap);
    }
    if (step->pool)
        heap->cuda->cuMemPoolDestroy(step->pool);
}

static bool is_captured(const struct heap *heap, const struct block *block)
{
    bool is = order_capture(heap, block->freed_in).active;
    for (unsigned i = 0; i < block->other_count && !is; i++)
        is = order_capture(heap, block->others[i]).active;
    return is;
}

static void defer(struct heap *heap, struct block *block)
{
    heap_lock(heap);
    block_push(&heap->deferred, block);
    __atomic_add_fetch(&heap->pending, 1, __ATOMIC_RELAXED);
    heap_unlock(heap);
}

/* Graphs hold it, so only they, or a later capture from the same private pool, can have it. */
static void leave_to_graphs(struct heap *heap, struct block *block)
{
    block->settled = true;
    if (block->pool && block->freed_in == block->stream && block->other_count == 0)
        graph_memory_make_reusable(heap, block);
}

void give_back(struct heap *heap, struct block *block)
{
    if (is_captured(heap, block)) {
        defer(heap, block);
        return;
    }
    CUstream stream = block->captured ? order_own(heap, &heap->giving) : NULL;
    if (!stream)
        stream = block->freed_in;
    order_after(heap, block->freed_in, stream);
    for (unsigned i = 0; i < block->other_count; i++)
        order_after(heap, block->others[i], stream);
    heap_lock(heap);
    bool held = block->graphs > 0;
    struct give_back_step step = {0};
    if (held)
        leave_to_graphs(heap, block);
    else
        step = give_back_begin(heap, block);
    heap_unlock(heap);
    if (!held)
        give_back_end(heap, &step, stream);
}

/* Takes note of graphs that are gone. Gives a list of the blocks that nobody has any more. With the lock held. */
static struct block *take_returned(struct heap *heap)
{
    struct block *free_blocks = NULL;
    struct hold *hold = __atomic_exchange_n(&heap->returned, NULL, __ATOMIC_ACQUIRE);
    while (hold) {
        struct block *block = hold->block;
        struct hold *next = hold->next;
        __atomic_sub_fetch(&heap->pending, 1, __ATOMIC_RELAXED);
        graph_memory_forget(hold);
        hold = next;
        if (--block->graphs > 0 || !(block->settled || block->reusable))
            continue;
        if (block->reusable)
            graph_memory_make_unusable(heap, block);
        block_push(&free_blocks, block);
    }
    return free_blocks;
}

static struct block *take_deferred(struct heap *heap)
{
    struct block *deferred = heap->deferred;
    heap->deferred = NULL;
    for (const struct block *block = deferred; block; block = block->next)
        __atomic_sub_fetch(&heap->pending, 1, __ATOMIC_RELAXED);
    return deferred;
}

static void give_back_returned(struct heap *heap, struct block *block)
{
    CUstream stream = order_own(heap, &heap->giving);
    heap_lock(heap);
    struct give_back_step step = give_back_begin(heap, block);
    heap_unlock(heap);
    give_back_end(heap, &step, stream);
}

void give_back_pending(struct heap *heap)
{
    if (__atomic_load_n(&heap->pending, __ATOMIC_ACQUIRE) == 0)
        return;
    heap_lock(heap);
    struct block *returned = take_returned(heap), *deferred = take_deferred(heap), *block;
    heap_unlock(heap);
    while ((block = block_pop(&returned)))
        give_back_returned(heap, block);
    while ((block = block_pop(&deferred)))
        give_back(heap, block);
}
