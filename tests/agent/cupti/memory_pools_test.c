/* Pools: when the driver is asked of them, what is published, and that a destroyed one is never asked. */
#include "agent/cupti/calls_memory.h"

#include <pthread.h>

#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"
#include "tests/agent/cupti/hearing.h"

enum { POOLS = 4 };

/* A driver of a default pool for each device (0, FAKE_DEVICE …) and of pools that the test destroys. */
static struct fake_pool {
    uint64_t reserved, used, reserved_high, used_high;
    bool gone;
} fake_pools[POOLS];
static unsigned asked, asked_gone, asked_openly;
static CUstreamCaptureMode mode;

static CUmemoryPool handle_of(unsigned index)
{
    return (CUmemoryPool)&fake_pools[index];
}

static uint64_t pool_of(unsigned index)
{
    return driver_call_integer(handle_of(index));
}

static CUresult default_pool(CUmemoryPool *pool, CUdevice device)
{
    *pool = handle_of(0);
    return device == FAKE_DEVICE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult attribute(CUmemoryPool handle, CUmemPool_attribute which, void *value)
{
    struct fake_pool *pool = (struct fake_pool *)handle;
    __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
    asked_gone += __atomic_load_n(&pool->gone, __ATOMIC_RELAXED);
    asked_openly += !epoch_reader()->in_client || mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    switch ((int)which) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(uint64_t *)value = pool->reserved; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(uint64_t *)value = pool->reserved_high; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(uint64_t *)value = pool->used; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(uint64_t *)value = pool->used_high; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult exchange_mode(CUstreamCaptureMode *value)
{
    CUstreamCaptureMode before = mode;
    mode = *value;
    *value = before;
    return CUDA_SUCCESS;
}

UNIT_FIXTURE(start)
{
    static const struct driver functions = {.cuDeviceGetDefaultMemPool = default_pool,
                                            .cuMemPoolGetAttribute = attribute,
                                            .cuThreadExchangeStreamCaptureMode = exchange_mode};
    driver_replace(&functions);
    return hearing_start(state);
}

UNIT_FIXTURE(begin)
{
    memory_pools_atfork_child(); /* nothing is known, as in a forked child */
    memory_pools_ask(true);
    memset(fake_pools, 0, sizeof(fake_pools));
    asked = asked_gone = asked_openly = 0;
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    hearing_clear();
    return 0;
}

static void allocate(unsigned index)
{
    static CUdeviceptr out = 0x3000;
    cuMemAllocAsync_params from_default = {&out, 4096, NULL};
    cuMemAllocFromPoolAsync_params from_pool = {&out, 4096, handle_of(index), NULL};
    if (index == 0)
        make_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, &from_default, 0);
    else
        make_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, &from_pool, 0);
}

static void free_some(void)
{
    cuMemFreeAsync_params params = {0x3000, NULL};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, &params, 0);
}

static void destroy(unsigned index)
{
    cuMemPoolDestroy_params params = {handle_of(index)};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuMemPoolDestroy, &params, 0);
    __atomic_store_n(&fake_pools[index].gone, true, __ATOMIC_RELAXED);
}

static unsigned ask(bool all_the_same)
{
    unsigned before = asked;
    hearing_clear();
    memory_pools_ask(all_the_same);
    return asked - before;
}

UNIT_TEST_WITH(nobody_is_asked_before_there_is_a_pool, begin, NULL)
{
    cuMemFree_v2_params params = {0x1000};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, &params, 0);
    assert_false(memory_pools_any());
    assert_int_equal(ask(true), 0);
    assert_int_equal(heard(REGISTRY_plugin_window), 0);
}

UNIT_TEST_WITH(what_has_changed_is_reported_aside, begin, NULL)
{
    allocate(0);
    assert_true(memory_pools_any());
    fake_pools[0] = (struct fake_pool){32, 4, 64, 50, false};
    assert_int_equal(ask(false), 4);
    assert_int_equal(asked_openly, 0);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(heard(REGISTRY_plugin_window), 1);
    assert_int_equal(heard(REGISTRY_pool_level), 1);
    const struct gputrace_pool_level *level = heard_what(REGISTRY_pool_level, 0);
    assert_true(level->pool == pool_of(0) && level->device == FAKE_DEVICE && level->time > 0);
    assert_true(level->reserved == 32 && level->used == 4 && level->reserved_high == 64 && level->used_high == 50);
    allocate(0);
    assert_int_equal(ask(false), 4);
    assert_int_equal(heard(REGISTRY_pool_level), 0); /* it is as it was */
}

static void assert_settles(void)
{
    for (int i = 0; i < MEMORY_POOLS_SETTLING; i++)
        assert_int_equal(ask(false), 4);
    assert_int_equal(ask(false), 0);
}

UNIT_TEST_WITH(it_is_asked_while_it_is_used_or_settles_and_at_the_end, begin, NULL)
{
    allocate(1);
    fake_pools[1] = (struct fake_pool){32, 4, 32, 4, false};
    assert_int_equal(ask(false), 4);
    fake_pools[1].reserved = 16;
    assert_int_equal(ask(false), 4); /* the device may have been waited for since */
    assert_int_equal(heard(REGISTRY_pool_level), 1);
    assert_settles();
    free_some();
    assert_int_equal(ask(false), 4);
    assert_settles();
    assert_int_equal(ask(true), 4);
    assert_int_equal(ask(false), 0);
}

