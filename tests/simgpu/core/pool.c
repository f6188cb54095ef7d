#include "core/pool.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/records.h"
#include "core/sim.h"

enum { GRAIN = 32 << 20 }; /* what a pool of an H200 grows by */

static CUmemoryPool pools; /* under the simulator's lock */

static void pool_link(CUmemoryPool pool)
{
    sim_lock();
    pool->next = pools;
    pools = pool;
    sim_unlock();
}

/* With the lock held. */
static void pool_unlink(CUmemoryPool pool)
{
    CUmemoryPool *place = &pools;
    while (*place != pool)
        place = &(*place)->next;
    *place = pool->next;
}

void pool_must_be(CUmemoryPool pool)
{
    sim_lock();
    const struct CUmemPoolHandle_st *place = pools;
    while (place && place != pool)
        place = place->next;
    sim_unlock();
    if (!place) {
        fprintf(stderr, "simgpu: memory pool %p was destroyed, or never was\n", (void *)pool);
        abort();
    }
}

void pool_reset_high(CUmemoryPool pool)
{
    pool->used_high = pool->used_high ? pool->used_high : pool->used;
    pool->reserved_high = pool->reserved_high ? pool->reserved_high : pool->reserved;
}

CUmemoryPool pool_create(struct device *device, uint64_t most)
{
    CUmemoryPool pool = calloc(1, sizeof(*pool));
    if (!pool)
        abort();
    pool->device = device;
    pool->most = most;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    pool_link(pool);
    records_pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, pool, 0);
    return pool;
}

void pool_destroy(CUmemoryPool pool)
{
    records_pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED, pool, 0);
    sim_lock();
    if (pool->device->pool == pool)
        pool->device->pool = NULL;
    pool_unlink(pool);
    pool->destroyed = true;
    bool unused = !pool->used;
    sim_unlock();
    if (unused)
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
    if (spare)
        pool_unlink(spare);
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

static uint64_t pool_grains(uint64_t bytes)
{
    return (bytes + GRAIN - 1) / GRAIN * GRAIN;
}

bool pool_use(CUmemoryPool pool, size_t size)
{
    sim_lock();
    bool has = !pool->most || pool->used + size <= pool->most;
    if (has)
        pool->used += size;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    if (pool->used > pool->reserved)
        pool->reserved = pool_grains(pool->used);
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
    sim_unlock();
    return has;
}

void pool_unuse(CUmemoryPool pool, size_t size)
{
    sim_lock();
    pool->used -= size;
    bool last = pool->destroyed && !pool->used;
    sim_unlock();
    if (last)
        free(pool);
}

/* With the lock held. */
static void pool_lower(CUmemoryPool pool, uint64_t least)
{
    uint64_t wanted = pool_grains(pool->used > least ? pool->used : least);
    if (pool->reserved > wanted)
        pool->reserved = wanted;
}

void pool_trim(CUmemoryPool pool, uint64_t least)
{
    sim_lock();
    pool_lower(pool, least);
    sim_unlock();
}

void pool_settle(struct device *device)
{
    sim_lock();
    for (CUmemoryPool pool = pools; pool; pool = pool->next)
        if (pool->device == device)
            pool_lower(pool, pool->threshold);
    sim_unlock();
}
