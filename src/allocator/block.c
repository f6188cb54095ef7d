/*
 * Blocks of memory and the table that finds them by address, and the accounts: every change of a block updates the
 * counters of the heap and its stream and, if wanted, records an event.
 */
#include <stdlib.h>

#include "allocator/heap.h"
#include "common/clock.h"

#define BLOCKS_AT_ONCE 128
#define TABLE_CAPACITY_FIRST 1024

/* Returns a block from SPARE, a stack that grows by many at once; all zero but the list of other streams, which is
 * empty. NULL: no memory. */
static struct block *block_new(struct block **spare)
{
    if (!*spare) {
        struct block *blocks = calloc(BLOCKS_AT_ONCE, sizeof(*blocks));
        for (unsigned i = 0; blocks && i < BLOCKS_AT_ONCE; i++)
            block_push(spare, &blocks[i]);
    }
    return block_pop(spare);
}

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

/* --- by address --- */

/* Addresses are multiples of 512 or more, so their lowest bits say little. */
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

/* Reading the clock costs as much as all the rest, so it is read only if the event is kept. */
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

/* The statistics of STREAM; NULL: no memory. */
static struct gputrace_allocator_stream_stats *stats_of_stream(struct heap *heap, CUstream stream)
{
    static __thread struct { /* that the thread asked for last */
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
    struct block *block = of_stream && within ? block_new(&heap->spare) : NULL;
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
    struct block_table *table = &heap->blocks;
    if (table->count == table->capacity && grow(table) != 0)
        return false;
    block_push(chain_of(table, block->address), block);
    table->count++;
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
    struct block **at = chain_of(&heap->blocks, block->address);
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    heap->blocks.count--;
    subtract(&heap->stats.allocations, 1);
    subtract(&heap->stats.allocated_bytes, block->bytes);
    subtract(&block->of_stream->allocations, 1);
    subtract(&block->of_stream->allocated_bytes, block->bytes);
    record(heap, (struct gputrace_allocator_event){.pointer = (void *)(uintptr_t)block->address,
                                                   .bytes = block->bytes,
                                                   .stream = stream,
                                                   .what = GPUTRACE_FREED});
}

CUmemoryPool account_released(struct heap *heap, struct block *block)
{
    subtract(&heap->stats.held_bytes, block->capacity);
    return recycle(heap, block);
}

void account_lost(struct heap *heap, size_t bytes)
{
    heap->stats.failed_frees++;
    heap->stats.held_bytes.current += bytes;
    heap->stats.held_bytes.freed -= bytes;
    heap->requested += bytes;
}

void account_failed(struct heap *heap, size_t bytes, CUstream stream)
{
    struct gputrace_allocator_stream_stats *of_stream = stats_of_stream(heap, stream);
    heap->stats.failures++;
    if (of_stream)
        of_stream->failures++;
    record(heap, (struct gputrace_allocator_event){.bytes = bytes, .stream = stream, .what = GPUTRACE_FAILED});
}