/* Memory that was freed is back when the GPU has got there: long after the call, or when the program has waited. */
UNIT_TEST_WITH(what_is_freed_late_is_reported, begin, NULL)
{
    cuStreamSynchronize_params wait = {NULL};
    allocate(1);
    fake_pools[1] = (struct fake_pool){32, 4, 32, 4, false};
    ask(false);
    free_some();
    for (int i = 0; i < MEMORY_POOLS_SETTLING; i++)
        assert_int_equal(ask(false), 4);
    fake_pools[1].used = 2;
    assert_int_equal(ask(false), 4);
    assert_int_equal(heard(REGISTRY_pool_level), 1);
    assert_settles();
    fake_pools[1].used = 0;
    make_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &wait, 0);
    assert_int_equal(ask(false), 4);
    assert_int_equal(heard(REGISTRY_pool_level), 1);
}

UNIT_TEST_WITH(pools_that_are_set_for_a_device_lend_unnamed, begin, NULL)
{
    cuDeviceSetMemPool_params params = {FAKE_DEVICE, handle_of(2)};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuDeviceSetMemPool, &params, CUDA_ERROR_INVALID_VALUE);
    assert_false(memory_pools_any());
    make_call(CUPTI_DRIVER_TRACE_CBID_cuDeviceSetMemPool, &params, 0);
    allocate(0);
    fake_pools[2] = (struct fake_pool){32, 4, 32, 4, false};
    assert_int_equal(ask(false), 8);
    fake_pools[2].used = 5;
    free_some();
    ask(false);
    assert_int_equal(heard(REGISTRY_pool_level), 1);
    assert_true(((const struct gputrace_pool_level *)heard_what(REGISTRY_pool_level, 0))->pool == pool_of(2));
}

UNIT_TEST_WITH(a_pool_that_goes_is_not_asked_and_holds_nothing, begin, NULL)
{
    allocate(0);
    allocate(1);
    fake_pools[1] = (struct fake_pool){32, 4, 64, 50, false};
    assert_int_equal(ask(false), 8);
    destroy(1);
    assert_int_equal(heard(REGISTRY_pool_level), 1);
    const struct gputrace_pool_level *level = heard_what(REGISTRY_pool_level, 0);
    assert_true(level->pool == pool_of(1) && level->reserved == 0 && level->used == 0 && level->reserved_high == 64);
    assert_int_equal(ask(true), 4);
    destroy(2); /* not known */
    assert_int_equal(heard(REGISTRY_pool_level), 0);
    fake_pools[1] = (struct fake_pool){8, 8, 8, 8, false}; /* the handle is given out again */
    allocate(1);
    assert_int_equal(ask(true), 8);
    assert_int_equal(asked_gone, 0);
}

UNIT_TEST_WITH(a_device_that_is_reset_takes_its_pools_along, begin, NULL)
{
    static const CUpti_CallbackId resets[] = {CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset,
                                              CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2};
    for (size_t i = 0; i < 2; i++) {
        cuDevicePrimaryCtxReset_v2_params other = {FAKE_DEVICE + 1}, reset = {FAKE_DEVICE};
        allocate(0);
        allocate(3);
        make_call(resets[i], &other, 0);
        assert_int_equal(ask(true), 8);
        make_call(resets[i], &reset, 0);
        assert_int_equal(ask(true), 0);
        assert_false(memory_pools_any());
    }
}

UNIT_TEST_WITH(after_the_end_and_in_a_forked_child_nobody_is_asked, begin, NULL)
{
    allocate(0);
    memory_pools_stop();
    assert_int_equal(ask(true), 0);
    memory_pools_atfork_child();
    assert_false(memory_pools_any());
    assert_int_equal(ask(true), 0);
}

/* The service thread asks as fast as it can while pools come and go. */
static bool done;

static void *keep_asking(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
        memory_pools_ask(true);
    return NULL;
}

static void hear_nothing(void *data, const struct gputrace_pool_level *level)
{
    (void)data, (void)level;
}

UNIT_TEST_WITH(no_pool_is_asked_while_it_is_destroyed, begin, NULL)
{
    registry_clear(REGISTRY_LIBRARY, REGISTRY_KIND_COUNT); /* more is published than the tests could hear */
    assert_int_equal(registry_pool_level_register(hear_nothing, NULL), 0);
    pthread_t thread;
    __atomic_store_n(&done, false, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&thread, NULL, keep_asking, NULL), 0);
    for (unsigned round = 0; round < 20000; round++) {
        unsigned index = 1 + round % 3;
        __atomic_store_n(&fake_pools[index].gone, false, __ATOMIC_RELAXED);
        memory_pools_note(pool_of(index), FAKE_DEVICE);
        memory_pools_forget(pool_of(index));
        __atomic_store_n(&fake_pools[index].gone, true, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_int_equal(asked_gone, 0);
}

UNIT_TEST(every_row_was_called)
{
    hearing_covers_only(&memory_calls, REGISTRY_BIT(pool_level));
}

UNIT_MAIN(start, NULL)
