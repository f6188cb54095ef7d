/*
 * A walk over CUPTI's records in a chunk, and a decoder for each kind. A field is read only if the record is long
 * enough to have it. Names of calls and errors are in tables that the build makes of CUDA's headers.
 */
#include "trace/spool/cupti.h"

#include "common/cuda_headers.h"
#include "common/cupti.h"

static_assert(SPOOL_CUPTI_KINDS >= CUPTI_ACTIVITY_KIND_COUNT, "the header of a spool has a size for every kind");

/* --- the walk --- */

void cupti_walk_begin(struct cupti_walk *walk, const struct spool_part *part, const uint8_t *data,
                      const uint16_t *sizes)
{
    *walk = (struct cupti_walk){.at = data, .end = data, .sizes = sizes, .done = part->state == SPOOL_DONE};
    if (data)
        walk->end += part->size;
    else
        walk->damaged = 1;
}

bool cupti_walk_next(struct cupti_walk *walk)
{
    size_t left = (size_t)(walk->end - walk->at);
    uint32_t kind = 0;
    if (left >= sizeof(kind))
        memcpy(&kind, walk->at, sizeof(kind));
    if (left == 0 || (kind == 0 && !walk->done))
        return false;
    walk->in_flight = (kind & SPOOL_IN_FLIGHT) != 0;
    walk->kind = kind & ~SPOOL_IN_FLIGHT;
    uint16_t bytes = walk->kind < SPOOL_CUPTI_KINDS ? walk->sizes[walk->kind] : 0;
    if (walk->kind == 0 || bytes == 0 || bytes > left) {
        walk->damaged++;
        walk->at = walk->end;
        return false;
    }
    walk->record = walk->at;
    walk->bytes = bytes;
    walk->at += bytes;
    return true;
}

/* --- decoders --- */

/* Reads a field of a record of BYTES, or 0 if the record of an older CUPTI ends before the field. */
#define FIELD(record, bytes, field) \
    (offsetof(__typeof__(*(record)), field) + sizeof((record)->field) <= (bytes) ? (record)->field : 0)

/* Copies the fields that all records of GPU work have, whatever the record's type is. */
#define GPU_WORK(event, record)                         \
    do {                                                \
        (event)->start = (record)->start;               \
        (event)->end = (record)->end;                   \
        (event)->device = (record)->deviceId;           \
        (event)->context = (record)->contextId;         \
        (event)->stream = (record)->streamId;           \
        (event)->correlation = (record)->correlationId; \
    } while (0)

static void decode_kernel(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityKernel10 *kernel = at;
    GPU_WORK(event, kernel);
    event->kernel.name = (uint64_t)(uintptr_t)kernel->name;
    event->kernel.queued = FIELD(kernel, bytes, queued);
    event->kernel.graph_node = FIELD(kernel, bytes, graphNodeId);
    event->kernel.graph = FIELD(kernel, bytes, graphId);
    event->kernel.grid[0] = kernel->gridX;
    event->kernel.grid[1] = kernel->gridY;
    event->kernel.grid[2] = kernel->gridZ;
    event->kernel.block[0] = kernel->blockX;
    event->kernel.block[1] = kernel->blockY;
    event->kernel.block[2] = kernel->blockZ;
#define NUMBER(name, text, type, field, categories, member, cupti) event->kernel.member = FIELD(kernel, bytes, cupti);
    KERNEL_NUMBERS(NUMBER)
#undef NUMBER
    event->kernel.static_shared = (uint32_t)kernel->staticSharedMemory;
    event->kernel.dynamic_shared = (uint32_t)kernel->dynamicSharedMemory;
    event->kernel.executed_shared = FIELD(kernel, bytes, sharedMemoryExecuted);
}

static void decode_memcpy(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityMemcpy6 *copy = at;
    GPU_WORK(event, copy);
    event->memcpy.bytes = copy->bytes;
    event->memcpy.kind = copy->copyKind;
    event->memcpy.source = copy->srcKind;
    event->memcpy.target = copy->dstKind;
    event->memcpy.graph = FIELD(copy, bytes, graphId);
    event->memcpy.graph_node = FIELD(copy, bytes, graphNodeId);
    event->memcpy.copies = FIELD(copy, bytes, copyCount);
}

static void decode_peer_copy(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityMemcpyPtoP4 *copy = at;
    GPU_WORK(event, copy);
    event->memcpy.bytes = copy->bytes;
    event->memcpy.kind = copy->copyKind;
    event->memcpy.source = copy->srcKind;
    event->memcpy.target = copy->dstKind;
    event->memcpy.peer = true;
    event->memcpy.source_device = copy->srcDeviceId;
    event->memcpy.source_context = copy->srcContextId;
    event->memcpy.target_device = copy->dstDeviceId;
    event->memcpy.target_context = copy->dstContextId;
    event->memcpy.graph = FIELD(copy, bytes, graphId);
    event->memcpy.graph_node = FIELD(copy, bytes, graphNodeId);
}

