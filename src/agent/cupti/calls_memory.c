/*
 * The driver's functions that allocate, map, register and free memory of the device and the host, and those that make
 * and destroy memory pools. A row's reader finds where the memory is and how large; shared functions publish it. No
 * callback reports how much a pool has reserved and lent out: the first part queries the driver for that, in rounds of
 * the service thread.
 */
#include "agent/cupti/calls_memory.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "common/clock.h"

/* --- pools of stream-ordered memory --- */

/* An entry for a pool, reused when the pool is gone. */
struct pool {
    struct pool *next;
    uint64_t handle; /* 0: the default pool of `device` */
    uint32_t device;
    bool known;   /* the entry is in use; stored with release order */
    bool changed; /* sizes changed and must be published; `asking` guards this and `published` */
    struct gputrace_pool_level published; /* sizes published last; pool is 0 before the first time */
};

static struct {
    struct pool *first; /* a new entry becomes the head; entries are never removed */
    bool used;          /* memory was allocated or freed since the last round */
    bool stopped;
    pthread_mutex_t adding; /* guards adding and removing of entries; never held while CUDA is called */
    pthread_mutex_t asking; /* held during queries, and guards published sizes; pools are forgotten under this lock */
    unsigned settling;      /* rounds to come even if no pool is used: freed memory returns when the GPU gets there */
} pools = {.adding = PTHREAD_MUTEX_INITIALIZER, .asking = PTHREAD_MUTEX_INITIALIZER};

#define FIRST_POOL __atomic_load_n(&pools.first, __ATOMIC_ACQUIRE)
#define EACH_POOL(pool) for (struct pool *pool = FIRST_POOL; pool; pool = pool->next)
#define EACH_KNOWN_POOL(pool) EACH_POOL(pool) if (__atomic_load_n(&pool->known, __ATOMIC_ACQUIRE))

static bool has(uint64_t handle, uint32_t device)
{
    EACH_KNOWN_POOL(pool)
    if (pool->handle == handle && (handle != 0 || pool->device == device))
        return true;
    return false;
}

static struct pool *free_place(void)
{
    EACH_POOL(pool)
    if (!__atomic_load_n(&pool->known, __ATOMIC_ACQUIRE))
        return pool;
    struct pool *made = calloc(1, sizeof(*made));
    if (made) {
        made->next = FIRST_POOL;
        __atomic_store_n(&pools.first, made, __ATOMIC_RELEASE);
    }
    return made;
}

static void mark_used(void)
{
    if (!__atomic_load_n(&pools.used, __ATOMIC_RELAXED)) /* stores rarely: many threads read this cache line */
        __atomic_store_n(&pools.used, true, __ATOMIC_RELEASE);
}

