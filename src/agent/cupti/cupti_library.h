/*
 * Loads the libraries that are called at run time: CUPTI, from 11.8 on, in the version that the process or the machine
 * has, and the libcuda that the process has loaded. Asks them for versions, and for the numbers of contexts and streams.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUPTI_LIBRARY_H
#define GPUTRACE_AGENT_CUPTI_CUPTI_LIBRARY_H

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"

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

/* Reads the versions of the CUDA driver and of the CUDA runtime that the process has loaded, each as 1000 * major + 10 * minor; 0 when it cannot be known, as of a runtime that is linked statically. */
void cuda_versions_read(int32_t *driver, int32_t *runtime);

/*
 * CUPTI's numbers of contexts, devices and streams, as its records have them.
 *
 * To ask CUPTI takes longer than the rest of a callback, so each thread remembers the answers: for a context until
 * the thread's calls are in another one, of a stream until any stream of the process goes.
 */

/* Streams that a thread remembers at once. */
#define CUPTI_IDS_STREAMS 8u

/* The answers of one thread; zero: none. */
struct cupti_ids {
    struct CUctx_st *context; /* NULL: none */
    uint32_t uid;             /* its own among all contexts that there ever were */
    uint32_t id, device;
    struct {
        uint64_t stream;
        uint32_t uid; /* its context's; 0: none */
        uint32_t round;
        uint32_t id;
    } streams[CUPTI_IDS_STREAMS];
};

void cupti_ids_init(const struct cupti *cupti);
/* In a forked child: CUPTI is not to be asked, and the streams are the parent's. What threads remember is theirs to
 * forget. */
void cupti_ids_atfork_child(void);

/* Fills in CALL's context, its number and its device. */
void cupti_ids_of_context(struct CUctx_st *context, struct gputrace_call *call);

/* Fills them in for a call of the thread that MINE belongs to. UID: CUpti_CallbackData.contextUid; 0: not known. */
void cupti_ids_ask(struct cupti_ids *mine, struct CUctx_st *context, uint32_t uid);
static inline void cupti_ids_of_call(struct cupti_ids *mine, struct CUctx_st *context, uint32_t uid,
                                     struct gputrace_call *call)
{
    if (mine->context != context || mine->uid != uid || uid == 0)
        cupti_ids_ask(mine, context, uid);
    call->context = context;
    call->context_id = mine->id;
    call->device = mine->device;
}

/* The number of a stream of the program (CUstream or cudaStream_t as an integer) in its context (0: the thread's), or
 * GPUTRACE_NO_STREAM. Streams 0 and 1 are the legacy default stream, 2 is the thread's own. */
uint32_t cupti_stream_id(uint64_t context, uint64_t stream);

/* Returns the number of a stream that exists, in the context of CALL, which cupti_ids_of_call() has filled in. */
uint32_t cupti_ids_of_stream(struct cupti_ids *mine, const struct gputrace_call *call,
                             const struct CUstream_st *stream);

/* The kinds whose callers ask for streams: while they are wanted CUPTI has to report each stream that is destroyed. */
#define CUPTI_IDS_KINDS                                                                             \
    (REGISTRY_BIT(event_record) | REGISTRY_BIT(event_wait) | REGISTRY_BIT(stream_synchronization) | \
     REGISTRY_BIT(memory_allocation) | REGISTRY_BIT(memory_allocation_failure) | REGISTRY_BIT(memory_deallocation))

/* A stream was destroyed, or may have been without a report: all threads ask anew. */
void cupti_ids_forget_streams(void);

/*
 * Streams that the program created and has not destroyed. CUPTI also reports streams that CUDA created for itself, when
 * their context is destroyed.
 */

void own_streams_add(const struct CUstream_st *stream);

/* Returns whether it was one of them. */
bool own_streams_remove(const struct CUstream_st *stream);

#endif
