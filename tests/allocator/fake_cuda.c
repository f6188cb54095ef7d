#include "tests/allocator/fake_cuda.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX 65536
#define FIRST_ADDRESS UINT64_C(0x7000000000)
#define STEP UINT64_C(0x100000)

struct CUctx_st {
    int device;
};

struct CUmemPoolHandle_st {
    int device;
    unsigned number;
    bool gone;
};

struct CUuserObject_st {
    void *data;
    CUhostFn destroy;
    struct CUuserObject_st *next; /* of its graph */
};

struct fake_cuda_says fake_cuda_says;

static struct {
    pthread_mutex_t lock;
    bool quiet;
    char asked[16384];
    size_t length;
    int devices;
    size_t used[FAKE_DEVICES];
    size_t bytes[BLOCKS_MAX]; /* of blocks given out; 0: it is free */
    int device[BLOCKS_MAX];
    unsigned freed[BLOCKS_MAX], freed_count, made; /* a stack */
    unsigned pools, pools_alive, streams, wrong_frees;
    CUstreamCaptureStatus status[FAKE_STREAMS];
    uint64_t capture[FAKE_STREAMS];
    unsigned graph[FAKE_STREAMS];
    bool implicit;
    CUuserObject objects[FAKE_GRAPHS];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct CUctx_st primaries[FAKE_DEVICES], others[FAKE_DEVICES];
static __thread struct {
    CUcontext stack[8];
    unsigned count;
    CUstreamCaptureMode mode;
} thread;

/* --- what was asked --- */

static void ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void ask(const char *format, ...)
{
    va_list args;
    if (fake.quiet)
        return;
    va_start(args, format);
    fake.length += (size_t)vsnprintf(fake.asked + fake.length, sizeof(fake.asked) - fake.length, format, args);
    va_end(args);
    if (fake.length >= sizeof(fake.asked))
        abort();
}

const char *fake_cuda_asked(void)
{
    static char text[sizeof(fake.asked)];
    pthread_mutex_lock(&fake.lock);
    memcpy(text, fake.asked, fake.length);
    text[fake.length] = '\0';
    fake.length = 0;
    pthread_mutex_unlock(&fake.lock);
    return text;
}

static unsigned number_of(CUstream stream)
{
    return (unsigned)(uintptr_t)stream;
}

/* --- devices and contexts --- */

static CUresult fake_cuInit(unsigned flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult fake_cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < FAKE_DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult fake_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = FAKE_DEVICE_BYTES;
    return CUDA_SUCCESS;
}

static CUresult fake_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = fake_cuda_primary(device);
    return CUDA_SUCCESS;
}

static CUresult fake_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

static CUresult fake_cuCtxGetCurrent(CUcontext *context)
{
    *context = fake_cuda_current();
    return CUDA_SUCCESS;
}

static CUresult fake_cuCtxGetDevice(CUdevice *device)
{
    CUcontext current = fake_cuda_current();
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = current->device;
    return CUDA_SUCCESS;
}

static CUresult fake_cuCtxSetCurrent(CUcontext context)
{
    fake_cuda_enter(context);
    return CUDA_SUCCESS;
}

static CUresult fake_cuCtxPushCurrent_v2(CUcontext context)
{
    thread.stack[thread.count++] = context;
    return CUDA_SUCCESS;
}

static CUresult fake_cuCtxPopCurrent_v2(CUcontext *context)
{
    *context = thread.stack[--thread.count];
    return CUDA_SUCCESS;
}

CUcontext fake_cuda_current(void)
{
    return thread.count ? thread.stack[thread.count - 1] : NULL;
}

void fake_cuda_enter(CUcontext context)
{
    thread.count = context ? 1 : 0;
    thread.stack[0] = context;
}

CUcontext fake_cuda_primary(int device)
{
    return &primaries[device];
}

CUcontext fake_other_context(int device)
{
    return &others[device];
}

/* --- memory --- */

