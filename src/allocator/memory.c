/*
 * Blocks of memory: the accounts of a heap, and how blocks are allocated and freed. Every change of a block updates the
 * counters of the heap and its stream and, if wanted, records an event. A block freed within its capture is reused for
 * that graph, and returns to its pool when the last graph that refers to it is gone.
 */
#include "allocator/memory.h"

#include <stdlib.h>

#include "common/clock.h"

#define BLOCKS_AT_ONCE 128

int block_add_stream(struct block *block, CUstream stream)
{
    if (stream == block->stream)
        return 0;
    for (unsigned i = 0; i < block->other_count; i++)
        if (block->others[i] == stream)
            return 0;
    if (block->other_count == block->other_capacity) {
        unsigned capacity = block->other_capacity ? block->other_capacity * 2 : 4;
        CUstream *grown = realloc(block->others, capacity * sizeof(*grown));
        if (!grown)
            return -1;
        block->others = grown;
        block->other_capacity = capacity;
    }
    block->others[block->other_count++] = stream;
    return 0;
}

typedef struct gputrace_allocator_figure figure;

static void add(figure *of, uint64_t amount)
{
    of->current += amount;
    of->total += amount;
    if (of->current > of->peak)
        of->peak = of->current;
}

static void subtract(figure *of, uint64_t amount)
{
    of->current -= amount;
    of->freed += amount;
}

/* Records an event. Reading the clock costs as much as the rest, so the clock is read only if events are kept. */
static void record(struct heap *heap, struct gputrace_allocator_event event)
{
    struct history *history = &heap->history;
    event.sequence = ++heap->sequence;
    if (history->capacity == 0)
        return;
    if (event.time == 0)
        event.time = clock_now();
    event.held = heap->stats.held_bytes.current;
    event.thread = heap_thread();
    history->events[history->added++ % history->capacity] = event;
}

