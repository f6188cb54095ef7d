/*
 * Synchronisation objects of the program's own making: a thread says that it wants one, has it or did not get it, and
 * gives it back. A handle of ours is the object's number.
 */
#include <nvtx3/nvToolsExtSync.h>

#include "common/clock.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/functions.h"
#include "agent/nvtx/message.h"
#include "agent/nvtx/resources.h"
#include "agent/dispatch/registry.h"

static nvtxSyncUser_t NVTX_API create(nvtxDomainHandle_t handle, const nvtxSyncUserAttributes_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text room;
    struct gputrace_text name = {0};
    if (domain->off)
        return NULL;
    if (attributes && NVTX_HAS(attributes, message))
        name = nvtx_message(attributes->messageType, attributes->message, &room, NULL);
    return (nvtxSyncUser_t)(uintptr_t)nvtx_resource_made(domain, SPOOL_NVTX_SYNC_USER, 0, name);
}

static void NVTX_API destroy(nvtxSyncUser_t object)
{
    nvtx_resource_destroyed((uintptr_t)object);
}

static void tell(enum spool_nvtx_what what, nvtxSyncUser_t object)
{
    if (!object)
        return;
    registry_nvtx_sync_publish(
        &(struct gputrace_nvtx_sync){.what = what, .object = (uintptr_t)object, .time = clock_now()});
}

static void NVTX_API acquire_start(nvtxSyncUser_t object)
{
    tell(SPOOL_NVTX_ACQUIRE, object);
}

static void NVTX_API acquire_failed(nvtxSyncUser_t object)
{
    tell(SPOOL_NVTX_ACQUIRE_FAILED, object);
}

static void NVTX_API acquire_success(nvtxSyncUser_t object)
{
    tell(SPOOL_NVTX_ACQUIRED, object);
}

static void NVTX_API releasing(nvtxSyncUser_t object)
{
    tell(SPOOL_NVTX_RELEASE, object);
}

static const struct nvtx_function functions[] = {
    NVTX_FUNCTION(SYNC, DomainSyncUserCreate, create),
    NVTX_FUNCTION(SYNC, DomainSyncUserDestroy, destroy),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireStart, acquire_start),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireFailed, acquire_failed),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireSuccess, acquire_success),
    NVTX_FUNCTION(SYNC, DomainSyncUserReleasing, releasing),
};

const struct nvtx_functions nvtx_syncs = NVTX_FUNCTIONS(functions);
