/* The driver API: devices. */
#include <stdio.h>
#include <string.h>

#include "core/api.h"
#include "core/config.h"
#include "core/pool.h"
#include "core/sim.h"
#include "cuda/need.h"

DRIVER_API(cuDeviceGet)
{
    NEED_VALUE(p->device);
    NEED_DEVICE(device, p->ordinal);
    *p->device = device->ordinal;
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetCount)
{
    NEED_VALUE(p->count);
    *p->count = device_count();
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetName)
{
    NEED_VALUE(p->name && p->len > 0);
    NEED_DEVICE(device, p->dev);
    (void)device;
    snprintf(p->name, (size_t)p->len, "Simulated GPU");
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetUuid_v2)
{
    NEED_VALUE(p->uuid);
    NEED_DEVICE(device, p->dev);
    device_uuid(device, p->uuid);
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceTotalMem_v2)
{
    NEED_VALUE(p->bytes);
    NEED_DEVICE(device, p->dev);
    (void)device;
    *p->bytes = config()->memory;
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetAttribute)
{
    NEED_VALUE(p->pi);
    NEED_DEVICE(device, p->dev);
    return device_attribute(device, p->attrib, p->pi) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_API(cuDeviceComputeCapability)
{
    NEED_VALUE(p->major && p->minor);
    NEED_DEVICE(device, p->dev);
    device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, p->major);
    device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, p->minor);
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetPCIBusId)
{
    NEED_VALUE(p->pciBusId && p->len > 0);
    NEED_DEVICE(device, p->dev);
    snprintf(p->pciBusId, (size_t)p->len, "0000:%02X:00.0", device->ordinal + 1);
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetByPCIBusId)
{
    NEED_VALUE(p->dev && p->pciBusId);
    unsigned domain, bus, slot;
    if (sscanf(p->pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3)
        return CUDA_ERROR_INVALID_VALUE;
    NEED_DEVICE(device, (int)bus - 1);
    *p->dev = device->ordinal;
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceCanAccessPeer)
{
    NEED_VALUE(p->canAccessPeer);
    NEED_DEVICE(device, p->dev);
    NEED_DEVICE(peer, p->peerDev);
    *p->canAccessPeer = device != peer;
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetP2PAttribute)
{
    NEED_VALUE(p->value);
    NEED_DEVICE(from, p->srcDevice);
    NEED_DEVICE(to, p->dstDevice);
    NEED(from != to, CUDA_ERROR_INVALID_DEVICE);
    *p->value = p->attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetDefaultMemPool)
{
    NEED_VALUE(p->pool_out);
    NEED_DEVICE(device, p->dev);
    *p->pool_out = pool_default(device);
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetMemPool)
{
    NEED_VALUE(p->pool);
    NEED_DEVICE(device, p->dev);
    *p->pool = pool_current(device);
    return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceSetMemPool)
{
    NEED_DEVICE(device, p->dev);
    NEED_VALUE(p->pool && p->pool->device == device);
    sim_lock();
    device->pool = p->pool;
    sim_unlock();
    return CUDA_SUCCESS;
}

/* ---- the primary context ---- */

DRIVER_API(cuDevicePrimaryCtxRetain)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one thread makes it, the others wait for it */
    NEED_VALUE(p->pctx);
    NEED_DEVICE(device, p->dev);
    pthread_mutex_lock(&lock);
    if (!device->primary)
        device->primary = context_create(device, device->primary_flags, true);
    device->primary_references++;
    *p->pctx = device->primary;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static CUresult primary_reset(struct device *device)
{
    CUcontext context = device->primary;
    device->primary = NULL;
    device->primary_references = 0;
    if (context)
        context_destroy(context);
    return CUDA_SUCCESS;
}

DRIVER_API(cuDevicePrimaryCtxRelease_v2)
{
    NEED_DEVICE(device, p->dev);
    NEED(device->primary_references, CUDA_ERROR_INVALID_CONTEXT);
    return --device->primary_references ? CUDA_SUCCESS : primary_reset(device);
}

DRIVER_API(cuDevicePrimaryCtxReset_v2)
{
    NEED_DEVICE(device, p->dev);
    return primary_reset(device);
}

DRIVER_API(cuDevicePrimaryCtxSetFlags_v2)
{
    NEED_DEVICE(device, p->dev);
    device->primary_flags = p->flags;
    return CUDA_SUCCESS;
}

DRIVER_API(cuDevicePrimaryCtxGetState)
{
    NEED_VALUE(p->flags && p->active);
    NEED_DEVICE(device, p->dev);
    *p->flags = device->primary_flags;
    *p->active = device->primary != NULL;
    return CUDA_SUCCESS;
}
