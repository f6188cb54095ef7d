/*
 * Memory: allocated, freed, host memory registered, virtual addresses mapped.
 *
 * A reader fills in a struct request: where the memory is and how much, from the call's parameters and, when it is
 * done, from its outputs. Whether that is an allocation, a failed one or a deallocation is told from there.
 */
#include "injected/collect/array_bytes.h"
#include "injected/collect/cupti_ids.h"
#include "injected/collect/driver_calls.h"

struct request {
    struct gputrace_call call;
    uint64_t address, bytes, pool;
    CUstream stream;
    bool has_stream;
    bool done;
};

static struct request request_of(const struct driver_return *returned, enum gputrace_memory_kind kind)
{
    struct request request = {.call = returned->call, .done = driver_call_done(returned)};
    if (kind == GPUTRACE_MEMORY_PINNED || kind == GPUTRACE_MEMORY_REGISTERED)
        request.call.device = GPUTRACE_NO_DEVICE;
    return request;
}

static void set_stream(struct request *request, const struct driver_return *returned, CUstream stream)
{
    request->has_stream = true;
    request->stream = driver_call_stream(returned, stream);
}

/* CUPTI is not asked about a handle that may be none. */
static uint32_t stream_id_of(const struct request *request)
{
    bool valid = request->done || request->call.result == CUDA_ERROR_OUT_OF_MEMORY;
    if (!request->has_stream || !valid || !request->call.context)
        return GPUTRACE_NO_STREAM;
    return cupti_stream_id(driver_call_integer(request->call.context), driver_call_integer(request->stream));
}

static void tell_allocation(const struct request *request, enum gputrace_memory_kind kind)
{
    if (request->done)
        registry_memory_allocation_publish(&(struct gputrace_memory_allocation){
            .call = request->call,
            .address = request->address,
            .bytes = request->bytes,
            .pool = request->pool,
            .stream = request->stream,
            .stream_id = stream_id_of(request),
            .kind = kind,
        });
    else
        registry_memory_allocation_failure_publish(&(struct gputrace_memory_allocation_failure){
            .call = request->call,
            .bytes = request->bytes,
            .pool = request->pool,
            .stream = request->stream,
            .stream_id = stream_id_of(request),
            .kind = kind,
        });
}

static void tell_deallocation(const struct request *request, enum gputrace_memory_kind kind)
{
    if (request->address == 0)
        return; /* freeing NULL is allowed and does nothing */
    registry_memory_deallocation_publish(&(struct gputrace_memory_deallocation){
        .call = request->call,
        .address = request->address,
        .stream = request->stream,
        .stream_id = stream_id_of(request),
        .kind = kind,
    });
}