/* Returns the statistics of STREAM, or NULL if there is no memory. */
static struct gputrace_allocator_stream_stats *stats_of_stream(struct heap *heap, CUstream stream)
{
    static __thread struct { /* the last statistics that this thread looked up */
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

struct block *account_request(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture, CUresult *result)
{
    heap_lock(heap);
    struct gputrace_allocator_stream_stats *of_stream = stats_of_stream(heap, stream);
    bool within = bytes <= heap->stats.limit && heap->requested <= heap->stats.limit - bytes;
    /* Spare blocks are all zero, except for the allocated but empty list of other streams. Many are allocated at once.
     */
    struct block *blocks = of_stream && within && !heap->spare ? calloc(BLOCKS_AT_ONCE, sizeof(*blocks)) : NULL;
    for (unsigned i = 0; blocks && i < BLOCKS_AT_ONCE; i++)
        block_push(&heap->spare, &blocks[i]);
    struct block *block = of_stream && within ? block_pop(&heap->spare) : NULL;
    *result = within ? CUDA_ERROR_OUT_OF_MEMORY : ACCOUNT_LIMIT;
    if (block) {
        heap->requested += bytes;
        block->bytes = block->capacity = bytes;
        block->stream = stream;
        block->of_stream = of_stream;
        block->pool = heap_choose_pool(heap, capture);
        if (block->pool)
            block->pool->blocks++;
    }
    heap_unlock(heap);
    return block;
}

static CUmemoryPool recycle(struct heap *heap, struct block *block)
{
    heap->requested -= block->capacity;
    CUmemoryPool gone = heap_leave_pool(heap, block->pool);
    *block = (struct block){.others = block->others, .other_capacity = block->other_capacity};
    block_push(&heap->spare, block);
    return gone;
}

void account_cancel(struct heap *heap, struct block *block)
{
    heap_lock(heap);
    CUmemoryPool gone = recycle(heap, block);
    heap_unlock(heap);
    if (gone)
        heap->gpu.cuda->cuMemPoolDestroy(gone);
}

void account_held(struct heap *heap, size_t bytes)
{
    add(&heap->stats.held_bytes, bytes);
}

bool account_allocated(struct heap *heap, struct block *block, uint64_t time)
{
    if (!block_table_put(&heap->blocks, block))
        return false;
    block->time = time;
    block->thread = heap_thread();
    block->sequence = heap->sequence + 1;
    add(&heap->stats.allocations, 1);
    add(&heap->stats.allocated_bytes, block->bytes);
    add(&block->of_stream->allocations, 1);
    add(&block->of_stream->allocated_bytes, block->bytes);
    record(heap, (struct gputrace_allocator_event){.time = time,
                                                   .pointer = (void *)(uintptr_t)block->address,
                                                   .bytes = block->bytes,
                                                   .stream = block->stream,
                                                   .what = GPUTRACE_ALLOCATED});
    return true;
}

void account_freed(struct heap *heap, struct block *block, CUstream stream)
{
    block_table_remove(&heap->blocks, block);
    subtract(&heap->stats.allocations, 1);
    subtract(&heap->stats.allocated_bytes, block->bytes);
    subtract(&block->of_stream->allocations, 1);
    subtract(&block->of_stream->allocated_bytes, block->bytes);
    record(heap, (struct gputrace_allocator_event){.pointer = (void *)(uintptr_t)block->address,
                                                   .bytes = block->bytes,
                                                   .stream = stream,
                                                   .what = GPUTRACE_FREED});
}

void account_failed(struct heap *heap, size_t bytes, CUstream stream)
{
    struct gputrace_allocator_stream_stats *of_stream = stats_of_stream(heap, stream);
    heap->stats.failures++;
    if (of_stream)
        of_stream->failures++;
    record(heap, (struct gputrace_allocator_event){.bytes = bytes, .stream = stream, .what = GPUTRACE_FAILED});
}

/* A reused block may be at most this many times as large as the requested size. */
#define WASTE 2

/* --- the list of blocks freed in their own capture; the caller holds the lock --- */

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

/* A block's release in two steps: the first with the lock held, the second without. */
struct release {
    uint64_t address;
    size_t bytes;
    CUmemoryPool pool; /* the driver's pool to destroy, because the block was its last one; or NULL */
};

static struct release begin_release(struct heap *heap, struct block *block)
{
    struct release release = {.address = block->address, .bytes = block->capacity};
    subtract(&heap->stats.held_bytes, block->capacity);
    release.pool = recycle(heap, block);
    return release;
}

static void end_release(struct heap *heap, const struct release *release, CUstream stream)
{
    if (heap->gpu.cuda->cuMemFreeAsync(release->address, stream) != CUDA_SUCCESS) {
        heap_lock(heap);
        heap->stats.failed_frees++;
        heap->stats.held_bytes.current += release->bytes; /* the driver still holds the memory */
        heap->stats.held_bytes.freed -= release->bytes;
        heap->requested += release->bytes;
        heap_unlock(heap);
    }
    if (release->pool)
        heap->gpu.cuda->cuMemPoolDestroy(release->pool);
}

void memory_release(struct heap *heap, struct block *block)
{
    bool captured = gpu_capture(&heap->gpu, block->freed_in).active;
    for (unsigned i = 0; i < block->other_count && !captured; i++)
        captured = gpu_capture(&heap->gpu, block->others[i]).active;
    if (captured) {
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
    else { /* only graphs hold the block: they, or a later capture from its private pool, can use it */
        block->settled = true;
        if (block->pool && block->freed_in == block->stream && block->other_count == 0)
            make_reusable(heap, block);
    }
    heap_unlock(heap);
    if (!held)
        end_release(heap, &release, stream);
}

/* Counts graphs that are gone. Returns the list of blocks that are not used any more. The caller holds the lock. */
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

/* Returns what to do with a block that the program frees. The caller holds the lock. */
static enum fate fate_of(struct heap *heap, struct block *block, CUstream stream, const struct capture *capture)
{
    if (block->other_count > 0 || (!block->captured && capture->active))
        return FATE_WAIT;
    if (!block->captured)
        return FATE_RELEASE;
    if (capture->id == 0 || capture->id != block->capture || block->graphs == 0)
        return FATE_WAIT;
    /* The block is freed in its own capture: the GPU has not used it yet, and all work that will use it is in the
     * graph. */
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

static struct block *use_again(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture)
{
    struct block *best = NULL;
    heap_lock(heap);
    const struct private_pool *pool = heap_choose_pool(heap, capture);
    for (struct block *block = heap->reusable; block; block = block->next) {
        /* Work on the block in this graph, or in earlier graphs of its pool, comes before what STREAM captures from now
         * on. */
        bool reachable = pool ? block->pool == pool : !block->pool && block->capture == capture;
        if (reachable && block->stream == stream && block->capacity >= bytes && block->capacity / WASTE <= bytes &&
            (!best || block->capacity < best->capacity))
            best = block;
    }
    if (best) {
        make_unusable(heap, best);
        best->settled = false;
        best->bytes = bytes;
    }
    heap_unlock(heap);
    return best;
}

/* Allocates memory that is there on return. Captures of other streams go on. */
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

/* Returns a hold to its heap. CUDA calls this when no graph has the hold any more, on a thread on which CUDA must not
 * be called. */
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
        cuda->cuUserObjectRelease(object, 1); /* calls graph_gone() */
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
