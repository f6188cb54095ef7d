/*
 * The driver's functions that the allocator calls, and functions for one device: a current context, whether a stream is
 * being captured, order between streams. Nothing here takes a heap's lock.
 *
 * The library links no CUDA library: it uses the libcuda that the process has loaded, or that the dynamic loader finds.
 */
#ifndef GPUTRACE_ALLOCATOR_GPU_H
#define GPUTRACE_ALLOCATOR_GPU_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct gputrace_host;

/* --- the driver --- */

/* The names are those that libcuda exports, because macros of cuda.h replace some by newer versions. CUDA 11.3 has all
 * of them. */
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

/* Returns the functions, valid for ever; the first call finds them and initialises the driver. Returns NULL, with one
 * warning, if there is no driver, if it is older than CUDA 11.3, or if it does not start. */
const struct cuda_calls *cuda_calls(void);

/* For tests: CALLS replaces the driver's functions. NULL: the next call of cuda_calls() looks for the driver again. */
void cuda_calls_replace(const struct cuda_calls *calls);

/* --- a device --- */

#define GPU_EVENTS 8

struct gpu {
    int device;
    const struct cuda_calls *cuda;
    CUcontext context;          /* the device's primary context */
    CUstream alloc_stream;      /* own stream for allocating memory for captures, created at the first use */
    CUstream free_stream;       /* own stream for freeing memory that graphs held, created at the first use */
    CUevent events[GPU_EVENTS]; /* unused events of the primary context; only used without an agent (libgputrace.so) */
};

/* Makes a context of the device current on this thread unless one is. That is the primary context, as with CUDA's
 * runtime. It stays current if no context was current before. Returns false if CUDA does not work (any more); then do
 * not call gpu_leave(). */
struct gpu_scope {
    bool pushed;
};
bool gpu_enter(const struct gpu *gpu, struct gpu_scope *scope);
void gpu_leave(const struct gpu *gpu, const struct gpu_scope *scope);

/* Between the two calls this thread may make calls that captures in progress forbid. The allocator's calls do not
 * concern the captures. */
struct gpu_relaxed {
    const struct cuda_calls *cuda;
    CUstreamCaptureMode before;
    bool done;
};
struct gpu_relaxed gpu_relax(const struct cuda_calls *cuda);
void gpu_unrelax(struct gpu_relaxed *relaxed);

struct capture {
    bool active;   /* all work put into the stream is captured */
    uint64_t id;   /* unique in the process; 0: the capture is broken, or is that of a stream that this one waits for */
    CUgraph graph; /* the graph being made; NULL if id is 0 */
};
struct capture gpu_capture(const struct gpu *gpu, CUstream stream);

/* Makes THEN wait for the work that FIRST has now. Neither stream may be in a capture. The host waits only if no event
 * can be created. */
void gpu_order(struct gpu *gpu, CUstream first, CUstream then);

/* Returns the stream in *PLACE, a member of GPU, which is created at the first call. Returns NULL if the driver fails.
 */
CUstream gpu_stream(const struct gpu *gpu, CUstream *place);

/* --- tracing --- */

/* Returns the program's host (callbacks.h) in the agent that traces this process, or NULL if the process is not traced.
 * Looks for the agent at the first call. */
const struct gputrace_host *gpu_host(void);

/* For tests: replaces the host. NULL: the process is not traced. */
void gpu_host_replace(const struct gputrace_host *host);

#endif
