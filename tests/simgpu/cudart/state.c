/* What the runtime keeps: each thread's device and last error, and the primary contexts. And the calls that are only
 * that. */
#include <pthread.h>

#include "core/device.h"
#include "cudart/runtime.h"

static _Thread_local struct {
    int device;
    cudaError_t last_error;
} thread;

static struct {
    pthread_mutex_t lock;
    CUcontext primaries[DEVICE_MOST];
} runtime = {.lock = PTHREAD_MUTEX_INITIALIZER};

cudaError_t runtime_begin(void)
{
    if (driver_started())
        return cudaSuccess;
    api_hide(); /* waits for the thread that initialises it, unless it is this one */
    CUresult result = cuInit(0);
    api_show();
    return (cudaError_t)result;
}

cudaError_t runtime_end(cudaError_t result)
{
    if (result != cudaSuccess && result != cudaErrorNotReady)
        thread.last_error = result;
    return result;
}

cudaError_t runtime_primary(int device, CUcontext *context)
{
    NEED(device >= 0 && device < device_count(), cudaErrorInvalidDevice);
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&runtime.lock);
    if (!runtime.primaries[device])
        result = cuDevicePrimaryCtxRetain(&runtime.primaries[device], device);
    *context = runtime.primaries[device];
    pthread_mutex_unlock(&runtime.lock);
    return (cudaError_t)result;
}

void runtime_forget(int device)
{
    pthread_mutex_lock(&runtime.lock);
    runtime.primaries[device] = NULL;
    pthread_mutex_unlock(&runtime.lock);
}

int runtime_device(void)
{
    CUdevice device = thread.device;
    CUcontext current = NULL;
    api_hide(); /* the real one keeps this itself */
    if (cuCtxGetCurrent(&current) == CUDA_SUCCESS && current)
        cuCtxGetDevice(&device);
    api_show();
    return device;
}

cudaError_t runtime_set_device(int device)
{
    CUcontext context;
    TRY(runtime_primary(device, &context));
    thread.device = device;
    return DRIVER(cuCtxSetCurrent(context));
}

cudaError_t runtime_need_context(void)
{
    CUcontext current = NULL;
    api_hide();
    cuCtxGetCurrent(&current);
    api_show();
    return current ? cudaSuccess : runtime_set_device(thread.device);
}

RUNTIME_API_0(, cudaGetLastError, v3020)
{
    cudaError_t error = thread.last_error;
    thread.last_error = cudaSuccess;
    return error;
}

RUNTIME_API_0(, cudaPeekAtLastError, v3020)
{
    return thread.last_error;
}

const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);

/* Errors that only the runtime has. X(what, said about it) */
#define RUNTIME_ERRORS(X)                                                   \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")      \
    X(cudaErrorInvalidSymbol, "invalid device symbol")                      \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy") \
    X(cudaErrorInvalidDeviceFunction, "invalid device function")            \
    X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")

/* The runtime's own names of errors that it shares with the driver. */
#define SHARED_ERRORS(X)                    \
    X(cudaSuccess)                          \
    X(cudaErrorInvalidValue)                \
    X(cudaErrorMemoryAllocation)            \
    X(cudaErrorInitializationError)         \
    X(cudaErrorNoDevice)                    \
    X(cudaErrorInvalidDevice)               \
    X(cudaErrorInvalidKernelImage)          \
    X(cudaErrorDeviceUninitialized)         \
    X(cudaErrorInvalidResourceHandle)       \
    X(cudaErrorIllegalState)                \
    X(cudaErrorSymbolNotFound)              \
    X(cudaErrorNotReady)                    \
    X(cudaErrorPeerAccessAlreadyEnabled)    \
    X(cudaErrorPeerAccessNotEnabled)        \
    X(cudaErrorHostMemoryAlreadyRegistered) \
    X(cudaErrorHostMemoryNotRegistered)     \
    X(cudaErrorCooperativeLaunchTooLarge)   \
    X(cudaErrorNotSupported)                \
    X(cudaErrorStreamCaptureUnsupported)    \
    X(cudaErrorStreamCaptureMerge)          \
    X(cudaErrorStreamCaptureUnmatched)      \
    X(cudaErrorStreamCaptureUnjoined)       \
    X(cudaErrorGraphExecUpdateFailure)      \
    X(cudaErrorUnknown)

API_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    switch ((int)error) {
#define X(what, said) \
    case what: return said;
        RUNTIME_ERRORS(X)
#undef X
    default: break;
    }
    const char *text = NULL;
    api_hide();
    cuGetErrorString((CUresult)error, &text);
    api_show();
    return text ? text : "unrecognized error code";
}

API_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    switch ((int)error) {
#define X(what, ...) \
    case what: return #what;
        RUNTIME_ERRORS(X)
        SHARED_ERRORS(X)
#undef X
    default: return "unrecognized error code";
    }
}
