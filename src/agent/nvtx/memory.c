/*
 * Handles for what the program annotates and has no address of its own. They lie where no memory can be: code that
 * takes one for a pointer finds out at once.
 */

#include <stdint.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/extension_headers.h"
#include "agent/nvtx/nvtx.h"
#include "agent/nvtx/program_memory.h"

#define NVTX_MEMORY_HANDLES UINT64_C(0x4e56000000000000)
#define NVTX_MEMORY_DEVICE_HANDLES (NVTX_MEMORY_HANDLES + (UINT64_C(1) << 40))

/* One that was not given out before. */
static inline uint64_t nvtx_memory_handle(void)
{
    static uint64_t last;
    return NVTX_MEMORY_HANDLES + __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* Always the same for a device; -1: all of CUDA. */
static inline uint64_t nvtx_memory_handle_of_device(int device)
{
    return NVTX_MEMORY_DEVICE_HANDLES + (uint64_t)((int64_t)device + 1);
}

/*
 * What functions of NVTX's memory extension share: batches of structs, and publishing.
 */

#define NVTX_MEMORY_VERSION (NVTX_EXT_COMPATID_MEM >> 8)
/* A struct of the program that is of a version known here, and as long as this one. */
#define NVTX_MEMORY_IS_SOUND(desc) \
    ((desc) && (desc)->extCompatID >> 8 == NVTX_MEMORY_VERSION && (desc)->structSize >= sizeof(*(desc)))

/* Elements of a batch, STRIDE bytes apart, that are there. */
struct nvtx_memory_elements {
    const char *first;
    size_t count, stride;
};

/* Of COUNT elements of the program those that can be read; none where they are shorter than SIZE_OF_ONE. */
struct nvtx_memory_elements nvtx_memory_elements(const void *first, size_t count, size_t stride, size_t size_of_one);

/* Copied, for the program says how far they are apart: they may lie anywhere. */
static inline void nvtx_memory_read(const struct nvtx_memory_elements *elements, size_t i, void *out, size_t size)
{
    memcpy(out, elements->first + i * elements->stride, size);
}

static const struct gputrace_text nvtx_no_name;

void publish_memory(const struct nvtx_domain *domain, enum spool_nvtx_memory_operation operation,
                    struct spool_nvtx_memory record, struct gputrace_text name);

/*
 * NVTX's memory extension: heaps and regions in them, as the program annotates them. What is published is what the
 * program says; nothing is enforced here.
 */

#define BATCH_MAX 65536u /* regions of one call; the rest is left out */

struct nvtx_memory_elements nvtx_memory_elements(const void *first, size_t count, size_t stride, size_t size_of_one)
{
    struct nvtx_memory_elements elements = {.first = first, .stride = stride};
    size_t wanted = count < BATCH_MAX ? count : BATCH_MAX;
    if (first && stride >= size_of_one && stride < SPOOL_NVTX_TEXT_MAX)
        elements.count = program_readable((uintptr_t)first, wanted * stride) / stride;
    return elements;
}

void publish_memory(const struct nvtx_domain *domain, enum spool_nvtx_memory_operation operation,
                    struct spool_nvtx_memory record, struct gputrace_text name)
{
    record.domain = domain->number;
    if (domain->off)
        return;
    nvtx_publish(NVTX_RECORD(MEMORY, &record, .flags = (uint16_t)operation, .always = true, .text = name));
}

/* --- heaps --- */

static void read_virtual(struct spool_nvtx_memory *record, const nvtxMemVirtualRangeDesc_t *range)
{
    record->address = (uintptr_t)range->ptr;
    record->size = range->size;
}

/* Fills address, size and handle from what describes a heap of this type. */
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
        record->address = *(const uintptr_t *)desc->typeSpecificDesc; /* an array of CUDA's */
    record->heap = record->address ? record->address : nvtx_memory_handle();
}

