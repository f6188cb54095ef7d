/*
 * Lists the memory pools that the program uses and asks the driver, in rounds of the service thread, how much each has
 * reserved and lent out. No callback of CUPTI reports that.
 */
#include "agent/cupti/memory_pools.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"
#include "common/clock.h"

/* A place for a pool, which is used again when the pool is gone. */
struct pool {
    struct pool *next;
    uint64_t handle; /* 0: the default one of its device */
    uint32_t device;
    bool known;                           /* the place is taken (release) */
    bool changed;                         /* since it was published; this and what follows under `asking` */
    struct gputrace_pool_level published; /* pool 0: nothing yet */
};

static struct {
    struct pool *first; /* grows at its head, never shrinks */
    bool used;          /* memory was allocated or freed since the last question */
    bool stopped;
    pthread_mutex_t adding; /* of places taken and left; never held while CUDA is called */
    pthread_mutex_t asking; /* the driver, and of what was published; a pool is forgotten under it */
    unsigned settling;      /* questions to come though nothing was used: what is freed goes when the GPU gets there */
} pools = {.adding = PTHREAD_MUTEX_INITIALIZER, .asking = PTHREAD_MUTEX_INITIALIZER};

/* --- what is known --- */

static struct pool *first(void)
{
    return __atomic_load_n(&pools.first, __ATOMIC_ACQUIRE);
}

static bool is_known(const struct pool *pool)
{
    return __atomic_load_n(&pool->known, __ATOMIC_ACQUIRE);
}

static bool has(uint64_t handle, uint32_t device)
{
    for (const struct pool *pool = first(); pool; pool = pool->next)
        if (is_known(pool) && pool->handle == handle && (handle != 0 || pool->device == device))
            return true;
    return false;
}

static struct pool *free_place(void)
{
    for (struct pool *pool = first(); pool; pool = pool->next)
        if (!is_known(pool))
            return pool;
    struct pool *made = calloc(1, sizeof(*made));
    if (made) {
        made->next = first();
        __atomic_store_n(&pools.first, made, __ATOMIC_RELEASE);
    }
    return made;
}

/* Adds a pool to the list. Without memory for it, it is left out. */
static void add(uint64_t handle, uint32_t device)
{
    pthread_mutex_lock(&pools.adding);
    struct pool *pool = has(handle, device) ? NULL : free_place();
    if (pool) {
        pool->handle = handle;
        pool->device = device;
        pool->changed = false;
        pool->published = (struct gputrace_pool_level){0};
        __atomic_store_n(&pool->known, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&pools.adding);
}

static void mark_used(void)
{
    if (!__atomic_load_n(&pools.used, __ATOMIC_RELAXED)) /* a line of memory that many threads read */
        __atomic_store_n(&pools.used, true, __ATOMIC_RELEASE);
}

void memory_pools_note(uint64_t handle, uint32_t device)
{
    if (!has(handle, device))
        add(handle, device);
    mark_used();
}

bool memory_pools_any(void)
{
    for (const struct pool *pool = first(); pool; pool = pool->next)
        if (is_known(pool))
            return true;
    return false;
}

/* Under `asking`. It holds nothing any more; what was the most remains. */
static void forget(struct pool *pool)
{
    struct gputrace_pool_level level = pool->published;
    pthread_mutex_lock(&pools.adding);
    __atomic_store_n(&pool->known, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&pools.adding);
    if (level.pool == 0)
        return;
    level.time = clock_now();
    level.reserved = level.used = 0;
    registry_pool_level_publish(&level);
}

void memory_pools_forget(uint64_t handle)
{
    pthread_mutex_lock(&pools.asking);
    for (struct pool *pool = first(); pool; pool = pool->next)
        if (is_known(pool) && handle != 0 && pool->handle == handle)
            forget(pool);
    pthread_mutex_unlock(&pools.asking);
}

void memory_pools_forget_device(uint32_t device)
{
    pthread_mutex_lock(&pools.asking);
    for (struct pool *pool = first(); pool; pool = pool->next)
        if (is_known(pool) && pool->device == device)
            forget(pool);
    pthread_mutex_unlock(&pools.asking);
}

void memory_pools_returned(void)
{
    if (first())
        mark_used();
}

/* --- asking --- */

static bool is_stopped(void)
{
    return __atomic_load_n(&pools.stopped, __ATOMIC_ACQUIRE);
}

/* What is used comes before what is reserved, and the most after both, so that none is more than the next. */
static bool ask_level(const struct driver *driver, CUmemoryPool pool, struct gputrace_pool_level *level)
{
    const struct {
        CUmemPool_attribute attribute;
        uint64_t *value;
    } questions[] = {
        {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &level->used},
        {CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &level->reserved},
        {CU_MEMPOOL_ATTR_USED_MEM_HIGH, &level->used_high},
        {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &level->reserved_high},
    };
    level->time = clock_now();
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
        if (is_stopped() ||
            driver->cuMemPoolGetAttribute(pool, questions[i].attribute, questions[i].value) != CUDA_SUCCESS)
            return false;
    return true;
}

static void ask_pool(const struct driver *driver, struct pool *pool)
{
    CUmemoryPool handle = (CUmemoryPool)(uintptr_t)pool->handle;
    const struct gputrace_pool_level *before = &pool->published;
    struct gputrace_pool_level level = {.device = pool->device};
    if (!handle && driver->cuDeviceGetDefaultMemPool(&handle, (CUdevice)pool->device) != CUDA_SUCCESS)
        return;
    if (!ask_level(driver, handle, &level))
        return;
    level.pool = (uint64_t)(uintptr_t)handle;
    pool->changed = level.pool != before->pool || level.reserved != before->reserved || level.used != before->used ||
                    level.reserved_high != before->reserved_high || level.used_high != before->used_high;
    if (pool->changed)
        pool->published = level;
}

void memory_pools_ask(bool all_the_same)
{
    struct tracing_suppressed suppressed;
    if (!memory_pools_any() || is_stopped())
        return;
    if (__atomic_exchange_n(&pools.used, false, __ATOMIC_ACQ_REL))
        pools.settling = 1 + MEMORY_POOLS_SETTLING;
    const struct driver *driver = pools.settling > 0 || all_the_same ? driver_functions() : NULL;
    if (!driver || !driver->cuDeviceGetDefaultMemPool || !driver->cuMemPoolGetAttribute)
        return;
    pools.settling -= pools.settling > 0;
    pthread_mutex_lock(&pools.asking);
    if (tracing_suppress(&suppressed)) {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* a question of ours is no danger to a capture */
        driver->cuThreadExchangeStreamCaptureMode(&mode);
        for (struct pool *pool = first(); pool && !is_stopped(); pool = pool->next)
            if (is_known(pool))
                ask_pool(driver, pool);
        driver->cuThreadExchangeStreamCaptureMode(&mode);
        tracing_resume(&suppressed);
        for (struct pool *pool = first(); pool; pool = pool->next) {
            if (!is_known(pool) || !pool->changed)
                continue;
            pool->changed = false;
            pools.settling = MEMORY_POOLS_SETTLING;
            registry_pool_level_publish(&pool->published);
        }
    }
    pthread_mutex_unlock(&pools.asking);
}

void memory_pools_stop(void)
{
    __atomic_store_n(&pools.stopped, true, __ATOMIC_RELEASE);
}

void memory_pools_atfork_child(void)
{
    pthread_mutex_init(&pools.adding, NULL);
    pthread_mutex_init(&pools.asking, NULL);
    pools.used = pools.stopped = false;
    pools.settling = 0;
    for (struct pool *pool = first(); pool; pool = pool->next)
        pool->known = false;
}
