/*
 * NVTX's memory extension: who may do what with memory, as the program annotates it.
 */
#include "agent/nvtx/extensions.h"
#include "agent/nvtx/memory_calls.h"
#include "agent/nvtx/memory_handles.h"

static void NVTX_API permissions_assign(nvtxDomainHandle_t handle, nvtxMemPermissionsAssignBatch_t const *desc)
{
    if (!NVTX_MEMORY_IS_SOUND(desc))
        return;
    struct nvtx_memory_elements regions = nvtx_memory_elements(
        desc->regionElements, desc->regionCount, desc->regionElementSize, sizeof(nvtxMemPermissionsAssignRegionDesc_t));
    for (size_t i = 0; i < regions.count; i++) {
        nvtxMemPermissionsAssignRegionDesc_t region;
        nvtx_memory_read(&regions, i, &region, sizeof(region));
        nvtx_memory_tell(nvtx_domain_ours(handle), SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN,
                         (struct spool_nvtx_memory){.permissions = (uintptr_t)desc->permissions,
                                                    .region = (uintptr_t)region.region.pointer,
                                                    .flags = region.flags,
                                                    .device = -1},
                         nvtx_no_name);
    }
}

static void tell_permissions(nvtxDomainHandle_t domain, enum spool_nvtx_memory_operation operation,
                             struct spool_nvtx_memory record)
{
    nvtx_memory_tell(nvtx_domain_ours(domain), operation, record, nvtx_no_name);
}

static nvtxMemPermissionsHandle_t NVTX_API permissions_create(nvtxDomainHandle_t domain, int32_t flags)
{
    uint64_t permissions = nvtx_memory_handle();
    tell_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_CREATE,
                     (struct spool_nvtx_memory){.permissions = permissions, .flags = (uint32_t)flags, .device = -1});
    return (nvtxMemPermissionsHandle_t)(uintptr_t)permissions;
}

static void NVTX_API permissions_destroy(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions)
{
    tell_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_DESTROY,
                     (struct spool_nvtx_memory){.permissions = (uintptr_t)permissions, .device = -1});
}

static void NVTX_API permissions_reset(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions)
{
    tell_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_RESET,
                     (struct spool_nvtx_memory){.permissions = (uintptr_t)permissions, .device = -1});
}

static void NVTX_API permissions_bind(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions, uint32_t scope,
                                      uint32_t flags)
{
    tell_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_BIND,
                     (struct spool_nvtx_memory){
                         .permissions = (uintptr_t)permissions, .bind_scope = scope, .flags = flags, .device = -1});
}

static void NVTX_API permissions_unbind(nvtxDomainHandle_t domain, uint32_t scope)
{
    tell_permissions(domain, SPOOL_NVTX_MEMORY_PERMISSIONS_UNBIND,
                     (struct spool_nvtx_memory){.bind_scope = scope, .device = -1});
}

/* --- CUDA's --- */

static nvtxMemPermissionsHandle_t NVTX_API cuda_process_permissions(nvtxDomainHandle_t domain)
{
    uint64_t permissions = nvtx_memory_handle_of_device(-1);
    tell_permissions(domain, SPOOL_NVTX_MEMORY_PROCESS_PERMISSIONS,
                     (struct spool_nvtx_memory){.permissions = permissions, .device = -1});
    return (nvtxMemPermissionsHandle_t)(uintptr_t)permissions;
}

static nvtxMemPermissionsHandle_t NVTX_API cuda_device_permissions(nvtxDomainHandle_t domain, int device)
{
    uint64_t permissions = nvtx_memory_handle_of_device(device);
    tell_permissions(domain, SPOOL_NVTX_MEMORY_DEVICE_PERMISSIONS,
                     (struct spool_nvtx_memory){.permissions = permissions, .device = device});
    return (nvtxMemPermissionsHandle_t)(uintptr_t)permissions;
}

static void NVTX_API cuda_set_peer_access(nvtxDomainHandle_t domain, nvtxMemPermissionsHandle_t permissions, int peer,
                                          uint32_t flags)
{
    tell_permissions(domain, SPOOL_NVTX_MEMORY_PEER_ACCESS,
                     (struct spool_nvtx_memory){.permissions = (uintptr_t)permissions, .device = peer, .flags = flags});
}

static const struct nvtx_extension_function functions[] = {
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

const struct nvtx_extension_functions nvtx_permission_functions = NVTX_EXTENSION_FUNCTIONS(functions);
