#include "agent/allocator/allocate.h"

#include "common/clock.h"
#include "agent/allocator/account.h"
#include "agent/allocator/give_back.h"
#include "agent/allocator/graph_memory.h"
#include "agent/allocator/observers.h"
#include "agent/allocator/order.h"
#include "agent/dispatch/registry.h"
#include "agent/dispatch/fork_watch.h"

#define RETRIES_MAX 8

struct request {
    struct heap *heap;
    size_t size;
    CUstream stream;
    struct capture capture;
    CUresult result; /* of the last attempt that gave nothing */
};

/* --- attempts --- */

static struct block *take(struct request *request)
{
    struct heap *heap = request->heap;
    struct block *block = heap_ask(heap, request->size, request->stream, 0, &request->result);
    if (!block)
        return NULL;
    CUdeviceptr address = 0;
    CUmemoryPool memory = block->pool ? block->pool->memory : heap->memory;
    request->result = heap->cuda->cuMemAllocFromPoolAsync(&address, request->size, memory, request->stream);
    if (request->result != CUDA_SUCCESS) {
        heap_give_up(heap, block);
        return NULL;
    }
    block->address = address;
    return block;
}

static struct block *take_for_graph(struct request *request)
{
    return graph_memory_take(request->heap, request->size, request->stream, &request->capture, &request->result);
}

static void *attempt(struct request *request)
{
    struct heap *heap = request->heap;
    struct block *block = request->capture.active ? take_for_graph(request) : take(request);
    if (!block)
        return NULL;
    void *pointer = (void *)(uintptr_t)block->address;
    uint64_t now = clock_now();
    heap_lock(heap);
    if (!request->capture.active)
        account_held(heap, block->room);
    bool done = account_allocated(heap, block, now);
    heap_unlock(heap);
    if (done)
        return pointer;
    request->result = CUDA_ERROR_OUT_OF_MEMORY;
    block->freed_in = request->stream;
    give_back(heap, block);
    return NULL;
}

/* --- when there is none --- */

static void trim_pool(struct heap *heap, CUmemoryPool memory, void *unused)
{
    (void)unused;
    heap->cuda->cuMemPoolTrimTo(memory, 0);
}

static void trim(struct heap *heap)
{
    struct relaxed relaxed = order_relax(heap->cuda);
    give_back_pending(heap);
    private_pool_each(heap, trim_pool, NULL);
    order_unrelax(&relaxed);
}

/* Whether there is something to try again for. What other pools than the one that was asked hold, and what the stream
 * has freed but not come to, is memory that the device does not have. */
static bool make_room(const struct request *request, unsigned tries)
{
    struct heap *heap = request->heap;
    bool limit = request->result == HEAP_LIMIT;
    if (!(limit || request->result == CUDA_ERROR_OUT_OF_MEMORY) || tries == RETRIES_MAX)
        return false;
    if (tries == 0 && !limit) {
        if (!request->capture.active)
            heap->cuda->cuStreamSynchronize(request->stream);
        trim(heap);
        return true;
    }
    heap_lock(heap);
    uint64_t held = heap->stats.held_bytes.current;
    heap_unlock(heap);
    return observers_ask(heap->device, request->size, held);
}

/* What the driver was not asked for is in no record of a call. */
static void tell_refusal(const struct request *request, uint64_t start)
{
    if (request->result != HEAP_LIMIT || !registry_memory_allocation_failure_wanted())
        return;
    registry_memory_allocation_failure_publish(&(struct gputrace_memory_allocation_failure){
        .call = {.start = start,
                 .end = clock_now(),
                 .function = "gputrace_malloc",
                 .context = request->heap->context,
                 .device = (uint32_t)request->heap->device,
                 .thread = thread_id(),
                 .result = CUDA_ERROR_OUT_OF_MEMORY},
        .bytes = request->size,
        .pool = (uint64_t)(uintptr_t)request->heap->memory,
        .stream = request->stream,
        .stream_id = GPUTRACE_NO_STREAM,
        .kind = GPUTRACE_MEMORY_POOL,
    });
}

static void fail(const struct request *request, uint64_t start)
{
    heap_lock(request->heap);
    account_failed(request->heap, request->size, request->stream);
    heap_unlock(request->heap);
    tell_refusal(request, start);
}

