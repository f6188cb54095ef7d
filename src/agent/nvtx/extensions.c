/*
 * NVTX's functions for counters and memory. A counter is defined once, and its values come one by one or in batches.
 * Heaps, regions in them, and permissions are published as the program annotates them; nothing is enforced here.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "common/memory.h"

/* --- counters --- */

/* A counter's schema, from which sampling finds the size of a sample. */
struct known_counter {
    struct nvtx_known known;
    uint64_t schema;
};
static struct nvtx_known_table counters;

/* Returns the bytes of one sample, or 0 if they vary, or the counter or its schema is unknown. */
static uint64_t sample_bytes(const struct nvtx_domain *domain, uint64_t counter)
{
    const struct known_counter *known =
        (const struct known_counter *)nvtx_known_find(&counters, domain->number, counter);
    return nvtx_payload_stride(domain, known ? known->schema : 0);
}

/* Flags of a batch with two times, the second an interval. nvToolsExtCounters.h shifts an int by 32 for them, which no
 * compiler does; so more than two samples with two times need no flag. */
#define BEGIN_AND_INTERVAL (UINT64_C(1) << 32)
#define END_AND_INTERVAL (UINT64_C(2) << 32)

static uint64_t NVTX_API counter_register(nvtxDomainHandle_t handle, const nvtxCounterAttr_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    if (!attributes || domain->off || attributes->structSize < sizeof(*attributes))
        return NVTX_COUNTER_ID_NONE;
    struct gputrace_text name = text_of(attributes->name);
    struct spool_nvtx_counter record = {
        .id = nvtx_definition_id(attributes->counterId),
        .schema = attributes->schemaId,
        .scope = attributes->scopeId,
        .number = nvtx_definition_number(),
        .domain = domain->number,
        .name_length = name.length < SPOOL_NVTX_TEXT_MAX ? name.length : SPOOL_NVTX_TEXT_MAX,
    };
    nvtx_define(NVTX_RECORD(COUNTER, &record, .text = name, .more = text_of(attributes->description)));
    nvtx_semantics_define(attributes->semantics, NVTX_SEMANTICS_OF_COUNTER, record.number, 0);
    struct known_counter *known = fork_unannounced() ? NULL : malloc(sizeof(*known));
    if (!known)
        return record.id;
    *known =
        (struct known_counter){.known = {.id = record.id, .domain = domain->number}, .schema = attributes->schemaId};
    nvtx_known_add(&counters, &known->known);
    return record.id;
}

static void publish_number(nvtxDomainHandle_t handle, uint64_t counter, enum spool_nvtx_sample_kind kind, uint64_t bits)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct spool_nvtx_sample record = {.counter = counter, .bits = bits, .domain = domain->number};
    if (!domain->off)
        nvtx_publish(NVTX_RECORD(SAMPLE, &record, .flags = (uint16_t)kind));
}

#define SAMPLE(name, type, kind, bits)                                                          \
    static void NVTX_API sample_##name(nvtxDomainHandle_t domain, uint64_t counter, type value) \
    {                                                                                           \
        publish_number(domain, counter, SPOOL_NVTX_SAMPLE_##kind, bits);                        \
    }
SAMPLE(int64, int64_t, INTEGER, (uint64_t)value)
SAMPLE(float64, double, REAL, LOAD(uint64_t, &value))
SAMPLE(no_value, uint8_t, NONE, value)

static void NVTX_API sample(nvtxDomainHandle_t handle, uint64_t counter, const void *values, size_t size)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct spool_nvtx_sample record = {.counter = counter, .domain = domain->number};
    if (domain->off || !values)
        return;
    uint64_t vouched = sample_bytes(domain, counter);
    size_t kept = size < SPOOL_NVTX_TEXT_MAX ? size : SPOOL_NVTX_TEXT_MAX;
    kept = kept <= vouched ? kept : program_readable((uintptr_t)values, kept);
    nvtx_publish(NVTX_RECORD(SAMPLE, &record, .flags = SPOOL_NVTX_SAMPLE_BYTES, .text = text_of_bytes(values, kept)));
}

struct batch {
    const nvtxCounterBatch_t *given;
    const char *samples;
    size_t stride, count; /* size of a sample, and number of readable samples */
    size_t times;         /* number of readable times; 0: the samples contain their times */
    bool pair;            /* there are two times, of which the second is an interval */
};

