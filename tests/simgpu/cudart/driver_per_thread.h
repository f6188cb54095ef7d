/* The driver's calls for threads with default streams of their own, which cuda.h declares only for its own use. */
#ifndef SIMGPU_CUDART_DRIVER_PER_THREAD_H
#define SIMGPU_CUDART_DRIVER_PER_THREAD_H

#include <cupti.h>

#define DRIVER_STREAM_CALLS(X)              \
    X(cuMemcpyAsync)                        \
    X(cuMemcpyHtoDAsync_v2)                 \
    X(cuMemcpyDtoHAsync_v2)                 \
    X(cuMemcpyDtoDAsync_v2)                 \
    X(cuMemcpy2DAsync_v2)                   \
    X(cuMemcpy3DAsync_v2)                   \
    X(cuMemcpy3DPeerAsync)                  \
    X(cuMemcpyBatchAsync_v2)                \
    X(cuMemcpy3DBatchAsync_v2)              \
    X(cuMemsetD8Async)                      \
    X(cuMemsetD2D8Async)                    \
    X(cuMemAllocAsync)                      \
    X(cuMemAllocFromPoolAsync)              \
    X(cuMemFreeAsync)                       \
    X(cuMemPrefetchAsync_v2)                \
    X(cuStreamAttachMemAsync)               \
    X(cuStreamSynchronize)                  \
    X(cuStreamQuery)                        \
    X(cuStreamWaitEvent)                    \
    X(cuStreamAddCallback)                  \
    X(cuStreamGetPriority)                  \
    X(cuStreamGetFlags)                     \
    X(cuStreamGetId)                        \
    X(cuStreamGetDevice)                    \
    X(cuStreamBeginCapture_v2)              \
    X(cuStreamBeginCaptureToGraph)          \
    X(cuStreamEndCapture)                   \
    X(cuStreamIsCapturing)                  \
    X(cuStreamGetCaptureInfo_v3)            \
    X(cuStreamUpdateCaptureDependencies_v2) \
    X(cuEventRecord)                        \
    X(cuEventRecordWithFlags)               \
    X(cuLaunchKernel)                       \
    X(cuLaunchKernelEx)                     \
    X(cuLaunchCooperativeKernel)            \
    X(cuLaunchHostFunc)                     \
    X(cuGraphInstantiateWithParams)         \
    X(cuGraphUpload)                        \
    X(cuGraphLaunch)

#define DRIVER_SYNC_CALLS(X)  \
    X(cuMemcpy)               \
    X(cuMemcpyHtoD_v2)        \
    X(cuMemcpyDtoH_v2)        \
    X(cuMemcpyDtoD_v2)        \
    X(cuMemcpy2DUnaligned_v2) \
    X(cuMemcpy3D_v2)          \
    X(cuMemcpy3DPeer)         \
    X(cuMemsetD8_v2)          \
    X(cuMemsetD2D8_v2)

#define X(name) __typeof__(name) name##_ptsz;
DRIVER_STREAM_CALLS(X)
#undef X
#define X(name) __typeof__(name) name##_ptds;
DRIVER_SYNC_CALLS(X)
#undef X

/* Of earlier versions, which the runtime still calls. */
CUresult cuCtxSynchronize_v2(CUcontext ctx);

#endif
