/* Capturing streams into graphs. A capture is used by one thread at a time, as CUDA demands; so nothing is locked here.
 */
#include <stdatomic.h>

#include "core/event.h"
#include "core/graph.h"
#include "core/stream.h"

static atomic_uint_least64_t captures;

CUresult graph_capture_begin(CUstream stream, CUgraph graph, CUstreamCaptureMode mode)
{
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = graph ? graph : graph_create();
    stream->capture_origin = true;
    stream->capture_mode = mode;
    stream->capture_id = atomic_fetch_add(&captures, 1) + 1;
    stream->capture_nodes.count = 0;
    list_add(&stream->capture->capturing, stream);
    return CUDA_SUCCESS;
}

/* Has all that was captured in other streams come back to the one where it began? */
static bool graph_capture_joined(CUstream stream)
{
    for (size_t i = 0; i < stream->capture->nodes.count; i++) {
        CUgraphNode node = stream->capture->nodes.items[i];
        if (!node->after.count && !list_has(&stream->capture_nodes, node))
            return false;
    }
    return true;
}

CUresult graph_capture_end(CUstream stream, CUgraph *graph)
{
    if (!stream || !stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!stream->capture_origin)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    CUgraph captured = stream->capture;
    bool joined = graph_capture_joined(stream);
    for (size_t i = 0; i < captured->capturing.count; i++) {
        CUstream other = captured->capturing.items[i];
        other->capture = NULL;
        other->capture_origin = false;
        other->capture_nodes.count = 0;
    }
    captured->capturing.count = 0;
    if (!joined) {
        graph_destroy(captured);
        *graph = NULL;
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    *graph = captured;
    return CUDA_SUCCESS;
}

CUresult graph_capture(CUstream stream, const struct op *op)
{
    struct list *last = &stream->capture_nodes;
    CUgraphNode node = graph_add(stream->capture, op, (const CUgraphNode *)last->items, last->count);
    last->count = 0;
    list_add(last, node);
    return CUDA_SUCCESS;
}

CUresult graph_capture_join(CUstream stream, CUevent event)
{
    if (stream->capture && stream->capture != event->capture)
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (!stream->capture) {
        stream->capture = event->capture;
        stream->capture_id = ((CUstream)event->capture->capturing.items[0])->capture_id;
        stream->capture_nodes.count = 0;
        list_add(&stream->capture->capturing, stream);
    }
    for (size_t i = 0; i < event->captured.count; i++)
        list_add_once(&stream->capture_nodes, event->captured.items[i]);
    return CUDA_SUCCESS;
}
