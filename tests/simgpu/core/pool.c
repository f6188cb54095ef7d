#include "core/pool.h"

#include <stdlib.h>

#include "core/records.h"
#include "core/sim.h"

CUmemoryPool pool_create(struct device *device, uint64_t most)
{
    CUmemoryPool pool = calloc(1, sizeof(*pool));
    if (!pool)
        abort();
    pool->device = device;
    pool->most = most;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    records_pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, pool, 0);
    return pool;
}

void pool_destroy(CUmemoryPool pool)
{
    records_pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED, pool, 0);
    sim_lock();
    if (pool->device->pool == pool)
        pool->device->pool = NULL;
    sim_unlock();
    free(pool);
}

CUmemoryPool pool_default(struct device *device)
{
    sim_lock();
    CUmemoryPool pool = device->default_pool;
    sim_unlock();
    if (pool)
        return pool;
    pool = pool_create(device, 0);
    sim_lock();
    CUmemoryPool spare = device->default_pool ? pool : NULL; /* another thread was as quick */
    if (!spare)
        device->default_pool = pool;
    pool = device->default_pool;
    sim_unlock();
    free(spare);
    return pool;
}

CUmemoryPool pool_current(struct device *device)
{
    sim_lock();
    CUmemoryPool pool = device->pool;
    sim_unlock();
    return pool ? pool : pool_default(device);
}

bool pool_take(CUmemoryPool pool, size_t size)
{
    sim_lock();
    bool has = !pool->most || pool->used + size <= pool->most;
    if (has)
        pool->used += size;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    sim_unlock();
    return has;
}

void pool_untake(CUmemoryPool pool, size_t size)
{
    sim_lock();
    pool->used -= size;
    sim_unlock();
}
