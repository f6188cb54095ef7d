/*
 * Pools of stream-ordered memory: what memory_pools.h must know of them, and is known from no allocation. Nobody is
 * told.
 */
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/memory_pools.h"

/* From now on it lends without being named. */
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

#define POOLS REGISTRY_BIT(pool_level)
#define POOLS_END(function, forget)                                                                     \
    {                                                                                                   \
        .cbid = CUPTI_DRIVER_TRACE_CBID_##function, .name = #function, .kinds = POOLS, .begins = forget \
    }

static const struct driver_call rows[] = {
    DRIVER_CALL(cuDeviceSetMemPool, POOLS, note_set_pool, NULL),
    POOLS_END(cuMemPoolDestroy, forget_pool),
    POOLS_END(cuDevicePrimaryCtxReset, forget_device),
    POOLS_END(cuDevicePrimaryCtxReset_v2, forget_device),
};

const struct driver_calls pool_calls = DRIVER_CALLS(rows);
