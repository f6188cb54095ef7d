/*
 * The driver's functions that the allocator calls, and what it needs of one device: a current context, whether a stream
 * is being captured, order between streams. Nothing here takes a heap's lock.
 *
 * The library links with no CUDA library: it looks for the driver in the libcuda that the process has loaded, or that
 * the dynamic loader finds.
 */
#ifndef GPUTRACE_ALLOCATOR_GPU_H
#define GPUTRACE_ALLOCATOR_GPU_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct gputrace_host;

/* --- the driver --- */

/* Names as libcuda exports them: cuda.h defines some as macros for newer versions. CUDA 11.3 has all of them. */
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
    X(cuEventCreate, CUevent *event, unsigned flags)                                                               \
    X(cuEventDestroy_v2, CUevent event)                                                                            \
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

/* The functions; the first call finds them and initialises the driver. Valid for ever. NULL, after one warning that
 * says why: there is no driver, it is older than CUDA 11.3, or it does not start. */
const struct cuda_calls *cuda_calls(void);

/* For tests: replaces them. NULL: the next call looks for the driver again. */
void cuda_calls_replace(const struct cuda_calls *calls);

/* --- a device --- */

#define GPU_EVENTS 8

struct gpu {
    int device;
    const struct cuda_calls *cuda;
    CUcontext context;     /* the device's primary one */
    CUstream alloc_stream; /* own streams, created at their first use: memory for captures is allocated in this one … */
    CUstream free_stream;  /* … and memory that graphs held is freed in this one */
    CUevent events[GPU_EVENTS]; /* of the primary context, unused; only without an agent (libgputrace.so) */
};

/* Makes a context of the device current for this thread unless one is: the primary one, as CUDA's runtime does. It
 * stays current when there was none. False: CUDA does not work (any more); then do not call gpu_leave(). */
struct gpu_scope {
    bool pushed;
};
bool gpu_enter(const struct gpu *gpu, struct gpu_scope *scope);
void gpu_leave(const struct gpu *gpu, const struct gpu_scope *scope);

/* In between, this thread may make calls that captures in progress forbid: they do not concern the captures. */
struct gpu_relaxed {
    const struct cuda_calls *cuda;
    CUstreamCaptureMode before;
    bool done;
};
struct gpu_relaxed gpu_relax(const struct cuda_calls *cuda);
void gpu_unrelax(struct gpu_relaxed *relaxed);

struct capture {
    bool active; /* everything that is put into the stream is captured */
    uint64_t
        id; /* unique in the process; 0: the capture is broken, or it is that of a stream that this one waits for */
    CUgraph graph; /* that is being made; NULL: as for `id` */
};
struct capture gpu_capture(const struct gpu *gpu, CUstream stream);

/* THEN continues when the work that FIRST has by now is done. Neither is being captured. The host waits only if there
 * is no event. */
void gpu_order(struct gpu *gpu, CUstream first, CUstream then);

/* The stream in *PLACE, which is a member of GPU: created at the first call. NULL: the driver creates none. */
CUstream gpu_stream(const struct gpu *gpu, CUstream *place);

/* --- tracing --- */

/* The program's host (callbacks.h) of the agent that traces this process; NULL: the process is not traced. Looked for
 * at the first call. */
const struct gputrace_host *gpu_host(void);

/* For tests: replaces it. NULL: the process is not traced. */
void gpu_host_replace(const struct gputrace_host *host);

#endif
