/*
 * The functions of CUDA's driver that device ranges call, and the thread's current context.
 */
#ifndef GPUTRACE_AGENT_RANGES_DRIVER_H
#define GPUTRACE_AGENT_RANGES_DRIVER_H

#include <cuda.h>

/*
 * The functions of CUDA's driver that this room calls, found in the libcuda that the process has loaded.
 */

/* Names as libcuda exports them: cuda.h lets some stand for newer versions. */
#define DRIVER_FUNCTIONS(X)                                                \
    X(cuCtxGetCurrent, CUcontext *context)                                 \
    X(cuCtxPushCurrent_v2, CUcontext context)                              \
    X(cuCtxPopCurrent_v2, CUcontext *context)                              \
    X(cuEventCreate, CUevent *event, unsigned flags)                       \
    X(cuEventRecord, CUevent event, CUstream stream)                       \
    X(cuStreamGetCtx, CUstream stream, CUcontext *context)                 \
    X(cuStreamIsCapturing, CUstream stream, CUstreamCaptureStatus *status) \
    X(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *mode)

struct driver {
#define FUNCTION(name, ...) CUresult (*name)(__VA_ARGS__);
    DRIVER_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* Lives for ever; NULL: the process has not loaded CUDA's driver, or one that is too old (before CUDA 10.1). */
const struct driver *driver_functions(void);

/* For tests: another one instead. NULL: the process's again. */
void driver_replace(const struct driver *driver);

/*
 * The context that is current on this thread, for events that are published without a CUDA call.
 */

struct gputrace_call;

/* Fills in CALL's context, its number and its device; leaves them as they are where none is current, or no CUDA. */
void current_context_find(struct gputrace_call *call);

#endif