static void decode_memset(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityMemset4 *set = at;
    GPU_WORK(event, set);
    event->memset.bytes = set->bytes;
    event->memset.value = set->value;
    event->memset.target = set->memoryKind;
    event->memset.graph = FIELD(set, bytes, graphId);
    event->memset.graph_node = FIELD(set, bytes, graphNodeId);
}

static void decode_graph(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityGraphTrace2 *graph = at;
    (void)bytes;
    GPU_WORK(event, graph);
    event->graph.graph = graph->graphId;
}

static void decode_api(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityAPI *api = at;
    (void)bytes;
    event->start = api->start;
    event->end = api->end;
    event->thread = api->threadId;
    event->correlation = api->correlationId;
    event->api.domain = api->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? EVENT_API_RUNTIME : EVENT_API_DRIVER;
    event->api.cbid = api->cbid;
    event->api.result = api->returnValue;
}

static void decode_sync(struct event *event, const void *at, uint32_t bytes)
{
    static const enum event_sync_kind kinds[] = {
        [CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE] = EVENT_SYNC_EVENT,
        [CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT] = EVENT_SYNC_STREAM_WAIT_EVENT,
        [CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE] = EVENT_SYNC_STREAM,
        [CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE] = EVENT_SYNC_CONTEXT,
    };
    const CUpti_ActivitySynchronization2 *sync = at;
    event->start = sync->start;
    event->end = sync->end;
    event->correlation = sync->correlationId;
    event->context = sync->contextId;
    event->device = EVENT_NO_DEVICE;
    event->stream = sync->streamId; /* CUPTI_SYNCHRONIZATION_INVALID_VALUE is EVENT_NO_STREAM */
    event->sync.kind = (size_t)sync->type < sizeof(kinds) / sizeof(*kinds) ? kinds[sync->type] : EVENT_SYNC_UNKNOWN;
    event->sync.event = sync->cudaEventId;
    event->sync.event_context = sync->contextId;
    event->sync.sync_id = FIELD(sync, bytes, cudaEventSyncId);
    event->sync.result = FIELD(sync, bytes, returnValue);
}

static void decode_cuda_event(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityCudaEvent2 *record = at;
    event->start = event->end = FIELD(record, bytes, deviceTimestamp);
    event->correlation = record->correlationId;
    event->context = record->contextId;
    event->device = bytes >= sizeof(*record) ? record->deviceId : EVENT_NO_DEVICE;
    event->stream = record->streamId;
    event->cuda_event.event = record->eventId;
    event->cuda_event.event_context = record->contextId;
    event->cuda_event.sync_id = FIELD(record, bytes, cudaEventSyncId);
}

static void decode_overhead(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityOverhead3 *overhead = at;
    event->start = overhead->start;
    event->end = overhead->end;
    event->correlation = FIELD(overhead, bytes, correlationId);
    event->thread = overhead->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? overhead->objectId.pt.threadId : 0;
}

static_assert((int)EVENT_JIT_CACHE_LOAD == CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD &&
                  (int)EVENT_JIT_CACHE_STORE == CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE &&
                  (int)EVENT_JIT_COMPILE == CUPTI_ACTIVITY_JIT_OPERATION_COMPILE &&
                  (int)EVENT_JIT_FROM_PTX == CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN &&
                  (int)EVENT_JIT_FROM_NVVM_IR == CUPTI_ACTIVITY_JIT_ENTRY_NVVM_IR_TO_PTX,
              "the numbers are CUPTI's");

static void decode_jit(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityJit2 *jit = at;
    event->start = jit->start;
    event->end = jit->end;
    event->device = jit->deviceId;
    event->correlation = jit->correlationId;
    event->thread = FIELD(jit, bytes, threadId);
    event->jit.group = FIELD(jit, bytes, jitOperationCorrelationId);
    event->jit.cache_bytes = FIELD(jit, bytes, cacheSize);
    if ((unsigned)jit->jitOperationType < EVENT_JIT_OPERATION_COUNT)
        event->jit.operation = (enum event_jit_operation)jit->jitOperationType;
    if ((unsigned)jit->jitEntryType < EVENT_JIT_ENTRY_COUNT)
        event->jit.entry = (enum event_jit_entry)jit->jitEntryType;
}

static_assert((int)EVENT_UNIFIED_HTOD == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD &&
                  (int)EVENT_UNIFIED_GPU_FAULT == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT &&
                  (int)EVENT_UNIFIED_COUNT == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT &&
                  EVENT_NO_DEVICE == CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID,
              "the numbers are CUPTI's");

