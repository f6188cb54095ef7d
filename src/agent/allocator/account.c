#include "agent/allocator/account.h"

#include "common/clock.h"
#include "agent/dispatch/fork_watch.h"

typedef struct gputrace_allocator_figure figure;

static void add(figure *of, uint64_t amount)
{
    of->current += amount;
    of->total += amount;
    if (of->current > of->peak)
        of->peak = of->current;
}

static void take(figure *of, uint64_t amount)
{
    of->current -= amount;
    of->freed += amount;
}

/* Asking for the time costs as much as all the rest: only when it is kept. */
static void remember(struct heap *heap, struct gputrace_allocator_event event)
{
    event.sequence = ++heap->sequence;
    if (!history_is_kept(&heap->history))
        return;
    if (event.time == 0)
        event.time = clock_now();
    event.held = heap->stats.held_bytes.current;
    event.thread = thread_id();
    history_add(&heap->history, &event);
}

bool account_allocated(struct heap *heap, struct block *block, uint64_t time)
{
    if (block_table_put(&heap->blocks, block) != 0)
        return false;
    block->in_use = true;
    block->time = time;
    block->thread = thread_id();
    block->sequence = heap->sequence + 1;
    add(&heap->stats.allocations, 1);
    add(&heap->stats.allocated_bytes, block->bytes);
    add(&block->of_stream->allocations, 1);
    add(&block->of_stream->allocated_bytes, block->bytes);
    remember(heap, (struct gputrace_allocator_event){.time = time,
                                                     .pointer = (void *)(uintptr_t)block->address,
                                                     .bytes = block->bytes,
                                                     .stream = block->stream,
                                                     .what = GPUTRACE_ALLOCATED});
    return true;
}

void account_freed(struct heap *heap, struct block *block, CUstream stream)
{
    block_table_remove(&heap->blocks, block);
    block->in_use = false;
    take(&heap->stats.allocations, 1);
    take(&heap->stats.allocated_bytes, block->bytes);
    take(&block->of_stream->allocations, 1);
    take(&block->of_stream->allocated_bytes, block->bytes);
    remember(heap, (struct gputrace_allocator_event){.pointer = (void *)(uintptr_t)block->address,
                                                     .bytes = block->bytes,
                                                     .stream = stream,
                                                     .what = GPUTRACE_FREED});
}

void account_failed(struct heap *heap, size_t bytes, CUstream stream)
{
    struct gputrace_allocator_stream_stats *of_stream = heap_stream(heap, stream);
    heap->stats.failures++;
    if (of_stream)
        of_stream->failures++;
    remember(heap, (struct gputrace_allocator_event){.bytes = bytes, .stream = stream, .what = GPUTRACE_FAILED});
}

void account_held(struct heap *heap, size_t bytes)
{
    add(&heap->stats.held_bytes, bytes);
}

void account_given_back(struct heap *heap, size_t bytes)
{
    take(&heap->stats.held_bytes, bytes);
    heap->asked -= bytes;
}

void account_lost(struct heap *heap, size_t bytes)
{
    heap->stats.failed_frees++;
    heap->stats.held_bytes.current += bytes;
    heap->stats.held_bytes.freed -= bytes;
    heap->asked += bytes;
}

static void reset(figure *of, bool peak)
{
    if (peak)
        of->peak = of->current;
    else
        of->total = of->freed = 0;
}

static int reset_stream(void *peak, uint64_t stream, uint64_t *stats)
{
    (void)stream;
    struct gputrace_allocator_stream_stats *of = (void *)(uintptr_t)*stats;
    if (!of)
        return 0;
    reset(&of->allocations, peak != NULL);
    reset(&of->allocated_bytes, peak != NULL);
    of->failures = peak ? of->failures : 0;
    return 0;
}

static void reset_all(struct heap *heap, bool *peak)
{
    reset(&heap->stats.allocations, peak != NULL);
    reset(&heap->stats.allocated_bytes, peak != NULL);
    reset(&heap->stats.held_bytes, peak != NULL);
    map_each(&heap->streams, reset_stream, peak);
}

void account_reset_peak(struct heap *heap)
{
    bool peak = true;
    reset_all(heap, &peak);
}

void account_reset_accumulated(struct heap *heap)
{
    reset_all(heap, NULL);
    heap->stats.failures = heap->stats.retries = heap->stats.unknown_frees = heap->stats.failed_frees = 0;
}
