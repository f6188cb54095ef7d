/*
 * Streams: work in order. What is put into a stream starts after all that was put there before; the legacy default
 * stream and the blocking streams of its context wait for each other. A stream that is being captured puts nodes into a
 * graph.
 */
#ifndef SIMGPU_CORE_STREAM_H
#define SIMGPU_CORE_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <cuda.h>

#include "core/activity.h"
#include "core/list.h"
#include "core/op.h"

struct capture;
struct work;

struct CUstream_st {
    CUcontext context;
    uint32_t id; /* as CUPTI counts them */
    unsigned flags;
    int priority;
    pid_t owner;             /* of a thread's own default stream: the thread; 0 for others */
    struct work *tail;       /* the last put into it, or NULL */
    struct capture *capture; /* NULL when it is not being captured */
    struct list captured;    /* what the next node depends on */
};

/* The context's null stream, with the ids that the driver takes for itself. */
void stream_create_null(CUcontext context);
CUstream stream_create(CUcontext context, unsigned flags, int priority);
/* The id of a stream that has no handle. */
uint32_t stream_take_id(void);
/* Work in it goes on. */
void stream_destroy(CUstream stream);

/* The stream meant by HANDLE, which may be NULL or one of the two special values. NULL when there is no context. */
CUstream stream_resolve(CUstream handle, bool per_thread);

/* Puts OP into STREAM, or into the graph that it captures. With WAIT comes back when it is done. */
CUresult stream_submit(CUstream stream, const struct op *op, bool wait);

/* Makes WORK wait for what STREAM does now, and STREAM wait for it. With the lock held. */
void stream_append(CUstream stream, struct work *work);
void stream_wait(CUstream stream);
bool stream_idle(CUstream stream);

#endif