/* Memory of cuMemCreate lies where its properties say, not on the thread's device. */
static void set_location(struct gputrace_call *call, const CUmemAllocationProp *properties)
{
    if (properties && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        call->device = (uint32_t)properties->location.id;
    else if (properties)
        call->device = GPUTRACE_NO_DEVICE;
}

/* Readers of calls that are alike but for the type of their parameters. READ is a statement that knows `p`, their
 * parameters, `request` and `returned`. */
#define TELL(what, function, memory_kind, read)                               \
    static void tell_##function(const struct driver_return *returned)         \
    {                                                                         \
        const function##_params *p = returned->params;                        \
        const enum gputrace_memory_kind kind = GPUTRACE_MEMORY_##memory_kind; \
        struct request request = request_of(returned, kind);                  \
        read;                                                                 \
        tell_##what(&request, kind);                                          \
    }
#define OUTPUT(pointer) (request.done ? (uint64_t)(uintptr_t) * (pointer) : 0)

#define ALLOCATES(function, kind, output) \
    TELL(allocation, function, kind, (request.bytes = p->bytesize, request.address = OUTPUT(p->output)))
#define FREES(function, kind, input) \
    TELL(deallocation, function, kind, request.address = (uint64_t)(uintptr_t)(p->input))

ALLOCATES(cuMemAlloc_v2, DEVICE, dptr)
ALLOCATES(cuMemAllocManaged, MANAGED, dptr)
ALLOCATES(cuMemHostAlloc, PINNED, pp)
ALLOCATES(cuMemAllocHost_v2, PINNED, pp)
TELL(allocation, cuMemHostRegister_v2, REGISTERED,
     (request.bytes = p->bytesize, request.address = driver_call_integer(p->p)))
TELL(allocation, cuMemAllocAsync, POOL,
     (set_stream(&request, returned, p->hStream), request.bytes = p->bytesize, request.address = OUTPUT(p->dptr)))
TELL(allocation, cuMemAllocFromPoolAsync, POOL,
     (set_stream(&request, returned, p->hStream), request.bytes = p->bytesize, request.address = OUTPUT(p->dptr),
      request.pool = driver_call_integer(p->pool)))
TELL(allocation, cuMemAllocPitch_v2, DEVICE,
     (request.bytes = (request.done ? *p->pPitch : p->WidthInBytes) * p->Height, request.address = OUTPUT(p->dptr)))
TELL(allocation, cuArrayCreate_v2, ARRAY,
     (request.bytes = array_bytes_2d(p->pAllocateArray), request.address = OUTPUT(p->pHandle)))
TELL(allocation, cuArray3DCreate_v2, ARRAY,
     (request.bytes = array_bytes_3d(p->pAllocateArray), request.address = OUTPUT(p->pHandle)))
TELL(allocation, cuMipmappedArrayCreate, ARRAY,
     (request.bytes = array_bytes_mipmapped(p->pMipmappedArrayDesc, p->numMipmapLevels),
      request.address = OUTPUT(p->pHandle)))
TELL(allocation, cuMemCreate, VIRTUAL,
     (request.bytes = p->size, request.address = OUTPUT(p->handle), set_location(&request.call, p->prop)))

FREES(cuMemFree_v2, UNKNOWN, dptr) /* device, managed and stream-ordered memory alike */
FREES(cuMemFreeHost, PINNED, p)
FREES(cuMemHostUnregister, REGISTERED, p)
FREES(cuArrayDestroy, ARRAY, hArray)
FREES(cuMipmappedArrayDestroy, ARRAY, hMipmappedArray)
FREES(cuMemRelease, VIRTUAL, handle)
TELL(deallocation, cuMemFreeAsync, UNKNOWN, (set_stream(&request, returned, p->hStream), request.address = p->dptr))

static void tell_mapping(const struct driver_return *returned)
{
    const cuMemMap_params *p = returned->params;
    registry_memory_mapping_publish(&(struct gputrace_memory_mapping){
        .call = returned->call, .address = p->ptr, .bytes = p->size, .offset = p->offset, .handle = p->handle});
}

static void tell_unmapping(const struct driver_return *returned)
{
    const cuMemUnmap_params *p = returned->params;
    registry_memory_unmapping_publish(
        &(struct gputrace_memory_unmapping){.call = returned->call, .address = p->ptr, .bytes = p->size});
}

#define ALLOCATION (REGISTRY_BIT(memory_allocation) | REGISTRY_BIT(memory_allocation_failure))
#define DEALLOCATION REGISTRY_BIT(memory_deallocation)

static const struct driver_call rows[] = {
    DRIVER_CALL(cuMemAlloc_v2, ALLOCATION, tell_cuMemAlloc_v2, NULL),
    DRIVER_CALL(cuMemAllocPitch_v2, ALLOCATION, tell_cuMemAllocPitch_v2, NULL),
    DRIVER_CALL(cuMemAllocManaged, ALLOCATION, tell_cuMemAllocManaged, NULL),
    DRIVER_CALL(cuMemHostAlloc, ALLOCATION, tell_cuMemHostAlloc, NULL),
    DRIVER_CALL(cuMemAllocHost_v2, ALLOCATION, tell_cuMemAllocHost_v2, NULL),
    DRIVER_CALL(cuMemHostRegister, ALLOCATION, tell_cuMemHostRegister_v2, NULL),
    DRIVER_CALL(cuMemHostRegister_v2, ALLOCATION, tell_cuMemHostRegister_v2, NULL),
    DRIVER_CALL(cuArrayCreate_v2, ALLOCATION, tell_cuArrayCreate_v2, NULL),
    DRIVER_CALL(cuArray3DCreate_v2, ALLOCATION, tell_cuArray3DCreate_v2, NULL),
    DRIVER_CALL(cuMipmappedArrayCreate, ALLOCATION, tell_cuMipmappedArrayCreate, NULL),
    DRIVER_CALL_PTSZ(cuMemAllocAsync, ALLOCATION, tell_cuMemAllocAsync, NULL),
    DRIVER_CALL_PTSZ(cuMemAllocFromPoolAsync, ALLOCATION, tell_cuMemAllocFromPoolAsync, NULL),
    DRIVER_CALL(cuMemCreate, ALLOCATION, tell_cuMemCreate, NULL),
    DRIVER_CALL(cuMemFree_v2, DEALLOCATION, tell_cuMemFree_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemFreeAsync, DEALLOCATION, tell_cuMemFreeAsync, NULL),
    DRIVER_CALL(cuMemFreeHost, DEALLOCATION, tell_cuMemFreeHost, NULL),
    DRIVER_CALL(cuMemHostUnregister, DEALLOCATION, tell_cuMemHostUnregister, NULL),
    DRIVER_CALL(cuArrayDestroy, DEALLOCATION, tell_cuArrayDestroy, NULL),
    DRIVER_CALL(cuMipmappedArrayDestroy, DEALLOCATION, tell_cuMipmappedArrayDestroy, NULL),
    DRIVER_CALL(cuMemRelease, DEALLOCATION, tell_cuMemRelease, NULL),
    DRIVER_CALL(cuMemMap, REGISTRY_BIT(memory_mapping), tell_mapping, NULL),
    DRIVER_CALL(cuMemUnmap, REGISTRY_BIT(memory_unmapping), tell_unmapping, NULL),
};

const struct driver_calls memory_calls = DRIVER_CALLS(rows);
