#include "core/capture.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/context.h"
#include "core/event.h"
#include "core/graph.h"
#include "core/sim.h"
#include "core/stream.h"

/* Under the simulator's lock, and so is the `capture` of streams. What a stream has captured is its thread's alone. */
static struct {
    struct list going; /* struct capture */
    uint64_t made;
} captures;

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode before = thread_mode;
    thread_mode = mode;
    return before;
}

CUresult capture_begin(CUstream stream, CUgraph graph, CUstreamCaptureMode mode)
{
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    struct capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        abort();
    capture->graph = graph ? graph : graph_create();
    capture->own_graph = !graph;
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = gettid();
    list_add(&capture->streams, stream);
    stream->captured.count = 0;
    sim_lock();
    capture->id = ++captures.made;
    stream->capture = capture;
    list_add(&captures.going, capture);
    sim_unlock();
    return CUDA_SUCCESS;
}

/* Has all that was captured in other streams come back to the one where it began? */
static bool capture_joined(const struct capture *capture)
{
    for (size_t i = 0; i < capture->graph->nodes.count; i++) {
        CUgraphNode node = capture->graph->nodes.items[i];
        if (!node->after.count && !list_has(&capture->origin->captured, node))
            return false;
    }
    return true;
}

/* Takes it away from all its streams. Its graph stays. */
static void capture_close(struct capture *capture)
{
    sim_lock();
    for (size_t i = 0; i < capture->streams.count; i++)
        ((CUstream)capture->streams.items[i])->capture = NULL;
    list_remove(&captures.going, capture);
    sim_unlock();
    list_release(&capture->streams);
    free(capture);
}

CUresult capture_end(CUstream stream, CUgraph *graph)
{
    struct capture *capture = stream->capture;
    *graph = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != gettid())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult result = capture->broken           ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      : capture_joined(capture) ? CUDA_SUCCESS
                                                : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (result == CUDA_SUCCESS)
        *graph = capture->graph;
    else if (capture->own_graph)
        graph_destroy(capture->graph);
    capture_close(capture);
    return result;
}

CUresult capture_add(CUstream stream, const struct op *op)
{
    struct list *last = &stream->captured;
    if (stream->capture->broken)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUgraphNode node = graph_add(stream->capture->graph, op, (const CUgraphNode *)last->items, last->count);
    last->count = 0;
    list_add(last, node);
    return CUDA_SUCCESS;
}

CUresult capture_record(CUstream stream, CUevent event)
{
    if (stream->capture->broken)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->capture = stream->capture->id;
    list_copy(&event->captured, &stream->captured);
    return CUDA_SUCCESS;
}

static struct capture *capture_find(uint64_t id)
{
    for (size_t i = 0; i < captures.going.count; i++) {
        struct capture *capture = captures.going.items[i];
        if (capture->id == id)
            return capture;
    }
    return NULL;
}

CUresult capture_join(CUstream stream, CUevent event)
{
    sim_lock();
    struct capture *capture = capture_find(event->capture);
    CUresult result = !capture                                        ? CUDA_ERROR_CAPTURED_EVENT
                      : capture->broken                               ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      : stream->capture && stream->capture != capture ? CUDA_ERROR_STREAM_CAPTURE_MERGE
                                                                      : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && !stream->capture) {
        stream->capture = capture;
        stream->captured.count = 0;
        list_add(&capture->streams, stream);
    }
    sim_unlock();
    for (size_t i = 0; result == CUDA_SUCCESS && i < event->captured.count; i++)
        list_add_once(&stream->captured, event->captured.items[i]);
    return result;
}

/* ---- what is not permitted ---- */

/* Breaks every capture that is going on for which IS says so about WHAT. Gives whether there was one. */
static bool capture_break(bool (*is)(const struct capture *capture, const void *what), const void *what)
{
    bool any = false;
    sim_lock();
    for (size_t i = 0; i < captures.going.count; i++) {
        struct capture *capture = captures.going.items[i];
        bool hit = is(capture, what);
        if (hit)
            capture->broken = true;
        any |= hit;
    }
    sim_unlock();
    return any;
}

static bool capture_of_stream(const struct capture *capture, const void *stream)
{
    return ((const struct CUstream_st *)stream)->capture == capture;
}

static bool capture_of_context(const struct capture *capture, const void *context)
{
    return capture->origin->context == context;
}

static bool capture_of_event(const struct capture *capture, const void *event)
{
    return ((const struct CUevent_st *)event)->capture == capture->id;
}

static bool capture_of_blocking_streams(const struct capture *capture, const void *context)
{
    bool any = false;
    for (size_t i = 0; i < capture->streams.count; i++) {
        CUstream stream = capture->streams.items[i];
        any |= stream->context == context && !(stream->flags & CU_STREAM_NON_BLOCKING);
    }
    return any;
}

static bool capture_forbids_unsafe(const struct capture *capture, const void *unused)
{
    (void)unused;
    bool own = capture->thread == gettid();
    return (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL) ||
           (own && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED);
}

CUresult capture_refuse(CUstream stream)
{
    return capture_break(capture_of_stream, stream) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult capture_refuse_context(CUcontext context)
{
    return capture_break(capture_of_context, context) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult capture_refuse_event(CUevent event)
{
    capture_break(capture_of_event, event);
    return event->capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult capture_refuse_implicit(CUcontext context)
{
    return capture_break(capture_of_blocking_streams, context) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

bool capture_blocks_implicit(CUcontext context)
{
    bool any = false;
    sim_lock();
    for (size_t i = 0; i < captures.going.count; i++)
        any |= capture_of_blocking_streams(captures.going.items[i], context);
    sim_unlock();
    return any;
}

CUresult capture_refuse_unsafe(void)
{
    return capture_break(capture_forbids_unsafe, NULL) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

void capture_forget_stream(CUstream stream)
{
    struct capture *capture = stream->capture;
    if (!capture)
        return;
    if (capture->origin == stream) { /* nobody can end it any more */
        if (capture->own_graph)
            graph_destroy(capture->graph);
        capture_close(capture);
        return;
    }
    sim_lock();
    capture->broken = true;
    list_remove(&capture->streams, stream);
    sim_unlock();
}
