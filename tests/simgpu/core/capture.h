/*
 * Capturing streams into graphs. A capture begins in one stream; others join it by waiting for an event that was
 * recorded in it, and must have come back before it ends. What is not permitted meanwhile breaks the capture: from then
 * on everything in its streams fails, up to its end, which gives no graph.
 */
#ifndef SIMGPU_CORE_CAPTURE_H
#define SIMGPU_CORE_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <cuda.h>

#include "core/list.h"
#include "core/op.h"

struct capture {
    uint64_t id;
    CUgraph graph;
    bool own_graph; /* made for this capture */
    CUstream origin;
    CUstreamCaptureMode mode;
    pid_t thread;        /* where it began */
    atomic_bool broken;  /* also by other threads */
    struct list streams; /* CUstream */
};

/* GRAPH: what to add to, or NULL for a new one. */
CUresult capture_begin(CUstream stream, CUgraph graph, CUstreamCaptureMode mode);
/* *GRAPH is NULL when the capture was broken. */
CUresult capture_end(CUstream stream, CUgraph *graph);
/* A node with OP, after what STREAM captured last. */
CUresult capture_add(CUstream stream, const struct op *op);
/* Keeps in EVENT where STREAM's capture is. */
CUresult capture_record(CUstream stream, CUevent event);
/* STREAM goes on after EVENT, which was recorded in a capture; it joins that capture. */
CUresult capture_join(CUstream stream, CUevent event);

/* A call that is not permitted on STREAM while it is captured: breaks the capture. Gives the error; success when it is
 * not being captured. */
CUresult capture_refuse(CUstream stream);
/* The same for all streams of CONTEXT; and for an event last recorded in a capture. */
CUresult capture_refuse_context(CUcontext context);
CUresult capture_refuse_event(CUevent event);
/* The same for work in CONTEXT's null stream, for which its blocking streams would have to wait. */
CUresult capture_refuse_implicit(CUcontext context);
/* Would it be? Breaks nothing. */
bool capture_blocks_implicit(CUcontext context);
/* The same for a call that might not be safe during a capture, as allocating: decided by the modes of captures. */
CUresult capture_refuse_unsafe(void);
/* This thread's mode; gives the one before. */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);

/* STREAM is about to be destroyed. */
void capture_forget_stream(CUstream stream);

#endif
