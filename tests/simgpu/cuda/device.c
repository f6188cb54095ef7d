/* The driver API: devices. */
#include <stdio.h>
#include <string.h>

#include "core/api.h"
#include "core/config.h"
#include "core/pool.h"
#include "core/sim.h"
#include "cuda/need.h"

DRIVER_ANSWER(cuDeviceGet, NEED_DEVICE(device, p->ordinal), device, device->ordinal)
DRIVER_ANSWER(cuDeviceGetCount, NEED_NOTHING, count, device_count())

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

DRIVER_API(cuDeviceCanAccessPeer)
{
    NEED_VALUE(p->canAccessPeer);
    NEED_DEVICE(device, p->dev);
    NEED_DEVICE(peer, p->peerDev);
    *p->canAccessPeer = device != peer;
    return CUDA_SUCCESS;
}

DRIVER_ANSWER(cuDeviceGetDefaultMemPool, NEED_DEVICE(device, p->dev), pool_out, pool_default(device))

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