/* Returns the first of the devices that move the same memory back and forth. */
static uint32_t first_device(const CUpti_ActivityUnifiedMemoryCounter3 *counter, uint32_t bytes)
{
    if (bytes < sizeof(*counter))
        return counter->srcId ? (uint32_t)__builtin_ctz(counter->srcId)
                              : EVENT_NO_DEVICE; /* srcId is a mask of devices */
    for (uint32_t i = 0; i < sizeof(counter->processors) / sizeof(*counter->processors); i++)
        if (counter->processors[i])
            return 64 * i + (uint32_t)__builtin_ctzll(counter->processors[i]);
    return EVENT_NO_DEVICE;
}

static void decode_unified_memory(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityUnifiedMemoryCounter3 *counter = at;
    uint32_t what = (uint32_t)counter->counterKind;
    event->unified_memory.what = what < EVENT_UNIFIED_COUNT ? (enum event_unified_memory)what : EVENT_UNIFIED_UNKNOWN;
    what = event->unified_memory.what;
    bool has_end =
        what != EVENT_UNIFIED_CPU_FAULT && what != EVENT_UNIFIED_THRASHING && what != EVENT_UNIFIED_REMOTE_MAP;
    /* CUPTI writes device 0 for the host too, so only this flag tells them apart. */
    bool throttles_host = what == EVENT_UNIFIED_THROTTLING && (counter->flags & CUPTI_ACTIVITY_FLAG_THROTTLING_IN_CPU);
    bool has_source = what != EVENT_UNIFIED_CPU_FAULT && what != EVENT_UNIFIED_HTOD && !throttles_host;
    bool has_target = what == EVENT_UNIFIED_HTOD || what == EVENT_UNIFIED_DTOD || what == EVENT_UNIFIED_REMOTE_MAP;
    event->start = counter->start;
    event->end = has_end ? counter->end : counter->start;
    event->unified_memory.value = counter->value;
    event->unified_memory.address = counter->address;
    event->unified_memory.source = what == EVENT_UNIFIED_THRASHING ? first_device(counter, bytes)
                                   : has_source                    ? counter->srcId
                                                                   : EVENT_NO_DEVICE;
    event->unified_memory.target = has_target ? counter->dstId : EVENT_NO_DEVICE;
    event->unified_memory.process = counter->processId;
    event->unified_memory.flags = counter->flags;
    event->device =
        event->unified_memory.target != EVENT_NO_DEVICE ? event->unified_memory.target : event->unified_memory.source;
}

static void decode_device(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityDevice5 *device = at;
    (void)bytes;
    event->device = device->id;
    struct device *info = &event->device_info;
    info->id = device->id;
    info->name = (uint64_t)(uintptr_t)device->name;
    info->memory_bytes = device->globalMemorySize;
    info->major = device->computeCapabilityMajor;
    info->minor = device->computeCapabilityMinor;
    info->multiprocessors = device->numMultiprocessors;
    info->warp_size = device->numThreadsPerWarp;
    info->max_threads_per_block = device->maxThreadsPerBlock;
    info->max_warps_per_multiprocessor = device->maxWarpsPerMultiprocessor;
    info->max_blocks_per_multiprocessor = device->maxBlocksPerMultiprocessor;
    info->registers_per_block = device->maxRegistersPerBlock;
    info->registers_per_multiprocessor = device->maxRegistersPerMultiprocessor;
    info->shared_per_block = device->maxSharedMemoryPerBlock;
    info->shared_per_multiprocessor = device->maxSharedMemoryPerMultiprocessor;
    memcpy(info->uuid, &device->uuid, sizeof(info->uuid));
}

static void decode_context(struct event *event, const void *at, uint32_t bytes)
{
    const CUpti_ActivityContext3 *context = at;
    (void)bytes;
    event->context = context->contextId;
    event->device = context->deviceId;
}

