/* Contexts, and which one each thread works in. Contexts are freed only with the process: a stale handle stays
 * readable. */
#ifndef SIMGPU_CORE_CONTEXT_H
#define SIMGPU_CORE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "core/device.h"
#include "core/list.h"

struct CUctx_st {
    uint32_t id; /* as CUPTI counts them, from 1 */
    struct device *device;
    unsigned flags;
    bool primary, destroyed;
    atomic_bool lost; /* a kernel of it failed: every later call fails too */
    size_t limits[CU_LIMIT_MAX];
    CUstream null_stream;
    struct list streams; /* all of it, the null stream too; under the simulator's lock */
};

/* A new context on DEVICE, with CUPTI's callback and record. */
CUcontext context_create(struct device *device, unsigned flags, bool primary);
/* Waits for its work and destroys its streams. */
void context_destroy(CUcontext context);

/* The one on top of this thread's stack, or NULL. */
CUcontext context_current(void);
void context_set_current(CUcontext context);
void context_push(CUcontext context);
/* NULL when the stack is empty. */
CUcontext context_pop(void);

/* Waits for all work of all streams of CONTEXT. */
void context_wait(CUcontext context);

#endif
