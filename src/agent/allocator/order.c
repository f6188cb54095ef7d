#include "agent/allocator/order.h"

#include <stddef.h>

#include "agent/allocator/heap.h"
#include "agent/ranges/event_cache.h"

/* --- the context --- */

bool order_enter(const struct heap *heap, struct order_context *context)
{
    const struct cuda_calls *cuda = heap->cuda;
    CUcontext current = NULL;
    CUdevice device = -1;
    context->pushed = false;
    if (cuda->cuCtxGetCurrent(&current) != CUDA_SUCCESS)
        return false;
    if (current == heap->context)
        return true;
    if (!current)
        return cuda->cuCtxSetCurrent(heap->context) == CUDA_SUCCESS;
    if (cuda->cuCtxGetDevice(&device) == CUDA_SUCCESS && device == heap->device)
        return true; /* one of the program's own */
    context->pushed = cuda->cuCtxPushCurrent_v2(heap->context) == CUDA_SUCCESS;
    return context->pushed;
}

void order_leave(const struct heap *heap, const struct order_context *context)
{
    CUcontext popped;
    if (context->pushed)
        heap->cuda->cuCtxPopCurrent_v2(&popped);
}

/* --- captures --- */

struct relaxed order_relax(const struct cuda_calls *cuda)
{
    struct relaxed relaxed = {.cuda = cuda, .before = CU_STREAM_CAPTURE_MODE_RELAXED};
    relaxed.done = cuda->cuThreadExchangeStreamCaptureMode(&relaxed.before) == CUDA_SUCCESS;
    return relaxed;
}

void order_unrelax(struct relaxed *relaxed)
{
    if (relaxed->done)
        relaxed->cuda->cuThreadExchangeStreamCaptureMode(&relaxed->before);
}

struct capture order_capture(const struct heap *heap, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    struct capture capture = {0};
    cuuint64_t id = 0;
    CUgraph graph = NULL;
    CUresult result = heap->cuda->cuStreamIsCapturing(stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) { /* the legacy default stream, and one that waits for it is */
        capture.active = true;
        return capture;
    }
    if (result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE)
        return capture;
    capture.active = true;
    result = heap->cuda->cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, NULL, NULL);
    if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        capture.id = id;
        capture.graph = graph;
    }
    return capture;
}

/* --- streams --- */

static bool after_event(const struct cuda_calls *cuda, CUstream first, CUstream then)
{
    CUcontext context = NULL;
    if (cuda->cuStreamGetCtx(first, &context) != CUDA_SUCCESS)
        return false;
    const struct gputrace_cached_event *event = event_cache_take(context, false);
    bool done = event && cuda->cuEventRecord(event->event, first) == CUDA_SUCCESS &&
                cuda->cuStreamWaitEvent(then, event->event, 0) == CUDA_SUCCESS;
    event_cache_give_back(event);
    return done;
}

void order_after(const struct heap *heap, CUstream first, CUstream then)
{
    if (first != then && !after_event(heap->cuda, first, then))
        heap->cuda->cuStreamSynchronize(first); /* rather wait than give away what is in use */
}

static CUstream make_stream(const struct heap *heap)
{
    CUstream stream = NULL;
    CUcontext popped;
    struct relaxed relaxed = order_relax(heap->cuda);
    /* Of the primary context, whichever is current: it lives longest. */
    if (heap->cuda->cuCtxPushCurrent_v2(heap->context) == CUDA_SUCCESS) {
        if (heap->cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
            stream = NULL;
        heap->cuda->cuCtxPopCurrent_v2(&popped);
    }
    order_unrelax(&relaxed);
    return stream;
}

CUstream order_own(const struct heap *heap, CUstream *place)
{
    CUstream stream = __atomic_load_n(place, __ATOMIC_ACQUIRE), none = NULL;
    if (stream)
        return stream;
    stream = make_stream(heap);
    if (!stream || __atomic_compare_exchange_n(place, &none, stream, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return stream;
    heap->cuda->cuStreamDestroy_v2(stream); /* another thread was quicker */
    return none;
}