void memory_pools_note(uint64_t handle, uint32_t device)
{
    mark_used();
    if (has(handle, device))
        return;
    pthread_mutex_lock(&pools.adding);
    struct pool *pool = has(handle, device) ? NULL : free_place(); /* NULL without memory: the pool is left out */
    if (pool) {
        pool->handle = handle;
        pool->device = device;
        pool->changed = false;
        pool->published = (struct gputrace_pool_level){0};
        __atomic_store_n(&pool->known, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&pools.adding);
}

bool memory_pools_any(void)
{
    EACH_KNOWN_POOL(pool)
    return true;
    return false;
}

/* Removes a pool, and publishes that it holds nothing any more; its highest values remain. The caller holds `asking`.
 */
static void forget(struct pool *pool)
{
    struct gputrace_pool_level level = pool->published;
    pthread_mutex_lock(&pools.adding);
    __atomic_store_n(&pool->known, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&pools.adding);
    if (level.pool == 0)
        return;
    level.time = clock_now();
    level.reserved = level.used = 0;
    registry_pool_level_publish(&level);
}

void memory_pools_forget(uint64_t handle)
{
    pthread_mutex_lock(&pools.asking);
    EACH_KNOWN_POOL(pool)
    if (handle != 0 && pool->handle == handle)
        forget(pool);
    pthread_mutex_unlock(&pools.asking);
}

void memory_pools_forget_device(uint32_t device)
{
    pthread_mutex_lock(&pools.asking);
    EACH_KNOWN_POOL(pool)
    if (pool->device == device)
        forget(pool);
    pthread_mutex_unlock(&pools.asking);
}

void memory_pools_returned(void)
{
    if (FIRST_POOL)
        mark_used();
}

/* Reads used before reserved, and the highest values last, so that each value is at most its bound. Returns false if a
 * query failed or was stopped. */
static bool ask_level(const struct driver *driver, CUmemoryPool pool, struct gputrace_pool_level *level)
{
    const struct {
        CUmemPool_attribute attribute;
        uint64_t *value;
    } questions[] = {
        {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &level->used},
        {CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &level->reserved},
        {CU_MEMPOOL_ATTR_USED_MEM_HIGH, &level->used_high},
        {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &level->reserved_high},
    };
    level->time = clock_now();
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
        if (__atomic_load_n(&pools.stopped, __ATOMIC_ACQUIRE) ||
            driver->cuMemPoolGetAttribute(pool, questions[i].attribute, questions[i].value) != CUDA_SUCCESS)
            return false;
    return true;
}

static void ask_pool(const struct driver *driver, struct pool *pool)
{
    CUmemoryPool handle = (CUmemoryPool)(uintptr_t)pool->handle;
    const struct gputrace_pool_level *before = &pool->published;
    struct gputrace_pool_level level = {.device = pool->device};
    if (!handle && driver->cuDeviceGetDefaultMemPool(&handle, (CUdevice)pool->device) != CUDA_SUCCESS)
        return;
    if (!ask_level(driver, handle, &level))
        return;
    level.pool = (uint64_t)(uintptr_t)handle;
    pool->changed = level.pool != before->pool || level.reserved != before->reserved || level.used != before->used ||
                    level.reserved_high != before->reserved_high || level.used_high != before->used_high;
    if (pool->changed)
        pool->published = level;
}

void memory_pools_ask(bool all_the_same)
{
    struct tracing_suppressed suppressed;
    if (!memory_pools_any() || __atomic_load_n(&pools.stopped, __ATOMIC_ACQUIRE))
        return;
    if (__atomic_exchange_n(&pools.used, false, __ATOMIC_ACQ_REL))
        pools.settling = 1 + MEMORY_POOLS_SETTLING;
    const struct driver *driver = pools.settling > 0 || all_the_same ? driver_functions() : NULL;
    if (!driver || !driver->cuDeviceGetDefaultMemPool || !driver->cuMemPoolGetAttribute)
        return;
    pools.settling -= pools.settling > 0;
    pthread_mutex_lock(&pools.asking);
    if (tracing_suppress(&suppressed)) {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* our query does not endanger a capture */
        driver->cuThreadExchangeStreamCaptureMode(&mode);
        EACH_KNOWN_POOL(pool)
        if (!__atomic_load_n(&pools.stopped, __ATOMIC_ACQUIRE))
            ask_pool(driver, pool);
        driver->cuThreadExchangeStreamCaptureMode(&mode);
        tracing_resume(&suppressed);
        EACH_KNOWN_POOL(pool)
        {
            if (!pool->changed)
                continue;
            pool->changed = false;
            pools.settling = MEMORY_POOLS_SETTLING;
            registry_pool_level_publish(&pool->published);
        }
    }
    pthread_mutex_unlock(&pools.asking);
}

void memory_pools_stop(void)
{
    __atomic_store_n(&pools.stopped, true, __ATOMIC_RELEASE);
}

void memory_pools_atfork_child(void)
{
    pthread_mutex_init(&pools.adding, NULL);
    pthread_mutex_init(&pools.asking, NULL);
    pools.used = pools.stopped = false;
    pools.settling = 0;
    EACH_POOL(pool)
    pool->known = false;
}

/* --- sizes of arrays --- */

static uint64_t channel_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 1;
    }
}

uint64_t array_bytes_3d(const CUDA_ARRAY3D_DESCRIPTOR *array)
{
    if (!array)
        return 0;
    uint64_t height = array->Height ? array->Height : 1;
    uint64_t depth = array->Depth ? array->Depth : 1;
    return array->Width * height * depth * array->NumChannels * channel_bytes(array->Format);
}

