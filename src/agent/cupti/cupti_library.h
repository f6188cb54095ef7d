/*
 * Loads the libraries that are called at run time: CUPTI, from 11.8 on, in the version that the process or the machine
 * has, and the libcuda that the process has loaded. Also finds out versions, and numbers of contexts and streams.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUPTI_LIBRARY_H
#define GPUTRACE_AGENT_CUPTI_CUPTI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "common/cuda_headers.h"

/* Functions that every supported CUPTI has. */
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

/* Functions that only newer versions of CUPTI have; NULL if missing. */
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
    uint32_t version; /* as from cuptiGetVersion: 18 is CUDA 11.8, 130001 CUDA 13.0 */
    char path[512];   /* of the file that CUPTI was loaded from */
};

/*
 * Loads CUPTI: PREFERRED (may be NULL), else the one that the process has loaded already, else the first that is found
 * (common/cupti.h). Returns NULL if that fails; WHY (SIZE bytes) then has a message for the user. CUPTI stays loaded,
 * also over a fork.
 */
const struct cupti *cupti_load(const char *preferred, char *why, size_t size);

/* Returns CUPTI's text for a result. */
const char *cupti_words(const struct cupti *cupti, CUptiResult result);

/*
 * The libcuda that the process has loaded, and its functions that the agent calls. The agent does not link CUDA, so
 * that a program without CUDA is traced, too.
 */

/* Functions that every driver since CUDA 10.1 has. The names are those that libcuda exports, because macros of cuda.h
 * replace some by newer versions. */
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

/* Functions that only newer drivers have; NULL if missing. Pools came with 11.2, names with 12.3. */
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

/* Returns the functions, resolved once; they live for ever. Returns NULL if no libcuda is loaded, or an older one. May
 * take the dynamic loader's lock. */
const struct driver *driver_functions(void);
/* Returns the functions, or NULL if driver_functions() has not resolved them yet. Takes no lock. */
const struct driver *driver_known(void);

/* For tests: DRIVER replaces the process's functions; NULL restores them. */
void driver_replace(const struct driver *driver);

/* Reads the versions of the CUDA driver and of the CUDA runtime that the process has loaded, each as 1000 * major + 10
 * * minor, or 0 if unknown, for example of a runtime that is linked statically. */
void cuda_versions_read(int32_t *driver, int32_t *runtime);

/*
 * CUPTI's numbers of contexts, devices and streams, as in its records.
 *
 * Asking CUPTI takes longer than the rest of a callback, so each thread remembers the answers: for one context, until
 * the thread makes a call in another one; for streams, until any stream of the process is destroyed.
 */

/* Number of streams that a thread remembers. */
#define CUPTI_IDS_STREAMS 8u

/* The answers that one thread remembers; all zero if there are none. */
struct cupti_ids {
    struct CUctx_st *context; /* NULL if none is remembered */
    uint32_t uid;             /* CUPTI's unique number of the context, never reused */
    uint32_t id, device;
    struct {
        uint64_t stream;
        uint32_t uid; /* `uid` of the stream's context; 0: the element is empty */
        uint32_t round;
        uint32_t id;
    } streams[CUPTI_IDS_STREAMS];
};

void cupti_ids_init(const struct cupti *cupti);
/* In a forked child: stops asking CUPTI, and forgets the parent's streams. Each thread's cupti_ids become outdated. */
void cupti_ids_atfork_child(void);

/* Fills in the context of CALL with its number and its device. */
void cupti_ids_of_context(struct CUctx_st *context, struct gputrace_call *call);

/* Asks CUPTI for CONTEXT, and remembers the answers in MINE, this thread's. UID is CUpti_CallbackData.contextUid, 0 if
 * unknown. */
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

/* Returns the number of a stream of the program (CUstream or cudaStream_t as an integer) in CONTEXT (0: the thread's),
 * or GPUTRACE_NO_STREAM. Streams 0 and 1 are the legacy default stream, 2 is the thread's own. */
uint32_t cupti_stream_id(uint64_t context, uint64_t stream);

/* Returns the number of an existing stream in the context of CALL, which cupti_ids_of_call() has filled in. */
uint32_t cupti_ids_of_stream(struct cupti_ids *mine, const struct gputrace_call *call,
                             const struct CUstream_st *stream);

/* The kinds whose publishers ask for streams: while these kinds are wanted, CUPTI must report each destroyed stream. */
#define CUPTI_IDS_KINDS                                                                             \
    (REGISTRY_BIT(event_record) | REGISTRY_BIT(event_wait) | REGISTRY_BIT(stream_synchronization) | \
     REGISTRY_BIT(memory_allocation) | REGISTRY_BIT(memory_allocation_failure) | REGISTRY_BIT(memory_deallocation))

/* Outdates the streams that threads remember, because a stream was, or may have been, destroyed. */
void cupti_ids_forget_streams(void);

/*
 * Streams that the program created and has not destroyed. CUPTI also reports streams that CUDA created for itself, when
 * their context is destroyed.
 */

void own_streams_add(const struct CUstream_st *stream);

/* Removes the stream. Returns whether it was in the set. */
bool own_streams_remove(const struct CUstream_st *stream);

#endif