static const struct decoder {
    void (*decode)(struct event *event, const void *record, uint32_t bytes);
    enum event_type type;
    uint32_t least_bytes;
} decoders[SPOOL_CUPTI_KINDS] = {
#define ROW(number, kind, groups, on, sizes, event, decode, structure, last, ...) \
    [CUPTI_ACTIVITY_KIND_##                                                       \
        kind] = {decode, EVENT_##event,                                           \
                 offsetof(CUpti_Activity##structure, last) + sizeof(((CUpti_Activity##structure *)NULL)->last)},
    CUPTI_KINDS(ROW, ROW)
#undef ROW
};

bool cupti_kind_decoded(uint32_t kind)
{
    return kind < SPOOL_CUPTI_KINDS && decoders[kind].decode;
}

void cupti_decode(struct event *event, const struct cupti_walk *walk)
{
    *event = (struct event){
        .in_flight = walk->in_flight,
        .record = walk->record,
        .device = EVENT_NO_DEVICE,
        .stream = EVENT_NO_STREAM,
    };
    if (walk->kind >= SPOOL_CUPTI_KINDS)
        return;
    const struct decoder *decoder = &decoders[walk->kind];
    if (!decoder->decode || walk->bytes < decoder->least_bytes)
        return;
    event->type = decoder->type;
    decoder->decode(event, walk->record, walk->bytes);
}

#ifdef CUDA_HEADERS_OLD /* they lack some of the structs */
#define SIZE(since, bytes, type)
#else
#define SIZE(since, bytes, type) \
    static_assert((bytes) == sizeof(CUpti_Activity##type), "the size of CUpti_Activity" #type);
#endif
#define KIND(number, kind, groups, on, sizes, ...)                                                     \
    static_assert((number) == CUPTI_ACTIVITY_KIND_##kind, "the number of CUPTI_ACTIVITY_KIND_" #kind); \
    sizes
CUPTI_KINDS(KIND, KIND)
#undef KIND
#undef SIZE

void cupti_record_sizes(uint16_t sizes[SPOOL_CUPTI_KINDS], const struct spool_header *header)
{
    for (uint32_t kind = 0; kind < SPOOL_CUPTI_KINDS; kind++) {
        uint16_t recorded = header->record_bytes[kind];
        sizes[kind] = recorded >= 8 && recorded % 8 == 0 ? recorded : cupti_record_bytes(kind, header->cupti_version);
    }
}

static const char *const runtime_names[] = {
#include "common/runtime_cbid.inc"
};

static const char *const driver_names[] = {
#include "common/driver_cbid.inc"
};

static_assert(sizeof(runtime_names) / sizeof(*runtime_names) <= API_CBID_LIMIT, "limit");
static_assert(sizeof(driver_names) / sizeof(*driver_names) <= API_CBID_LIMIT, "limit");

const char *api_name(unsigned domain, uint32_t cbid)
{
    if (domain == EVENT_API_RUNTIME)
        return cbid < sizeof(runtime_names) / sizeof(*runtime_names) ? runtime_names[cbid] : NULL;
    return cbid < sizeof(driver_names) / sizeof(*driver_names) ? driver_names[cbid] : NULL;
}

unsigned api_sorts(unsigned domain, uint32_t cbid)
{
    static const struct {
        const char *prefix;
        unsigned sorts;
    } known[] = {{"LaunchHostFunc", 0},   {"Launch", LAUNCH_KERNELS},       {"Memcpy", LAUNCH_COPIES},
                 {"Memset", LAUNCH_SETS}, {"GraphLaunch", LAUNCH_ANYTHING}, {"EventRecord", LAUNCH_CUDA_EVENTS}};
    const char *name = api_name(domain, cbid);
    size_t prefix = domain == EVENT_API_RUNTIME ? strlen("cuda") : strlen("cu");
    if (!name || strlen(name) < prefix)
        return 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strncmp(name + prefix, known[i].prefix, strlen(known[i].prefix)) == 0)
            return known[i].sorts;
    return 0;
}

const char *runtime_error_name(int64_t number)
{
    switch (number) {
#include "trace/spool/runtime_errors.inc"
    default: return NULL;
    }
}

const char *driver_error_name(int64_t number)
{
    switch (number) {
#include "trace/spool/driver_errors.inc"
    default: return NULL;
    }
}

static const char *const copy_kinds[] = {
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "HtoD", [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "DtoH",
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOA] = "HtoA", [CUPTI_ACTIVITY_MEMCPY_KIND_ATOH] = "AtoH",
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOA] = "AtoA", [CUPTI_ACTIVITY_MEMCPY_KIND_ATOD] = "AtoD",
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOA] = "DtoA", [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = "DtoD",
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOH] = "HtoH", [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = "PtoP",
};

static const char *const memory_kinds[] = {
    [CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE] = "Pageable",
    [CUPTI_ACTIVITY_MEMORY_KIND_PINNED] = "Pinned",
    [CUPTI_ACTIVITY_MEMORY_KIND_DEVICE] = "Device",
    [CUPTI_ACTIVITY_MEMORY_KIND_ARRAY] = "Array",
    [CUPTI_ACTIVITY_MEMORY_KIND_MANAGED] = "Managed",
    [CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC] = "Device Static",
    [CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC] = "Managed Static",
};

const char *copy_kind_name(unsigned kind)
{
    const char *name = kind < sizeof(copy_kinds) / sizeof(*copy_kinds) ? copy_kinds[kind] : NULL;
    return name ? name : "Unknown";
}

const char *memory_kind_name(unsigned kind)
{
    const char *name = kind < sizeof(memory_kinds) / sizeof(*memory_kinds) ? memory_kinds[kind] : NULL;
    return name ? name : "Unknown";
}