static nvtxMemHeapHandle_t NVTX_API heap_register(nvtxDomainHandle_t handle, nvtxMemHeapDesc_t const *desc)
{
    if (!NVTX_MEMORY_IS_SOUND(desc))
        return NULL;
    struct nvtx_text room;
    struct spool_nvtx_memory record = {
        .type = desc->type, .usage = desc->usage, .category = desc->category, .device = -1};
    read_heap(&record, desc);
    publish_memory(nvtx_domain_ours(handle), SPOOL_NVTX_MEMORY_HEAP_REGISTER, record,
                   nvtx_message((int32_t)desc->messageType, desc->message, &room, NULL));
    return (nvtxMemHeapHandle_t)(uintptr_t)record.heap;
}

static void publish_heap(nvtxDomainHandle_t domain, enum spool_nvtx_memory_operation operation,
                         nvtxMemHeapHandle_t heap)
{
    publish_memory(nvtx_domain_ours(domain), operation,
                   (struct spool_nvtx_memory){.heap = (uintptr_t)heap, .device = -1}, nvtx_no_name);
}

static void NVTX_API heap_unregister(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)
{
    publish_heap(domain, SPOOL_NVTX_MEMORY_HEAP_UNREGISTER, heap);
}

static void NVTX_API heap_reset(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)
{
    publish_heap(domain, SPOOL_NVTX_MEMORY_HEAP_RESET, heap);
}

/* --- regions --- */

static size_t region_size(uint32_t type)
{
    switch (type) {
    case NVTX_MEM_TYPE_VIRTUAL_ADDRESS: return sizeof(nvtxMemVirtualRangeDesc_t);
    case NVTX_MEM_TYPE_CUDA_ARRAY: return sizeof(nvtxMemCudaArrayRangeDesc_t);
    case NVTX_MEM_TYPE_CU_ARRAY: return sizeof(nvtxMemCuArrayRangeDesc_t);
    default: return SIZE_MAX; /* not known: no element is long enough */
    }
}
static_assert(sizeof(nvtxMemCudaArrayRangeDesc_t) == sizeof(nvtxMemCuArrayRangeDesc_t), "both are read as one");

/* Of elements that are as long as this type's. */
static struct spool_nvtx_memory read_region(uint32_t type, const struct nvtx_memory_elements *regions, size_t i)
{
    struct spool_nvtx_memory record = {.type = type, .device = -1};
    nvtxMemVirtualRangeDesc_t range;
    nvtxMemCudaArrayRangeDesc_t array;
    if (type == NVTX_MEM_TYPE_VIRTUAL_ADDRESS) {
        nvtx_memory_read(regions, i, &range, sizeof(range));
        read_virtual(&record, &range);
        record.region = record.address;
        return record;
    }
    nvtx_memory_read(regions, i, &array, sizeof(array));
    record.address = (uintptr_t)array.src;
    for (unsigned k = 0; k < 3; k++) {
        record.offset[k] = array.offset[k];
        record.extent[k] = array.extent[k];
    }
    return record;
}

static void NVTX_API regions_register(nvtxDomainHandle_t handle, nvtxMemRegionsRegisterBatch_t const *desc)
{
    if (!NVTX_MEMORY_IS_SOUND(desc))
        return;
    struct nvtx_memory_elements regions = nvtx_memory_elements(
        desc->regionDescElements, desc->regionCount, desc->regionDescElementSize, region_size(desc->regionType));
    nvtxMemRegionHandle_t *out = desc->regionHandleElementsOut;
    size_t room = out ? program_readable((uintptr_t)out, regions.count * sizeof(*out)) / sizeof(*out) : 0;
    for (size_t i = 0; i < regions.count; i++) {
        struct spool_nvtx_memory record = read_region(desc->regionType, &regions, i);
        record.heap = (uintptr_t)desc->heap;
        if (record.region == 0)
            record.region = nvtx_memory_handle();
        if (i < room)
            memcpy(&out[i], &record.region, sizeof(out[i]));
        publish_memory(nvtx_domain_ours(handle), SPOOL_NVTX_MEMORY_REGION_REGISTER, record, nvtx_no_name);
    }
}

