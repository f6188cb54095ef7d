/*
 * Finds the driver's functions, enters a device's context, finds out whether a stream is being captured, and orders one
 * stream after another by an event.
 */
#include "allocator/gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <gputrace/callbacks.h>

#include "common/log.h"

/* --- the driver --- */

static struct {
    pthread_mutex_t lock; /* guards `found` and `warned` */
    struct cuda_calls found;
    const struct cuda_calls *calls; /* NULL until they are found */
    bool warned;
} libcuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the name of the first function that the driver lacks, or NULL if it has all. */
static const char *resolve(void *library, struct cuda_calls *calls)
{
    const char *missing = NULL;
#define CALL(name, ...)                                           \
    calls->name = (__typeof__(calls->name))dlsym(library, #name); \
    if (!calls->name && !missing)                                 \
        missing = #name;
    CUDA_CALLS(CALL)
#undef CALL
    return missing;
}

static const struct cuda_calls *fail(const char *why)
{
    pthread_mutex_lock(&libcuda.lock);
    bool first = !libcuda.warned;
    libcuda.warned = true;
    pthread_mutex_unlock(&libcuda.lock);
    if (first)
        warning("the allocator has no memory to give: %s", why);
    return NULL;
}

const struct cuda_calls *cuda_calls(void)
{
    const struct cuda_calls *known = __atomic_load_n(&libcuda.calls, __ATOMIC_ACQUIRE);
    if (known)
        return known;
    /* Called without the lock: the dynamic loader and the driver have locks of their own, and may call the allocator.
     */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    struct cuda_calls calls;
    if (!library)
        return fail("there is no CUDA driver (libcuda.so.1)");
    if (resolve(library, &calls))
        return fail("CUDA's driver is older than 11.3");
    if (calls.cuInit(0) != CUDA_SUCCESS)
        return fail("CUDA's driver does not start (cuInit); 'gputrace doctor' says more");
    pthread_mutex_lock(&libcuda.lock);
    if (!libcuda.calls) {
        libcuda.found = calls;
        __atomic_store_n(&libcuda.calls, &libcuda.found, __ATOMIC_RELEASE);
    }
    known = libcuda.calls;
    pthread_mutex_unlock(&libcuda.lock);
    return known;
}

void cuda_calls_replace(const struct cuda_calls *calls)
{
    __atomic_store_n(&libcuda.calls, calls, __ATOMIC_RELEASE);
}

/* --- contexts and captures --- */

bool gpu_enter(const struct gpu *gpu, struct gpu_scope *scope)
{
    const struct cuda_calls *cuda = gpu->cuda;
    CUcontext current = NULL;
    CUdevice device = -1;
    scope->pushed = false;
    if (cuda->cuCtxGetCurrent(&current) != CUDA_SUCCESS)
        return false;
    if (current == gpu->context)
        return true;
    if (!current)
        return cuda->cuCtxSetCurrent(gpu->context) == CUDA_SUCCESS;
    if (cuda->cuCtxGetDevice(&device) == CUDA_SUCCESS && device == gpu->device)
        return true; /* the current context is one that the program created */
    scope->pushed = cuda->cuCtxPushCurrent_v2(gpu->context) == CUDA_SUCCESS;
    return scope->pushed;
}

void gpu_leave(const struct gpu *gpu, const struct gpu_scope *scope)
{
    CUcontext popped;
    if (scope->pushed)
        gpu->cuda->cuCtxPopCurrent_v2(&popped);
}

struct gpu_relaxed gpu_relax(const struct cuda_calls *cuda)
{
    struct gpu_relaxed relaxed = {.cuda = cuda, .before = CU_STREAM_CAPTURE_MODE_RELAXED};
    relaxed.done = cuda->cuThreadExchangeStreamCaptureMode(&relaxed.before) == CUDA_SUCCESS;
    return relaxed;
}

void gpu_unrelax(struct gpu_relaxed *relaxed)
{
    if (relaxed->done)
        relaxed->cuda->cuThreadExchangeStreamCaptureMode(&relaxed->before);
}

struct capture gpu_capture(const struct gpu *gpu, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    struct capture capture = {0};
    cuuint64_t id = 0;
    CUgraph graph = NULL;
    CUresult result = gpu->cuda->cuStreamIsCapturing(stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) { /* the legacy default stream waits for a captured stream */
        capture.active = true;
        return capture;
    }
    if (result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE)
        return capture;
    capture.active = true;
    result = gpu->cuda->cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, NULL, NULL);
    if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        capture.id = id;
        capture.graph = graph;
    }
    return capture;
}

