/*
 * The driver's functions that allocate, map, register and free memory of the device and the host, and those that make
 * and destroy memory pools. A row's reader says where the memory is and how large; shared functions publish it.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/cupti/driver_calls.h"
#include "agent/cupti/memory_pools.h"

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

/* The driver makes one level at least, and none below a single texel. Layers are as many at every level. */
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
 * Memory: allocated, freed, host memory registered, virtual addresses mapped.
 *
 * A reader fills in a struct request: where the memory is and how much, from the call's parameters and, when it is
 * done, from its outputs. Whether that is an allocation, a failed one or a deallocation is published from there.
 */

struct request {
    const struct driver_return *returned;
    uint64_t address, bytes, pool;
    uint32_t device;
    CUstream stream;
    bool has_stream;
    bool done;
};

static inline struct request request_of(const struct driver_return *returned, enum gputrace_memory_kind kind)
{
    bool host = kind == GPUTRACE_MEMORY_PINNED || kind == GPUTRACE_MEMORY_REGISTERED;
    return (struct request){.returned = returned,
                            .device = host ? GPUTRACE_NO_DEVICE : returned->call.device,
                            .done = driver_call_done(returned)};
}

static inline void set_stream(struct request *request, const struct driver_return *returned, CUstream stream)
{
    request->has_stream = true;
    request->stream = driver_call_stream(returned, stream);
}

/* CUPTI is not asked about a handle that may be none. */
static uint32_t stream_id_of(const struct request *request)
{
    const struct gputrace_call *call = &request->returned->call;
    bool valid = request->done || call->result == CUDA_ERROR_OUT_OF_MEMORY;
    if (!request->has_stream || !valid || !call->context)
        return GPUTRACE_NO_STREAM;
    return cupti_ids_of_stream(request->returned->ids, call, request->stream);
}

static void publish_failure(const struct request *request, enum gputrace_memory_kind kind)
{
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
}

static void publish_allocation(const struct request *request, enum gputrace_memory_kind kind)
{
    if (!request->done) {
        publish_failure(request, kind);
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
    /* Pools are the program's where a client does not use them. */
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

/* Memory of cuMemCreate lies where its properties say, not on the thread's device. */
static void set_location(struct request *request, const CUmemAllocationProp *properties)
{
    if (properties && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        request->device = (uint32_t)properties->location.id;
    else if (properties)
        request->device = GPUTRACE_NO_DEVICE;
}

/* Readers of calls that are alike but for the type of their parameters. READ is a statement that knows `p`, their
 * parameters, `request` and `returned`. */
#define PUBLISH(what, function, memory_kind, read)                            \
    static void publish_##function(const struct driver_return *returned)      \
    {                                                                         \
        const function##_params *p = returned->params;                        \
        const enum gputrace_memory_kind kind = GPUTRACE_MEMORY_##memory_kind; \
        struct request request = request_of(returned, kind);                  \
        read;                                                                 \
        publish_##what(&request, kind);                                       \
    }
#define OUTPUT(pointer) (request.done ? (uint64_t)(uintptr_t)*(pointer) : 0)

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
PUBLISH(allocation, cuMemAllocAsync, POOL,
        (set_stream(&request, returned, p->hStream), request.bytes = p->bytesize, request.address = OUTPUT(p->dptr)))
PUBLISH(allocation, cuMemAllocFromPoolAsync, POOL,
        (set_stream(&request, returned, p->hStream), request.bytes = p->bytesize, request.address = OUTPUT(p->dptr),
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

FREES(cuMemFree_v2, UNKNOWN, dptr) /* device, managed and stream-ordered memory alike */
FREES(cuMemFreeHost, PINNED, p)
FREES(cuMemHostUnregister, REGISTERED, p)
FREES(cuArrayDestroy, ARRAY, hArray)
FREES(cuMipmappedArrayDestroy, ARRAY, hMipmappedArray)
FREES(cuMemRelease, VIRTUAL, handle)
PUBLISH(deallocation, cuMemFreeAsync, UNKNOWN, (set_stream(&request, returned, p->hStream), request.address = p->dptr))

DRIVER_CALL_PUBLISHES(cuMemMap, memory_mapping, .address = p->ptr, .bytes = p->size, .offset = p->offset,
                      .handle = p->handle)
DRIVER_CALL_PUBLISHES(cuMemUnmap, memory_unmapping, .address = p->ptr, .bytes = p->size)

/* --- pools of stream-ordered memory: what memory_pools.h must know of them and allocations do not say --- */

/* The device's current pool was set: from now on it lends to allocations that name no pool. */
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

/* The first version has the same one parameter. */
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