static void publish_regions(nvtxDomainHandle_t handle, enum spool_nvtx_memory_operation operation, uint32_t type,
                            struct nvtx_memory_elements regions, uint64_t stream)
{
    for (size_t i = 0; i < regions.count; i++) {
        struct spool_nvtx_memory record = read_region(type, &regions, i);
        record.stream = stream;
        publish_memory(nvtx_domain_ours(handle), operation, record, nvtx_no_name);
    }
}

static void NVTX_API regions_resize(nvtxDomainHandle_t handle, nvtxMemRegionsResizeBatch_t const *desc)
{
    if (NVTX_MEMORY_IS_SOUND(desc))
        publish_regions(handle, SPOOL_NVTX_MEMORY_REGION_RESIZE, desc->regionType,
                        nvtx_memory_elements(desc->regionDescElements, desc->regionDescCount,
                                             desc->regionDescElementSize, region_size(desc->regionType)),
                        0);
}

static void NVTX_API cuda_mark_initialized(nvtxDomainHandle_t handle, cudaStream_t stream, uint8_t is_per_thread,
                                           nvtxMemMarkInitializedBatch_t const *desc)
{
    uint64_t number = (uintptr_t)(is_per_thread && !stream ? cudaStreamPerThread : stream);
    if (NVTX_MEMORY_IS_SOUND(desc))
        publish_regions(handle, SPOOL_NVTX_MEMORY_INITIALIZED, desc->regionType,
                        nvtx_memory_elements(desc->regionDescElements, desc->regionDescCount,
                                             desc->regionDescElementSize, region_size(desc->regionType)),
                        number);
}

static void NVTX_API regions_unregister(nvtxDomainHandle_t handle, nvtxMemRegionsUnregisterBatch_t const *desc)
{
    if (!NVTX_MEMORY_IS_SOUND(desc))
        return;
    struct nvtx_memory_elements references =
        nvtx_memory_elements(desc->refElements, desc->refCount, desc->refElementSize, sizeof(nvtxMemRegionRef_t));
    for (size_t i = 0; i < references.count; i++) {
        nvtxMemRegionRef_t reference;
        nvtx_memory_read(&references, i, &reference, sizeof(reference));
        publish_memory(nvtx_domain_ours(handle), SPOOL_NVTX_MEMORY_REGION_UNREGISTER,
                       (struct spool_nvtx_memory){.region = (uintptr_t)reference.pointer, .device = -1}, nvtx_no_name);
    }
}

static void NVTX_API regions_name(nvtxDomainHandle_t handle, nvtxMemRegionsNameBatch_t const *desc)
{
    if (!NVTX_MEMORY_IS_SOUND(desc))
        return;
    struct nvtx_memory_elements names = nvtx_memory_elements(desc->regionElements, desc->regionCount,
                                                             desc->regionElementSize, sizeof(nvtxMemRegionNameDesc_t));
    for (size_t i = 0; i < names.count; i++) {
        nvtxMemRegionNameDesc_t name;
        struct nvtx_text room;
        nvtx_memory_read(&names, i, &name, sizeof(name));
        publish_memory(nvtx_domain_ours(handle), SPOOL_NVTX_MEMORY_REGION_NAME,
                       (struct spool_nvtx_memory){
                           .region = (uintptr_t)name.region.pointer, .category = name.category, .device = -1},
                       nvtx_message((int32_t)name.nameType, name.name, &room, NULL));
    }
}

/*
 * NVTX's memory extension: permissions of memory, as the program annotates it.
 */

