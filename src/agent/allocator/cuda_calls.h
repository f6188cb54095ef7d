/*
 * The functions of CUDA's driver that the allocator calls. The library links with no CUDA: they are looked for in the
 * libcuda that the process has loaded, or that its loader finds.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_CUDA_CALLS_H
#define GPUTRACE_AGENT_ALLOCATOR_CUDA_CALLS_H

#include <cuda.h>

/* Names as libcuda exports them: cuda.h lets some stand for newer versions. All are there since CUDA 11.3. */
#define CUDA_CALLS(X)                                                                                              \
    X(cuInit, unsigned flags)                                                                                      \
    X(cuDeviceGet, CUdevice *device, int ordinal)                                                                  \
    X(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)                                                         \
    X(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device)                                               \
    X(cuDevicePrimaryCtxRelease_v2, CUdevice device)                                                               \
    X(cuCtxGetCurrent, CUcontext *context)                                                                         \
    X(cuCtxGetDevice, CUdevice *device)                                                                            \
    X(cuCtxSetCurrent, CUcontext context)                                                                          \
    X(cuCtxPushCurrent_v2, CUcontext context)                                                                      \
    X(cuCtxPopCurrent_v2, CUcontext *context)                                                                      \
    X(cuMemPoolCreate, CUmemoryPool *pool, const CUmemPoolProps *properties)                                       \
    X(cuMemPoolDestroy, CUmemoryPool pool)                                                                         \
    X(cuMemPoolTrimTo, CUmemoryPool pool, size_t keep)                                                             \
    X(cuMemPoolSetAttribute, CUmemoryPool pool, CUmemPool_attribute attribute, void *value)                        \
    X(cuMemPoolGetAttribute, CUmemoryPool pool, CUmemPool_attribute attribute, void *value)                        \
    X(cuMemPoolSetAccess, CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)                          \
    X(cuMemAllocFromPoolAsync, CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)             \
    X(cuMemFreeAsync, CUdeviceptr pointer, CUstream stream)                                                        \
    X(cuStreamCreate, CUstream *stream, unsigned flags)                                                            \
    X(cuStreamDestroy_v2, CUstream stream)                                                                         \
    X(cuStreamSynchronize, CUstream stream)                                                                        \
    X(cuStreamGetCtx, CUstream stream, CUcontext *context)                                                         \
    X(cuStreamIsCapturing, CUstream stream, CUstreamCaptureStatus *status)                                         \
    X(cuStreamGetCaptureInfo_v2, CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,   \
      const CUgraphNode **dependencies, size_t *count)                                                             \
    X(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *mode)                                                \
    X(cuEventRecord, CUevent event, CUstream stream)                                                               \
    X(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned flags)                                           \
    X(cuUserObjectCreate, CUuserObject *object, void *data, CUhostFn destroy, unsigned references, unsigned flags) \
    X(cuUserObjectRelease, CUuserObject object, unsigned count)                                                    \
    X(cuGraphRetainUserObject, CUgraph graph, CUuserObject object, unsigned count, unsigned flags)

struct cuda_calls {
#define CALL(name, ...) CUresult (*name)(__VA_ARGS__);
    CUDA_CALLS(CALL)
#undef CALL
};

/* Found once, and the driver initialised; lives for ever. NULL: there is no driver, or one before CUDA 11.3, or it does
 * not start; the user is told why, once. */
const struct cuda_calls *cuda_calls(void);

/* For tests: others instead. NULL: look for the process's own again. */
void cuda_calls_replace(const struct cuda_calls *calls);

#endif