static bool read_batch(struct batch *batch, const struct nvtx_domain *domain, const nvtxCounterBatch_t *given)
{
    uint64_t stride = sample_bytes(domain, given->counterId);
    if (stride == 0 || stride > SPOOL_NVTX_TEXT_MAX || !given->counters)
        return false;
    *batch = (struct batch){.given = given, .samples = given->counters, .stride = (size_t)stride};
    batch->count = program_readable((uintptr_t)given->counters, given->countersSize) / batch->stride;
    if (given->timestamps)
        batch->times = program_readable((uintptr_t)given->timestamps, given->timestampsSize) / sizeof(int64_t);
    bool says_so = (given->flags & (BEGIN_AND_INTERVAL | END_AND_INTERVAL)) != 0;
    batch->pair = batch->times == 2 && (says_so || batch->count > 2);
    if (batch->times > 0 && !batch->pair && batch->times < batch->count)
        batch->count = batch->times;
    return batch->count > 0;
}

static void publish_samples(const struct batch *batch, const struct nvtx_domain *domain, size_t from, size_t count)
{
    struct spool_nvtx_sample record = {
        .counter = batch->given->counterId, .stride = batch->stride, .domain = domain->number};
    struct gputrace_text samples = text_of_bytes(batch->samples + from * batch->stride, count * batch->stride);
    struct gputrace_text times = {0};
    uint16_t kind = batch->pair ? SPOOL_NVTX_SAMPLE_EVERY : SPOOL_NVTX_SAMPLE_BATCH;
    if (batch->pair) {
        /* If the batch has the time of its end, sample I is one interval earlier for each sample after it. Unsigned
         * arithmetic wraps safely for any values of the program. */
        bool from_end = (batch->given->flags & END_AND_INTERVAL) != 0;
        uint64_t steps = from_end ? from - (batch->count - 1) : from;
        record.interval = batch->given->timestamps[1];
        record.first = (int64_t)((uint64_t)batch->given->timestamps[0] + (uint64_t)record.interval * steps);
    } else if (batch->times > 0) {
        record.count = (uint32_t)count;
        times = text_of_bytes((const char *)(batch->given->timestamps + from), count * sizeof(int64_t));
    }
    nvtx_publish(NVTX_RECORD(SAMPLE, &record, .flags = kind, .text = times, .more = samples));
}

static void NVTX_API batch_submit(nvtxDomainHandle_t handle, const nvtxCounterBatch_t *given)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct batch batch;
    if (!given || domain->off || !read_batch(&batch, domain, given))
        return;
    nvtx_clocks_read();
    size_t most = SPOOL_NVTX_TEXT_MAX / (batch.stride > sizeof(int64_t) ? batch.stride : sizeof(int64_t));
    for (size_t from = 0; from < batch.count; from += most)
        publish_samples(&batch, domain, from, batch.count - from < most ? batch.count - from : most);
}

const struct nvtx_function nvtx_counter_functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxCounterRegister, counter_register),
    NVTX_EXTENSION_FUNCTION(nvtxCounterSampleInt64, sample_int64),
    NVTX_EXTENSION_FUNCTION(nvtxCounterSampleFloat64, sample_float64),
    NVTX_EXTENSION_FUNCTION(nvtxCounterSample, sample),
    NVTX_EXTENSION_FUNCTION(nvtxCounterSampleNoValue, sample_no_value),
    NVTX_EXTENSION_FUNCTION(nvtxCounterBatchSubmit, batch_submit),
    {0},
};

/* --- memory --- */

/* Handles for objects without an address are addresses where no memory can be: code that uses one as a pointer crashes
 * at once. */
#define HANDLES UINT64_C(0x4e56000000000000)
#define DEVICE_HANDLES (HANDLES + (UINT64_C(1) << 40))

static uint64_t new_handle(void)
{
    static uint64_t last;
    return HANDLES + __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static void publish_memory(nvtxDomainHandle_t handle, enum spool_nvtx_memory_operation operation,
                           struct spool_nvtx_memory record, struct gputrace_text name)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    record.domain = domain->number;
    if (!domain->off)
        nvtx_publish(NVTX_RECORD(MEMORY, &record, .flags = (uint16_t)operation, .always = true, .text = name));
}

/* Publishes a memory record with the given fields that belongs to no device. */
#define PUBLISH(domain, operation, ...)                                                          \
    publish_memory((domain), (operation), (struct spool_nvtx_memory){.device = -1, __VA_ARGS__}, \
                   (struct gputrace_text){0})

/* Whether a struct of the program has a known version and at least the size of ours. */
#define IS_SOUND(desc) \
    ((desc) && (desc)->extCompatID >> 8 == NVTX_EXT_COMPATID_MEM >> 8 && (desc)->structSize >= sizeof(*(desc)))

#define BATCH_MAX 65536u /* maximum of regions in one call; further regions are left out */