static void *try_again(struct request *request)
{
    struct heap *heap = request->heap;
    uint64_t start = clock_now();
    void *pointer = NULL;
    for (unsigned tries = 0; !pointer && make_room(request, tries); tries++) {
        heap_lock(heap);
        heap->stats.retries++;
        heap_unlock(heap);
        pointer = attempt(request);
    }
    if (!pointer)
        fail(request, start);
    return pointer;
}

void *allocate(size_t size, int device, CUstream stream)
{
    struct heap *heap = size ? heap_of(device) : NULL;
    struct order_context context;
    if (!heap || !order_enter(heap, &context))
        return NULL;
    struct request request = {.heap = heap, .size = size, .stream = stream, .capture = order_capture(heap, stream)};
    if (!request.capture.active) /* what waits for the end of a capture need not be looked at in it */
        give_back_pending(heap);
    void *pointer = attempt(&request);
    if (!pointer)
        pointer = try_again(&request);
    order_leave(heap, &context);
    return pointer;
}

/* --- free --- */

/* What is done with a block that the program frees. With the lock held. */
enum fate { FATE_GIVE, FATE_KEEP, FATE_WAIT };

static enum fate fate_of(struct heap *heap, struct block *block, CUstream stream, const struct capture *capture)
{
    if (block->other_count > 0 || (!block->captured && capture->active))
        return FATE_WAIT;
    if (!block->captured)
        return FATE_GIVE;
    if (capture->id == 0 || capture->id != block->capture || block->graphs == 0)
        return FATE_WAIT;
    /* Within its own capture: no work was done with it yet, all of it will be the graph's. */
    block->settled = true;
    if (stream == block->stream)
        graph_memory_make_reusable(heap, block);
    return FATE_KEEP;
}

/* False: HEAP does not have POINTER in use. */
static bool free_in(struct heap *heap, const void *pointer, CUstream stream, const struct capture *capture)
{
    struct give_back_step step = {0};
    heap_lock(heap);
    struct block *block = block_table_get(&heap->blocks, (uintptr_t)pointer);
    if (!block) {
        heap_unlock(heap);
        return false;
    }
    account_freed(heap, block, stream);
    block->freed_in = stream;
    enum fate fate = fate_of(heap, block, stream, capture);
    if (fate == FATE_GIVE)
        step = give_back_begin(heap, block);
    heap_unlock(heap);
    if (fate == FATE_GIVE)
        give_back_end(heap, &step, stream);
    if (fate == FATE_WAIT)
        give_back(heap, block);
    return true;
}

/* True when it was found, and also when CUDA is gone, as at the end of the process. */
static bool enter_and_free(struct heap *heap, const void *pointer, CUstream stream)
{
    struct order_context context;
    if (!order_enter(heap, &context))
        return true;
    const struct capture capture = order_capture(heap, stream);
    bool found = free_in(heap, pointer, stream, &capture);
    if (!capture.active)
        give_back_pending(heap);
    order_leave(heap, &context);
    return found;
}

static void count_unknown(int device)
{
    struct heap *heap = heap_known(device);
    for (int i = 0; !heap && i < HEAPS_MAX; i++)
        heap = heap_known(i);
    if (!heap)
        return;
    heap_lock(heap);
    heap->stats.unknown_frees++;
    heap_unlock(heap);
}

void allocate_free(void *pointer, int device, CUstream stream)
{
    struct heap *heap = heap_known(device);
    struct block *block;
    if (!pointer || (heap && enter_and_free(heap, pointer, stream)))
        return;
    heap = heap_lock_owner(pointer, device, &block); /* the caller was wrong about the device */
    if (heap)
        heap_unlock(heap);
    if (!heap || !enter_and_free(heap, pointer, stream))
        count_unknown(device);
}

/* --- the rest --- */

void allocate_record_stream(void *pointer, CUstream stream)
{
    struct block *block;
    struct heap *heap = pointer ? heap_lock_owner(pointer, 0, &block) : NULL;
    if (!heap)
        return;
    int failed = block_add_stream(block, stream);
    heap_unlock(heap);
    if (failed)
        heap->cuda->cuStreamSynchronize(stream); /* what is to come would not be waited for, but memory is short */
}

void allocate_trim(void)
{
    for (int i = 0; i < HEAPS_MAX; i++) {
        struct heap *heap = heap_known(i);
        struct order_context context;
        if (!heap || !order_enter(heap, &context))
            continue;
        trim(heap);
        order_leave(heap, &context);
    }
}
