/*
 * Loads the libraries that are called at run time: CUPTI, from 11.8 on, in the version that the process or the machine
 * has, and the libcuda that the process has loaded. Reads the versions of CUDA.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUPTI_LIBRARY_H
#define GPUTRACE_AGENT_CUPTI_CUPTI_LIBRARY_H

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * CUPTI, loaded at run time: the version that the process or the machine has, from 11.8 on.
 */

/* Functions that every CUPTI we work with has … */
#define CUPTI_FUNCTIONS(X)               \
    X(cuptiGetVersion)                   \
    X(cuptiSubscribe)                    \
    X(cuptiEnableCallback)               \
    X(cuptiGetResultString)              \
    X(cuptiActivityEnable)               \
    X(cuptiActivityDisable)              \
    X(cuptiActivityFlushAll)             \
    X(cuptiActivityGetNextRecord)        \
    X(cuptiActivityGetNumDroppedRecords) \
    X(cuptiActivityRegisterCallbacks)    \
    X(cuptiActivitySetAttribute)         \
    X(cuptiSetThreadIdType)              \
    X(cuptiGetContextId)                 \
    X(cuptiGetDeviceId)                  \
    X(cuptiGetStreamIdEx)

/* Functions that only newer versions of CUPTI have: NULL when missing. */
#define CUPTI_NEWER_FUNCTIONS(X)                  \
    X(cuptiGetCallbackState)                      \
    X(cuptiActivityEnableDriverApi)               \
    X(cuptiActivityEnableRuntimeApi)              \
    X(cuptiGetGraphNodeId)                        \
    X(cuptiGetGraphExecId)                        \
    X(cuptiActivityConfigureUnifiedMemoryCounter) \
    X(cuptiActivityEnableCudaEventDeviceTimestamps)

struct cupti {
#define FUNCTION(name) __typeof__(&(name)) name;
    CUPTI_FUNCTIONS(FUNCTION)
    CUPTI_NEWER_FUNCTIONS(FUNCTION)
#undef FUNCTION
    uint32_t version; /* as cuptiGetVersion returns it: 18 is CUDA 11.8, 130001 CUDA 13.0 */
    char path[512];   /* of the file it was loaded from */
};

/*
 * Loads CUPTI: PREFERRED (may be NULL), else the one that the process has loaded already, else the first that is found
 * (common/cupti.h). Returns it, or NULL; WHY (of SIZE bytes) then says in words for the user what was tried.
 * Once loaded it stays, also over a fork.
 */
const struct cupti *cupti_load(const char *preferred, char *why, size_t size);

/* CUPTI's own words for a result. */
const char *cupti_words(const struct cupti *cupti, CUptiResult result);

/*
 * The libcuda that the process has loaded, and the functions of it that the agent calls itself. The agent links with no
 * CUDA: a program without it is traced too.
 */

/* Names as libcuda exports them: cuda.h lets some stand for newer versions. Every driver since CUDA 10.1 has these … */
#define DRIVER_FUNCTIONS(X)                                                \
    X(cuCtxGetCurrent, CUcontext *context)                                 \
    X(cuCtxPushCurrent_v2, CUcontext context)                              \
    X(cuCtxPopCurrent_v2, CUcontext *context)                              \
    X(cuDriverGetVersion, int *version)                                    \
    X(cuEventCreate, CUevent *event, unsigned flags)                       \
    X(cuEventRecord, CUevent event, CUstream stream)                       \
    X(cuGraphGetNodes, CUgraph graph, CUgraphNode *nodes, size_t *count)   \
    X(cuStreamGetCtx, CUstream stream, CUcontext *context)                 \
    X(cuStreamIsCapturing, CUstream stream, CUstreamCaptureStatus *status) \
    X(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *mode)

/* Functions that only newer drivers have: NULL when missing. Pools came with 11.2, names with 12.3. */
#define DRIVER_NEWER_FUNCTIONS(X)                                                           \
    X(cuDeviceGetDefaultMemPool, CUmemoryPool *pool, CUdevice device)                       \
    X(cuMemPoolGetAttribute, CUmemoryPool pool, CUmemPool_attribute attribute, void *value) \
    X(cuFuncGetName, const char **name, CUfunction function)                                \
    X(cuKernelGetName, const char **name, CUkernel kernel)

struct driver {
#define FUNCTION(name, ...) CUresult (*name)(__VA_ARGS__);
    DRIVER_FUNCTIONS(FUNCTION)
    DRIVER_NEWER_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* Finds them once; they live for ever. NULL: no libcuda is loaded, or one that is older. May take the dynamic loader's
 * lock. */
const struct driver *driver_functions(void);
/* NULL also before they were found; takes no lock. */
const struct driver *driver_known(void);

/* For tests: DRIVER takes the place of the process's functions. NULL: these count again. */
void driver_replace(const struct driver *driver);

/*
 * Versions of the CUDA driver and of the CUDA runtime that the process has loaded.
 */

/* Each as 1000 * major + 10 * minor; 0 when it cannot be known, as of a runtime that is linked statically. */
void cuda_versions_read(int32_t *driver, int32_t *runtime);

#endif
