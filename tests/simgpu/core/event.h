/* Events: a moment in a stream that others can wait for. */
#ifndef SIMGPU_CORE_EVENT_H
#define SIMGPU_CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "core/list.h"

struct work;

struct CUevent_st {
    CUcontext context;
    uint32_t id; /* as CUPTI counts them, from 1 */
    unsigned flags;
    struct work *work;  /* the last recording, or NULL: under the simulator's lock */
    uint64_t sync_id;   /* of that recording, unique in the process */
    uint32_t stream_id; /* where it was */
    uint64_t capture;   /* recorded in a capture: its id, and the nodes before it; else 0 */
    struct list captured;
};

CUevent event_create(CUcontext context, unsigned flags);
void event_destroy(CUevent event);

/* Records EVENT in STREAM, or captures it. */
CUresult event_record(CUevent event, CUstream stream);
/* Makes STREAM wait for EVENT's last recording. */
CUresult event_wait(CUevent event, CUstream stream);
/* The same for all streams of CONTEXT. */
CUresult event_record_context(CUevent event, CUcontext context);
CUresult event_wait_context(CUevent event, CUcontext context);
/* An event that was never recorded is complete. */
bool event_complete(CUevent event);
void event_synchronize(CUevent event);
/* From FIRST to SECOND in ms. */
CUresult event_elapsed(CUevent first, CUevent second, float *milliseconds);

#endif