/* --- the agent --- */

static struct {
    bool known; /* `host` is set, possibly to NULL */
    const struct gputrace_host *host;
} agent;

const struct gputrace_host *gpu_host(void)
{
    if (__atomic_load_n(&agent.known, __ATOMIC_ACQUIRE))
        return agent.host;
    /* No lock is held while the agent is asked. Threads that ask at the same time get equal answers. */
    gpu_host_replace(gputrace_own_host());
    return agent.host;
}

void gpu_host_replace(const struct gputrace_host *host)
{
    __atomic_store_n(&agent.host, host, __ATOMIC_RELAXED);
    __atomic_store_n(&agent.known, true, __ATOMIC_RELEASE);
}

/* --- order between streams --- */

/* Creates an event in CONTEXT, or a stream in the primary context; the other pointer is NULL. Sets *EVENT or *STREAM to
 * NULL on failure. */
static void create(const struct gpu *gpu, CUcontext context, CUevent *event, CUstream *stream)
{
    CUcontext popped;
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    struct gpu_relaxed relaxed = gpu_relax(gpu->cuda);
    if (gpu->cuda->cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {
        result = event ? gpu->cuda->cuEventCreate(event, CU_EVENT_DISABLE_TIMING)
                       : gpu->cuda->cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
        gpu->cuda->cuCtxPopCurrent_v2(&popped);
    }
    gpu_unrelax(&relaxed);
    if (result != CUDA_SUCCESS && event)
        *event = NULL;
    else if (result != CUDA_SUCCESS)
        *stream = NULL;
}

static bool order_by_event(struct gpu *gpu, CUstream first, CUstream then)
{
    CUcontext context = NULL;
    if (gpu->cuda->cuStreamGetCtx(first, &context) != CUDA_SUCCESS)
        return false;
    /* Uses the agent's events, whose creation is not in the trace. */
    const struct gputrace_host *host = gpu_host();
    const struct gputrace_cached_event *cached = gputrace_event_take(host, context, 0);
    CUevent event = cached ? cached->event : NULL;
    bool kept = !cached && context == gpu->context; /* only the primary context lives on, so only its events are kept */
    for (unsigned i = 0; i < GPU_EVENTS && kept && !event; i++)
        event = __atomic_exchange_n(&gpu->events[i], NULL, __ATOMIC_ACQUIRE);
    if (!event && !cached)
        create(gpu, context, &event, NULL);
    bool done = event && gpu->cuda->cuEventRecord(event, first) == CUDA_SUCCESS &&
                gpu->cuda->cuStreamWaitEvent(then, event, 0) == CUDA_SUCCESS;
    if (cached) {
        gputrace_event_give_back(host, cached);
        return done;
    }
    for (unsigned i = 0; i < GPU_EVENTS && kept && done; i++) {
        CUevent none = NULL;
        if (__atomic_compare_exchange_n(&gpu->events[i], &none, event, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return true;
    }
    if (event)
        gpu->cuda->cuEventDestroy_v2(event); /* CUDA frees the event when the streams that wait for it have passed it */
    return done;
}

void gpu_order(struct gpu *gpu, CUstream first, CUstream then)
{
    if (first != then && !order_by_event(gpu, first, then))
        gpu->cuda->cuStreamSynchronize(first); /* memory in use must not be allocated again */
}

CUstream gpu_stream(const struct gpu *gpu, CUstream *place)
{
    CUstream stream = __atomic_load_n(place, __ATOMIC_ACQUIRE), none = NULL;
    if (stream)
        return stream;
    create(gpu, gpu->context, NULL, &stream); /* in the primary context, which lives longest */
    if (!stream || __atomic_compare_exchange_n(place, &none, stream, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return stream;
    gpu->cuda->cuStreamDestroy_v2(stream); /* another thread created it first */
    return none;
}
