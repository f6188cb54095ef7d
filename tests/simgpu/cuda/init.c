/* The driver API: initialisation, errors, finding functions, the profiler's switch. */
#define DRIVER_CALLABLE true /* these may come before cuInit */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/api.h"
#include "core/driver.h"
#include "cuda/need.h"

enum { DRIVER_VERSION = 13000 };

DRIVER_API(cuInit)
{
    NEED_VALUE(p->Flags == 0);
    return driver_init();
}

DRIVER_API(cuDriverGetVersion)
{
    NEED_VALUE(p->driverVersion);
    *p->driverVersion = DRIVER_VERSION;
    return CUDA_SUCCESS;
}

DRIVER_API_0(cuProfilerStart)
{
    return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

DRIVER_API_0(cuProfilerStop)
{
    return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* X(what, said about it) */
#define ERRORS(X)                                                                                               \
    X(CUDA_SUCCESS, "no error")                                                                                 \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                             \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                                \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                                       \
    X(CUDA_ERROR_DEINITIALIZED, "driver shutting down")                                                         \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                               \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                                      \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                               \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                                     \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")                 \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "exclusive-thread device already in use by a different thread")        \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices")             \
    X(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed")                                                   \
    X(CUDA_ERROR_FILE_NOT_FOUND, "file not found")                                                              \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                                     \
    X(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state")                       \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                                           \
    X(CUDA_ERROR_NOT_READY, "device not ready")                                                                 \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                                   \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled")                                 \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled")                                   \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process")                   \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                                                  \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped") \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region")       \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch")                         \
    X(CUDA_ERROR_NOT_PERMITTED, "operation not permitted")                                                      \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                                      \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")                \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")         \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences")       \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began")              \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                                 \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,                                                                       \
      "operation would make the legacy stream depend on a capturing blocking stream")                           \
    X(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream")     \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,                                                                   \
      "attempt to terminate a thread-local capture sequence from another thread")                               \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update was not performed because it included changes")   \
    X(CUDA_ERROR_UNKNOWN, "unknown error")

DRIVER_API(cuGetErrorString)
{
    NEED_VALUE(p->pStr);
    switch ((int)p->error) {
#define X(what, said) \
    case what: *p->pStr = said; return CUDA_SUCCESS;
        ERRORS(X)
#undef X
    default: *p->pStr = NULL; return CUDA_ERROR_INVALID_VALUE;
    }
}

DRIVER_API(cuGetErrorName)
{
    NEED_VALUE(p->pStr);
    switch ((int)p->error) {
#define X(what, said) \
    case what: *p->pStr = #what; return CUDA_SUCCESS;
        ERRORS(X)
#undef X
    default: *p->pStr = NULL; return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Private tables of the real driver; the simulated one has none. */
DRIVER_API(cuGetExportTable)
{
    NEED_VALUE(p->ppExportTable);
    *p->ppExportTable = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

/* Names whose meaning changed with a version of CUDA: from then on the name stands for another symbol. */
static const struct {
    const char *name;
    int since;
    const char *symbol;
} renamed[] = {
    {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
    {"cuMemPrefetchAsync", 13000, "cuMemPrefetchAsync_v2"},
    {"cuMemAdvise", 13000, "cuMemAdvise_v2"},
    {"cuMemcpyBatchAsync", 13000, "cuMemcpyBatchAsync_v2"},
    {"cuMemcpy3DBatchAsync", 13000, "cuMemcpy3DBatchAsync_v2"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamUpdateCaptureDependencies", 12030, "cuStreamUpdateCaptureDependencies_v2"},
    {"cuGraphAddNode", 12030, "cuGraphAddNode_v2"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
};

/* SYMBOL itself, or with a thread's own default stream; NULL when there is none. */
static void *entry_find(const char *symbol, bool per_thread)
{
    static const char *const suffixes[] = {"_ptsz", "_ptds", ""};
    char name[256];
    void *found = NULL;
    Dl_info self;
    if (!dladdr((void *)(uintptr_t)cuInit, &self))
        return NULL;
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = per_thread ? 0 : 2; i < 3 && !found && library; i++) {
        snprintf(name, sizeof(name), "%s%s", symbol, suffixes[i]);
        found = dlsym(library, name);
    }
    if (library)
        dlclose(library);
    return found;
}

static void *entry_of_name(const char *symbol, int version, bool per_thread)
{
    static const char *const versions[] = {"_v3", "_v2", ""};
    for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
        if (strcmp(renamed[i].name, symbol) == 0 && version >= renamed[i].since)
            return entry_find(renamed[i].symbol, per_thread);
    char name[200];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", symbol, versions[i]);
        void *found = entry_find(name, per_thread);
        if (found)
            return found;
    }
    return NULL;
}

DRIVER_API(cuGetProcAddress_v2)
{
    NEED_VALUE(p->symbol && p->pfn);
    *p->pfn = entry_of_name(p->symbol, p->cudaVersion, p->flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    if (p->symbolStatus)
        *p->symbolStatus = *p->pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *p->pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