/* The readable elements of a batch, STRIDE bytes apart. */
struct elements {
    const char *first;
    size_t count, stride;
};

/* Returns the list of COUNT elements of the program, empty if elements are shorter than SIZE_OF_ONE. */
static struct elements elements_of(const void *first, size_t count, size_t stride, size_t size_of_one)
{
    struct elements elements = {.first = first, .stride = stride};
    size_t wanted = count < BATCH_MAX ? count : BATCH_MAX;
    if (first && stride >= size_of_one && stride < SPOOL_NVTX_TEXT_MAX)
        elements.count = program_readable((uintptr_t)first, wanted * stride) / stride;
    return elements;
}

/* Copies element I, which may be unaligned, because the program chooses the stride. Returns false behind the last
 * element. */
static bool read_element(const struct elements *elements, size_t i, void *out, size_t size)
{
    if (i >= elements->count)
        return false;
    memcpy(out, elements->first + i * elements->stride, size);
    return true;
}

static void read_virtual(struct spool_nvtx_memory *record, const nvtxMemVirtualRangeDesc_t *range)
{
    record->address = (uintptr_t)range->ptr;
    record->size = range->size;
}

/* Fills in address, size and handle from the description of a heap of this type. */
static void read_heap(struct spool_nvtx_memory *record, const nvtxMemHeapDesc_t *desc)
{
    size_t there = desc->typeSpecificDesc
                       ? program_readable((uintptr_t)desc->typeSpecificDesc, sizeof(nvtxMemVirtualRangeDesc_t))
                       : 0;
    if (desc->type == NVTX_MEM_TYPE_VIRTUAL_ADDRESS &&
        desc->typeSpecificDescSize >= sizeof(nvtxMemVirtualRangeDesc_t) && there == sizeof(nvtxMemVirtualRangeDesc_t))
        read_virtual(record, desc->typeSpecificDesc);
    else if (desc->type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS && desc->typeSpecificDescSize == sizeof(void *) &&
             there >= sizeof(void *))
        record->address = *(const uintptr_t *)desc->typeSpecificDesc; /* the address of a CUDA array */
    record->heap = record->address ? record->address : new_handle();
}

static nvtxMemHeapHandle_t NVTX_API heap_register(nvtxDomainHandle_t handle, nvtxMemHeapDesc_t const *desc)
{
    if (!IS_SOUND(desc))
        return NULL;
    struct nvtx_text text;
    struct spool_nvtx_memory record = {
        .type = desc->type, .usage = desc->usage, .category = desc->category, .device = -1};
    read_heap(&record, desc);
    publish_memory(handle, SPOOL_NVTX_MEMORY_HEAP_REGISTER, record,
                   nvtx_message((int32_t)desc->messageType, desc->message, &text, NULL));
    return (nvtxMemHeapHandle_t)(uintptr_t)record.heap;
}