uint64_t array_bytes_2d(const CUDA_ARRAY_DESCRIPTOR *array)
{
    if (!array)
        return 0;
    CUDA_ARRAY3D_DESCRIPTOR flat = {
        .Width = array->Width, .Height = array->Height, .Format = array->Format, .NumChannels = array->NumChannels};
    return array_bytes_3d(&flat);
}

static size_t halved(size_t extent)
{
    return extent > 1 ? extent / 2 : extent;
}

/* The driver creates at least one level, and none below a single texel. The number of layers is the same at every
 * level. */
uint64_t array_bytes_mipmapped(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned levels)
{
    if (!array)
        return 0;
    CUDA_ARRAY3D_DESCRIPTOR level = *array;
    bool layered = (array->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    uint64_t bytes = array_bytes_3d(&level);
    while (levels-- > 1 && (level.Width > 1 || level.Height > 1 || (level.Depth > 1 && !layered))) {
        level.Width = halved(level.Width);
        level.Height = halved(level.Height);
        level.Depth = layered ? level.Depth : halved(level.Depth);
        bytes += array_bytes_3d(&level);
    }
    return bytes;
}

/*
 * Memory that is allocated, freed, registered (host memory), or mapped (virtual addresses).
 *
 * A reader fills in a struct request from the call's parameters and, if the call succeeded, from its outputs: where the
 * memory is and how large. From it an allocation, a failed allocation or a deallocation is published.
 */

struct request {
    const struct driver_return *returned;
    uint64_t address, bytes, pool;
    uint32_t device;
    CUstream stream;
    bool has_stream;
    bool done;
};

/* Returns CUPTI's number of the request's stream, or GPUTRACE_NO_STREAM. CUPTI is not asked about a handle that may be
 * invalid. */
static uint32_t stream_id_of(const struct request *request)
{
    const struct gputrace_call *call = &request->returned->call;
    bool valid = request->done || call->result == CUDA_ERROR_OUT_OF_MEMORY;
    if (!request->has_stream || !valid || !call->context)
        return GPUTRACE_NO_STREAM;
    return cupti_ids_of_stream(request->returned->ids, call, request->stream);
}

static void publish_allocation(const struct request *request, enum gputrace_memory_kind kind)
{
    if (!request->done) {
        struct gputrace_memory_allocation_failure failure = {
            .call = request->returned->call,
            .bytes = request->bytes,
            .pool = request->pool,
            .stream = request->stream,
            .stream_id = stream_id_of(request),
            .kind = kind,
        };
        failure.call.device = request->device;
        registry_memory_allocation_failure_publish_by(request->returned->reader, &failure);
        return;
    }
    struct gputrace_memory_allocation allocation = {
        .call = request->returned->call,
        .address = request->address,
        .bytes = request->bytes,
        .pool = request->pool,
        .stream = request->stream,
        .stream_id = stream_id_of(request),
        .kind = kind,
    };
    allocation.call.device = request->device;
    registry_memory_allocation_publish_by(request->returned->reader, &allocation);
    /* Pools that only a client uses are not queried. */
    const struct epoch_reader *reader = request->returned->reader;
    bool programs =
        kind == GPUTRACE_MEMORY_POOL && request->device != GPUTRACE_NO_DEVICE && reader && !reader->in_client;
    if (programs && registry_pool_level_wanted())
        memory_pools_note(request->pool, request->device);
}

static void publish_deallocation(const struct request *request, enum gputrace_memory_kind kind)
{
    if (request->address == 0)
        return; /* freeing NULL is allowed and does nothing */
    struct gputrace_memory_deallocation deallocation = {
        .call = request->returned->call,
        .address = request->address,
        .stream = request->stream,
        .stream_id = stream_id_of(request),
        .kind = kind,
    };
    deallocation.call.device = request->device;
    registry_memory_deallocation_publish_by(request->returned->reader, &deallocation);
    memory_pools_returned();
}

/* Sets the device of memory of cuMemCreate, which is where its properties say, not on the thread's device. */
static void set_location(struct request *request, const CUmemAllocationProp *properties)
{
    if (properties && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        request->device = (uint32_t)properties->location.id;
    else if (properties)
        request->device = GPUTRACE_NO_DEVICE;
}

/* Defines the reader of a call. READ is a statement that uses `p`, the parameters, `request` and `returned`. */
#define PUBLISH(what, function, memory_kind, read)                                                         \
    static void publish_##function(const struct driver_return *returned)                                   \
    {                                                                                                      \
        const function##_params *p = returned->params;                                                     \
        const enum gputrace_memory_kind kind = GPUTRACE_MEMORY_##memory_kind;                              \
        struct request request = {.returned = returned,                                                    \
                                  .device = IS_OF_HOST(kind) ? GPUTRACE_NO_DEVICE : returned->call.device, \
                                  .done = driver_call_done(returned)};                                     \
        read;                                                                                              \
        publish_##what(&request, kind);                                                                    \
    }
#define IS_OF_HOST(kind) ((kind) == GPUTRACE_MEMORY_PINNED || (kind) == GPUTRACE_MEMORY_REGISTERED)
#define OUTPUT(pointer) (request.done ? (uint64_t)(uintptr_t)*(pointer) : 0)
#define IN_STREAM request.has_stream = true, request.stream = driver_call_stream(returned, p->hStream)

#define ALLOCATES(function, kind, output) \
    PUBLISH(allocation, function, kind, (request.bytes = p->bytesize, request.address = OUTPUT(p->output)))
#define FREES(function, kind, input) \
    PUBLISH(deallocation, function, kind, request.address = (uint64_t)(uintptr_t)(p->input))

ALLOCATES(cuMemAlloc_v2, DEVICE, dptr)
ALLOCATES(cuMemAllocManaged, MANAGED, dptr)
ALLOCATES(cuMemHostAlloc, PINNED, pp)
ALLOCATES(cuMemAllocHost_v2, PINNED, pp)
PUBLISH(allocation, cuMemHostRegister_v2, REGISTERED,
        (request.bytes = p->bytesize, request.address = driver_call_integer(p->p)))
PUBLISH(allocation, cuMemAllocAsync, POOL, (IN_STREAM, request.bytes = p->bytesize, request.address = OUTPUT(p->dptr)))
PUBLISH(allocation, cuMemAllocFromPoolAsync, POOL,
        (IN_STREAM, request.bytes = p->bytesize, request.address = OUTPUT(p->dptr),
         request.pool = driver_call_integer(p->pool)))
PUBLISH(allocation, cuMemAllocPitch_v2, DEVICE,
        (request.bytes = (request.done ? *p->pPitch : p->WidthInBytes) * p->Height, request.address = OUTPUT(p->dptr)))
PUBLISH(allocation, cuArrayCreate_v2, ARRAY,
        (request.bytes = array_bytes_2d(p->pAllocateArray), request.address = OUTPUT(p->pHandle)))
PUBLISH(allocation, cuArray3DCreate_v2, ARRAY,
        (request.bytes = array_bytes_3d(p->pAllocateArray), request.address = OUTPUT(p->pHandle)))
PUBLISH(allocation, cuMipmappedArrayCreate, ARRAY,
        (request.bytes = array_bytes_mipmapped(p->pMipmappedArrayDesc, p->numMipmapLevels),
         request.address = OUTPUT(p->pHandle)))
PUBLISH(allocation, cuMemCreate, VIRTUAL,
        (request.bytes = p->size, request.address = OUTPUT(p->handle), set_location(&request, p->prop)))

FREES(cuMemFree_v2, UNKNOWN, dptr) /* frees device, managed and stream-ordered memory */
FREES(cuMemFreeHost, PINNED, p)
FREES(cuMemHostUnregister, REGISTERED, p)
FREES(cuArrayDestroy, ARRAY, hArray)
FREES(cuMipmappedArrayDestroy, ARRAY, hMipmappedArray)
FREES(cuMemRelease, VIRTUAL, handle)
PUBLISH(deallocation, cuMemFreeAsync, UNKNOWN, (IN_STREAM, request.address = p->dptr))

DRIVER_CALL_PUBLISHES(cuMemMap, memory_mapping, .address = p->ptr, .bytes = p->size, .offset = p->offset,
                      .handle = p->handle)
DRIVER_CALL_PUBLISHES(cuMemUnmap, memory_unmapping, .address = p->ptr, .bytes = p->size)

/* --- pools that allocations do not name --- */

/* Notes the device's current pool, which from now on serves allocations that name no pool. */
static void note_set_pool(const struct driver_return *returned)
{
    const cuDeviceSetMemPool_params *p = returned->params;
    if (driver_call_done(returned))
        memory_pools_note(driver_call_integer(p->pool), (uint32_t)p->dev);
}

static void forget_pool(const void *params)
{
    memory_pools_forget(driver_call_integer(((const cuMemPoolDestroy_params *)params)->pool));
}

/* The first version's only parameter is the same. */
static void forget_device(const void *params)
{
    memory_pools_forget_device((uint32_t)((const cuDevicePrimaryCtxReset_v2_params *)params)->dev);
}

/* --- rows --- */

#define ALLOCATION (REGISTRY_BIT(memory_allocation) | REGISTRY_BIT(memory_allocation_failure))
#define DEALLOCATION REGISTRY_BIT(memory_deallocation)
#define POOLS REGISTRY_BIT(pool_level)

static const struct driver_call rows[] = {
    DRIVER_CALL(cuMemAlloc_v2, ALLOCATION, publish_cuMemAlloc_v2),
    DRIVER_CALL(cuMemAllocPitch_v2, ALLOCATION, publish_cuMemAllocPitch_v2),
    DRIVER_CALL(cuMemAllocManaged, ALLOCATION, publish_cuMemAllocManaged),
    DRIVER_CALL(cuMemHostAlloc, ALLOCATION, publish_cuMemHostAlloc),
    DRIVER_CALL(cuMemAllocHost_v2, ALLOCATION, publish_cuMemAllocHost_v2),
    DRIVER_CALL(cuMemHostRegister, ALLOCATION, publish_cuMemHostRegister_v2),
    DRIVER_CALL(cuMemHostRegister_v2, ALLOCATION, publish_cuMemHostRegister_v2),
    DRIVER_CALL(cuArrayCreate_v2, ALLOCATION, publish_cuArrayCreate_v2),
    DRIVER_CALL(cuArray3DCreate_v2, ALLOCATION, publish_cuArray3DCreate_v2),
    DRIVER_CALL(cuMipmappedArrayCreate, ALLOCATION, publish_cuMipmappedArrayCreate),
    DRIVER_CALL_PTSZ(cuMemAllocAsync, ALLOCATION | POOLS, publish_cuMemAllocAsync),
    DRIVER_CALL_PTSZ(cuMemAllocFromPoolAsync, ALLOCATION | POOLS, publish_cuMemAllocFromPoolAsync),
    DRIVER_CALL(cuMemCreate, ALLOCATION, publish_cuMemCreate),
    DRIVER_CALL(cuMemFree_v2, DEALLOCATION | POOLS, publish_cuMemFree_v2, .brief = true),
    DRIVER_CALL_PTSZ(cuMemFreeAsync, DEALLOCATION | POOLS, publish_cuMemFreeAsync, .brief = true),
    DRIVER_CALL(cuMemFreeHost, DEALLOCATION, publish_cuMemFreeHost),
    DRIVER_CALL(cuMemHostUnregister, DEALLOCATION, publish_cuMemHostUnregister),
    DRIVER_CALL(cuArrayDestroy, DEALLOCATION, publish_cuArrayDestroy),
    DRIVER_CALL(cuMipmappedArrayDestroy, DEALLOCATION, publish_cuMipmappedArrayDestroy),
    DRIVER_CALL(cuMemRelease, DEALLOCATION, publish_cuMemRelease),
    DRIVER_CALL(cuMemMap, REGISTRY_BIT(memory_mapping), publish_cuMemMap),
    DRIVER_CALL(cuMemUnmap, REGISTRY_BIT(memory_unmapping), publish_cuMemUnmap),
    DRIVER_CALL(cuDeviceSetMemPool, POOLS, note_set_pool),
    DRIVER_CALL(cuMemPoolDestroy, POOLS, NULL, .begins = forget_pool),
    DRIVER_CALL(cuDevicePrimaryCtxReset, POOLS, NULL, .begins = forget_device),
    DRIVER_CALL(cuDevicePrimaryCtxReset_v2, POOLS, NULL, .begins = forget_device),
};

const struct driver_calls memory_calls = DRIVER_CALLS(rows);