static CUresult fake_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    if (fake_cuda_says.create_pool)
        return fake_cuda_says.create_pool;
    pthread_mutex_lock(&fake.lock);
    *pool = calloc(1, sizeof(**pool));
    (*pool)->device = properties->location.id;
    (*pool)->number = ++fake.pools;
    fake.pools_alive++;
    ask("pool %u\n", (*pool)->number);
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemPoolDestroy(CUmemoryPool pool)
{
    pthread_mutex_lock(&fake.lock);
    ask("destroy pool %u\n", pool->number);
    fake.pools_alive--;
    pthread_mutex_unlock(&fake.lock);
    free(pool);
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    pthread_mutex_lock(&fake.lock);
    ask("trim pool %u to %zu\n", pool->number, keep);
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    pthread_mutex_lock(&fake.lock);
    ask("set %d of pool %u to %llx\n", (int)attribute, pool->number, *(unsigned long long *)value);
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    *(cuuint64_t *)value = (cuuint64_t)attribute * 1000 + pool->number;
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    pthread_mutex_lock(&fake.lock);
    ask("let %d into pool %u\n", access->location.id, pool->number);
    pthread_mutex_unlock(&fake.lock);
    return count == 1 && access->location.id != pool->device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult give_out(CUdeviceptr *pointer, size_t bytes, int device)
{
    if (bytes > FAKE_DEVICE_BYTES - fake.used[device])
        return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned block = fake.freed_count ? fake.freed[--fake.freed_count] : fake.made++;
    if (block >= BLOCKS_MAX)
        abort();
    fake.bytes[block] = bytes;
    fake.device[block] = device;
    fake.used[device] += bytes;
    *pointer = FIRST_ADDRESS + block * STEP;
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    pthread_mutex_lock(&fake.lock);
    ask("alloc %zu from pool %u in %u%s\n", bytes, pool->number, number_of(stream),
        thread.mode == CU_STREAM_CAPTURE_MODE_RELAXED ? " relaxed" : "");
    CUcontext current = fake_cuda_current();
    CUresult result = fake_cuda_says.allocate                       ? fake_cuda_says.allocate
                      : !current || current->device != pool->device ? CUDA_ERROR_INVALID_CONTEXT
                                                                    : give_out(pointer, bytes, pool->device);
    pthread_mutex_unlock(&fake.lock);
    return result;
}

static CUresult fake_cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
    uint64_t block = (pointer - FIRST_ADDRESS) / STEP;
    pthread_mutex_lock(&fake.lock);
    ask("free %u in %u\n", (unsigned)block + 1, number_of(stream));
    bool valid = block < BLOCKS_MAX && fake.bytes[block] > 0;
    if (fake_cuda_says.free) {
        pthread_mutex_unlock(&fake.lock);
        return fake_cuda_says.free;
    }
    if (valid) {
        fake.used[fake.device[block]] -= fake.bytes[block];
        fake.bytes[block] = 0;
        fake.freed[fake.freed_count++] = (unsigned)block;
    }
    fake.wrong_frees += !valid;
    pthread_mutex_unlock(&fake.lock);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

size_t fake_cuda_bytes(int device)
{
    pthread_mutex_lock(&fake.lock);
    size_t bytes = fake.used[device];
    pthread_mutex_unlock(&fake.lock);
    return bytes;
}

unsigned fake_cuda_wrong_frees(void)
{
    return fake.wrong_frees;
}

unsigned fake_cuda_pools(void)
{
    return fake.pools_alive;
}

/* --- streams and events --- */

/* Streams of the allocator's own: 40, 41 … */
static CUresult fake_cuStreamCreate(CUstream *stream, unsigned flags)
{
    pthread_mutex_lock(&fake.lock);
    *stream = fake_stream_of(40 + fake.streams++);
    ask("stream %u flags %u\n", number_of(*stream), flags);
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

static CUresult fake_cuStreamDestroy_v2(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult fake_cuStreamSynchronize(CUstream stream)
{
    pthread_mutex_lock(&fake.lock);
    ask("synchronize %u\n", number_of(stream));
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

static CUresult fake_cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    (void)stream;
    *context = fake_cuda_current();
    return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult fake_cuEventCreate(CUevent *event, unsigned flags)
{
    static uintptr_t made;
    if (flags != CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_VALUE;
    *event = (CUevent)__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

static CUresult fake_cuEventDestroy_v2(CUevent event)
{
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_cuEventRecord(CUevent event, CUstream stream)
{
    pthread_mutex_lock(&fake.lock);
    ask("record in %u\n", number_of(stream));
    pthread_mutex_unlock(&fake.lock);
    return event ? fake_cuda_says.record : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    pthread_mutex_lock(&fake.lock);
    ask("wait in %u\n", number_of(stream));
    pthread_mutex_unlock(&fake.lock);
    return event && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* --- captures --- */

static CUresult fake_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    pthread_mutex_lock(&fake.lock);
    bool implicit = !stream && fake.implicit;
    *status = fake.status[number_of(stream)];
    pthread_mutex_unlock(&fake.lock);
    return implicit ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

static CUresult fake_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                               CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    (void)dependencies, (void)count;
    pthread_mutex_lock(&fake.lock);
    *status = fake.status[number_of(stream)];
    if (*status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        *id = fake.capture[number_of(stream)];
        *graph = (CUgraph)(uintptr_t)fake.graph[number_of(stream)];
    }
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}

static CUresult fake_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = thread.mode;
    thread.mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

static CUresult fake_cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy, unsigned references,
                                        unsigned flags)
{
    *object = malloc(sizeof(**object));
    **object = (struct CUuserObject_st){.data = data, .destroy = destroy};
    return references == 1 && flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_cuUserObjectRelease(CUuserObject object, unsigned count)
{
    object->destroy(object->data);
    free(object);
    return count == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    if (fake_cuda_says.retain_object)
        return fake_cuda_says.retain_object;
    pthread_mutex_lock(&fake.lock);
    CUuserObject *objects = &fake.objects[(uintptr_t)graph];
    object->next = *objects;
    *objects = object;
    pthread_mutex_unlock(&fake.lock);
    return count == 1 && flags == CU_GRAPH_USER_OBJECT_MOVE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void set_capture(unsigned stream, CUstreamCaptureStatus status, uint64_t id, unsigned graph)
{
    pthread_mutex_lock(&fake.lock);
    fake.status[stream] = status;
    fake.capture[stream] = id;
    fake.graph[stream] = graph;
    pthread_mutex_unlock(&fake.lock);
}

void fake_cuda_capture(unsigned stream, uint64_t id, unsigned graph)
{
    set_capture(stream, CU_STREAM_CAPTURE_STATUS_ACTIVE, id, graph);
}

void fake_cuda_break_capture(unsigned stream)
{
    set_capture(stream, CU_STREAM_CAPTURE_STATUS_INVALIDATED, 0, 0);
}

void fake_cuda_end_capture(unsigned stream)
{
    set_capture(stream, CU_STREAM_CAPTURE_STATUS_NONE, 0, 0);
}

void fake_cuda_capture_implicit(bool is)
{
    fake.implicit = is;
}

void fake_cuda_destroy_graph(unsigned graph)
{
    pthread_mutex_lock(&fake.lock);
    CUuserObject object = fake.objects[graph];
    fake.objects[graph] = NULL;
    pthread_mutex_unlock(&fake.lock);
    while (object) {
        CUuserObject next = object->next;
        fake_cuUserObjectRelease(object, 1);
        object = next;
    }
}

unsigned fake_cuda_held_by(unsigned graph)
{
    unsigned count = 0;
    for (CUuserObject object = fake.objects[graph]; object; object = object->next)
        count++;
    return count;
}

/* --- in CUDA's place --- */

static const struct cuda_calls calls = {
#define CALL(name, ...) .name = fake_##name,
    CUDA_CALLS(CALL)
#undef CALL
};

int fake_cuda_start(void)
{
    fake_cuda_enter(NULL);
    fake_cuda_says = (struct fake_cuda_says){0};
    pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < FAKE_DEVICES; i++)
        primaries[i].device = others[i].device = i;
    memset(fake.status, 0, sizeof(fake.status));
    memset(fake.used, 0, sizeof(fake.used));
    memset(fake.bytes, 0, sizeof(fake.bytes));
    fake.freed_count = fake.made = fake.pools = fake.pools_alive = fake.streams = fake.wrong_frees = 0;
    fake.length = 0;
    fake.implicit = fake.quiet = false;
    int device = fake.devices++;
    pthread_mutex_unlock(&fake.lock);
    cuda_calls_replace(&calls);
    return device;
}

void fake_cuda_quiet(void)
{
    fake.quiet = true;
}