static void NVTX_API permissions_assign(nvtxDomainHandle_t handle, nvtxMemPermissionsAssignBatch_t const *desc)
{
    if (!NVTX_MEMORY_IS_SOUND(desc))
        return;
    struct nvtx_memory_elements regions = nvtx_memory_elements(
        desc->regionElements, desc->regionCount, desc->regionElementSize, sizeof(nvtxMemPermissionsAssignRegionDesc_t));
    for (size_t i = 0; i < regions.count; i++) {
        nvtxMemPermissionsAssignRegionDesc_t region;
        nvtx_memory_read(&regions, i, &region, sizeof(region));
        publish_memory(nvtx_domain_ours(handle), SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN,
                       (struct spool_nvtx_memory){.permissions = (uintptr_t)desc->permissions,
                                                  .region = (uintptr_t)region.region.pointer,
                                                  .flags = region.flags,
                                                  .device = -1},
                       nvtx_no_name);
    }
}

static void publish_permissions(nvtxDomainHandle_t domain, enum spool_nvtx_memory_operation operation,
                                struct spool_nvtx_memory record)
{
    publish_memory(nvtx_domain_ours(domain), operation, record, nvtx_no_name);
}

static nvtxMemPermissionsHandle_t NVTX_API permissions_create(nvtxDomainHandle_t domain, int32_t flags)
{
    uint64_t permissions = nvtx_memory_handle();
    publish_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_CREATE,
                        (struct spool_nvtx_memory){.permissions = permissions, .flags = (uint32_t)flags, .device = -1});
    return (nvtxMemPermissionsHandle_t)(uintptr_t)permissions;
}

static void NVTX_API permissions_destroy(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions)
{
    publish_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_DESTROY,
                        (struct spool_nvtx_memory){.permissions = (uintptr_t)permissions, .device = -1});
}

static void NVTX_API permissions_reset(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions)
{
    publish_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_RESET,
                        (struct spool_nvtx_memory){.permissions = (uintptr_t)permissions, .device = -1});
}

static void NVTX_API permissions_bind(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions, uint32_t scope,
                                      uint32_t flags)
{
    publish_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_BIND,
                        (struct spool_nvtx_memory){
                            .permissions = (uintptr_t)permissions, .bind_scope = scope, .flags = flags, .device = -1});
}

static void NVTX_API permissions_unbind(nvtxDomainHandle_t domain, uint32_t scope)
{
    publish_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_UNBIND,
                        (struct spool_nvtx_memory){.bind_scope = scope, .device = -1});
}

/* --- CUDA's --- */

static nvtxMemPermissionsHandle_t NVTX_API cuda_process_permissions(nvtxDomainHandle_t domain)
{
    uint64_t permissions = nvtx_memory_handle_of_device(-1);
    publish_permissions(domain, SPOOL_NVTX_MEMORY_PROCESS_PERMISSIONS,
                        (struct spool_nvtx_memory){.permissions = permissions, .device = -1});
    return (nvtxMemPermissionsHandle_t)(uintptr_t)permissions;
}

static nvtxMemPermissionsHandle_t NVTX_API cuda_device_permissions(nvtxDomainHandle_t domain, int device)
{
    uint64_t permissions = nvtx_memory_handle_of_device(device);
    publish_permissions(domain, SPOOL_NVTX_MEMORY_DEVICE_PERMISSIONS,
                        (struct spool_nvtx_memory){.permissions = permissions, .device = device});
    return (nvtxMemPermissionsHandle_t)(uintptr_t)permissions;
}

static void NVTX_API cuda_set_peer_access(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions, int peer,
                                          uint32_t flags)
{
    publish_permissions(
        domain, SPOOL_NVTX_MEMORY_PEER_ACCESS,
        (struct spool_nvtx_memory){.permissions = (uintptr_t)permissions, .device = peer, .flags = flags});
}

static const struct nvtx_extension_function functions[] = {
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
};

const struct nvtx_extension_functions nvtx_memory_functions = NVTX_EXTENSION_FUNCTIONS(functions);