/* Defines a function NAME with the given PARAMETERS, in brackets, that publishes the given fields. */
#define PUBLISHER(name, operation, parameters, ...)                  \
    static void NVTX_API name parameters                             \
    {                                                                \
        PUBLISH(domain, SPOOL_NVTX_MEMORY_##operation, __VA_ARGS__); \
    }
PUBLISHER(heap_unregister, HEAP_UNREGISTER, (nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap),
          .heap = (uintptr_t)heap)
PUBLISHER(heap_reset, HEAP_RESET, (nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap), .heap = (uintptr_t)heap)
PUBLISHER(permissions_destroy, PERMISSIONS_DESTROY, (nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions),
          .permissions = (uintptr_t)permissions)
PUBLISHER(permissions_reset, PERMISSIONS_RESET, (nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions),
          .permissions = (uintptr_t)permissions)
PUBLISHER(permissions_bind, PERMISSIONS_BIND,
          (nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions, uint32_t scope, uint32_t flags),
          .permissions = (uintptr_t)permissions, .bind_scope = scope, .flags = flags)
PUBLISHER(permissions_unbind, PERMISSIONS_UNBIND, (nvtxDomainHandle_t domain, uint32_t scope), .bind_scope = scope)

static size_t region_size(uint32_t type)
{
    switch (type) {
    case NVTX_MEM_TYPE_VIRTUAL_ADDRESS: return sizeof(nvtxMemVirtualRangeDesc_t);
    case NVTX_MEM_TYPE_CUDA_ARRAY: return sizeof(nvtxMemCudaArrayRangeDesc_t);
    case NVTX_MEM_TYPE_CU_ARRAY: return sizeof(nvtxMemCuArrayRangeDesc_t);
    default: return SIZE_MAX; /* unknown type: no element is long enough */
    }
}
static_assert(sizeof(nvtxMemCudaArrayRangeDesc_t) == sizeof(nvtxMemCuArrayRangeDesc_t), "both are read as one");

/* Returns region I as a record. Elements must be at least as long as the struct of TYPE. */
static struct spool_nvtx_memory read_region(uint32_t type, const struct elements *regions, size_t i)
{
    struct spool_nvtx_memory record = {.type = type, .device = -1};
    nvtxMemVirtualRangeDesc_t range;
    nvtxMemCudaArrayRangeDesc_t array;
    if (type == NVTX_MEM_TYPE_VIRTUAL_ADDRESS) {
        read_element(regions, i, &range, sizeof(range));
        read_virtual(&record, &range);
        record.region = record.address;
        return record;
    }
    read_element(regions, i, &array, sizeof(array));
    record.address = (uintptr_t)array.src;
    for (unsigned k = 0; k < 3; k++) {
        record.offset[k] = array.offset[k];
        record.extent[k] = array.extent[k];
    }
    return record;
}

static void NVTX_API regions_register(nvtxDomainHandle_t handle, nvtxMemRegionsRegisterBatch_t const *desc)
{
    if (!IS_SOUND(desc))
        return;
    struct elements regions = elements_of(desc->regionDescElements, desc->regionCount, desc->regionDescElementSize,
                                          region_size(desc->regionType));
    nvtxMemRegionHandle_t *out = desc->regionHandleElementsOut;
    size_t writable = out ? program_readable((uintptr_t)out, regions.count * sizeof(*out)) / sizeof(*out) : 0;
    for (size_t i = 0; i < regions.count; i++) {
        struct spool_nvtx_memory record = read_region(desc->regionType, &regions, i);
        record.heap = (uintptr_t)desc->heap;
        if (record.region == 0)
            record.region = new_handle();
        if (i < writable)
            memcpy(&out[i], &record.region, sizeof(out[i]));
        publish_memory(handle, SPOOL_NVTX_MEMORY_REGION_REGISTER, record, (struct gputrace_text){0});
    }
}

/* Publishes each region of DESC, one of two structs with the same fields. */
#define PUBLISH_REGIONS(domain, operation, desc, stream_handle)                                                       \
    do {                                                                                                              \
        struct elements regions = {0};                                                                                \
        if (IS_SOUND(desc))                                                                                           \
            regions = elements_of((desc)->regionDescElements, (desc)->regionDescCount, (desc)->regionDescElementSize, \
                                  region_size((desc)->regionType));                                                   \
        for (size_t i = 0; i < regions.count; i++) {                                                                  \
            struct spool_nvtx_memory record = read_region((desc)->regionType, &regions, i);                           \
            record.stream = (stream_handle);                                                                          \
            publish_memory((domain), (operation), record, (struct gputrace_text){0});                                 \
        }                                                                                                             \
    } while (0)

static void NVTX_API regions_resize(nvtxDomainHandle_t domain, nvtxMemRegionsResizeBatch_t const *desc)
{
    PUBLISH_REGIONS(domain, SPOOL_NVTX_MEMORY_REGION_RESIZE, desc, 0);
}

static void NVTX_API cuda_mark_initialized(nvtxDomainHandle_t domain, cudaStream_t stream, uint8_t is_per_thread,
                                           nvtxMemMarkInitializedBatch_t const *desc)
{
    uint64_t handle = (uintptr_t)(is_per_thread && !stream ? cudaStreamPerThread : stream);
    PUBLISH_REGIONS(domain, SPOOL_NVTX_MEMORY_INITIALIZED, desc, handle);
}

static void NVTX_API regions_unregister(nvtxDomainHandle_t domain, nvtxMemRegionsUnregisterBatch_t const *desc)
{
    nvtxMemRegionRef_t region;
    if (!IS_SOUND(desc))
        return;
    struct elements regions = elements_of(desc->refElements, desc->refCount, desc->refElementSize, sizeof(region));
    for (size_t i = 0; read_element(&regions, i, &region, sizeof(region)); i++)
        PUBLISH(domain, SPOOL_NVTX_MEMORY_REGION_UNREGISTER, .region = (uintptr_t)region.pointer);
}

static void NVTX_API regions_name(nvtxDomainHandle_t domain, nvtxMemRegionsNameBatch_t const *desc)
{
    nvtxMemRegionNameDesc_t name;
    struct nvtx_text text;
    if (!IS_SOUND(desc))
        return;
    struct elements names = elements_of(desc->regionElements, desc->regionCount, desc->regionElementSize, sizeof(name));
    for (size_t i = 0; read_element(&names, i, &name, sizeof(name)); i++)
        publish_memory(domain, SPOOL_NVTX_MEMORY_REGION_NAME,
                       (struct spool_nvtx_memory){
                           .region = (uintptr_t)name.region.pointer, .category = name.category, .device = -1},
                       nvtx_message((int32_t)name.nameType, name.name, &text, NULL));
}

static void NVTX_API permissions_assign(nvtxDomainHandle_t domain, nvtxMemPermissionsAssignBatch_t const *desc)
{
    nvtxMemPermissionsAssignRegionDesc_t region;
    if (!IS_SOUND(desc))
        return;
    struct elements regions =
        elements_of(desc->regionElements, desc->regionCount, desc->regionElementSize, sizeof(region));
    for (size_t i = 0; read_element(&regions, i, &region, sizeof(region)); i++)
        PUBLISH(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN, .permissions = (uintptr_t)desc->permissions,
                .region = (uintptr_t)region.region.pointer, .flags = region.flags);
}

static nvtxMemPermissionsHandle_t NVTX_API permissions_create(nvtxDomainHandle_t domain, int32_t flags)
{
    uint64_t permissions = new_handle();
    PUBLISH(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_CREATE, .permissions = permissions, .flags = (uint32_t)flags);
    return (nvtxMemPermissionsHandle_t)(uintptr_t)permissions;
}

/* Publishes and returns the permissions of a device, or of all of CUDA for -1. Their handle never changes. */
static nvtxMemPermissionsHandle_t device_permissions(nvtxDomainHandle_t domain,
                                                     enum spool_nvtx_memory_operation operation, int device)
{
    uint64_t permissions = DEVICE_HANDLES + (uint64_t)((int64_t)device + 1);
    publish_memory(domain, operation, (struct spool_nvtx_memory){.permissions = permissions, .device = device},
                   (struct gputrace_text){0});
    return (nvtxMemPermissionsHandle_t)(uintptr_t)permissions;
}

static nvtxMemPermissionsHandle_t NVTX_API cuda_process_permissions(nvtxDomainHandle_t domain)
{
    return device_permissions(domain, SPOOL_NVTX_MEMORY_PROCESS_PERMISSIONS, -1);
}

static nvtxMemPermissionsHandle_t NVTX_API cuda_device_permissions(nvtxDomainHandle_t domain, int device)
{
    return device_permissions(domain, SPOOL_NVTX_MEMORY_DEVICE_PERMISSIONS, device);
}

static void NVTX_API cuda_set_peer_access(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions, int peer,
                                          uint32_t flags)
{
    publish_memory(domain, SPOOL_NVTX_MEMORY_PEER_ACCESS,
                   (struct spool_nvtx_memory){.permissions = (uintptr_t)permissions, .device = peer, .flags = flags},
                   (struct gputrace_text){0});
}

const struct nvtx_function nvtx_memory_functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxMemHeapRegister, heap_register),
    NVTX_EXTENSION_FUNCTION(nvtxMemHeapUnregister, heap_unregister),
    NVTX_EXTENSION_FUNCTION(nvtxMemHeapReset, heap_reset),
    NVTX_EXTENSION_FUNCTION(nvtxMemRegionsRegister, regions_register),
    NVTX_EXTENSION_FUNCTION(nvtxMemRegionsResize, regions_resize),
    NVTX_EXTENSION_FUNCTION(nvtxMemRegionsUnregister, regions_unregister),
    NVTX_EXTENSION_FUNCTION(nvtxMemRegionsName, regions_name),
    NVTX_EXTENSION_FUNCTION(nvtxMemCudaMarkInitialized, cuda_mark_initialized),
    NVTX_EXTENSION_FUNCTION(nvtxMemPermissionsAssign, permissions_assign),
    NVTX_EXTENSION_FUNCTION(nvtxMemPermissionsCreate, permissions_create),
    NVTX_EXTENSION_FUNCTION(nvtxMemPermissionsDestroy, permissions_destroy),
    NVTX_EXTENSION_FUNCTION(nvtxMemPermissionsReset, permissions_reset),
    NVTX_EXTENSION_FUNCTION(nvtxMemPermissionsBind, permissions_bind),
    NVTX_EXTENSION_FUNCTION(nvtxMemPermissionsUnbind, permissions_unbind),
    NVTX_EXTENSION_FUNCTION(nvtxMemCudaGetProcessWidePermissions, cuda_process_permissions),
    NVTX_EXTENSION_FUNCTION(nvtxMemCudaGetDeviceWidePermissions, cuda_device_permissions),
    NVTX_EXTENSION_FUNCTION(nvtxMemCudaSetPeerAccess, cuda_set_peer_access),
    {0},
};
