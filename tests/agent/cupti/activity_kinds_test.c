#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/registry.h"
#include "common/settings.h"
#include "tests/unit.h"

static bool on[CUPTI_ACTIVITY_KIND_COUNT];

static bool cuda_runs = true;

static CUptiResult enable(CUpti_ActivityKind kind)
{
    if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER && !cuda_runs)
        return CUPTI_ERROR_NOT_READY;
    on[kind] = true;
    return CUPTI_SUCCESS;
}

static CUptiResult disable(CUpti_ActivityKind kind)
{
    on[kind] = false;
    return CUPTI_SUCCESS;
}

/* Functions that are on, and those that were on at any time. */
static struct calls {
    bool on[1024], ever[1024];
} runtime, driver;
static unsigned newer; /* functions that CUPTI knows and our headers do not */

static CUptiResult enable_call(struct calls *calls, CUpti_CallbackId known, CUpti_CallbackId cbid, uint8_t enabled)
{
    if (cbid >= known + newer)
        return CUPTI_ERROR_INVALID_PARAMETER;
    calls->on[cbid] = enabled;
    calls->ever[cbid] |= enabled;
    return CUPTI_SUCCESS;
}

static CUptiResult enable_driver_api(CUpti_CallbackId cbid, uint8_t enabled)
{
    return enable_call(&driver, CUPTI_DRIVER_TRACE_CBID_SIZE, cbid, enabled);
}

static CUptiResult enable_runtime_api(CUpti_CallbackId cbid, uint8_t enabled)
{
    return enable_call(&runtime, CUPTI_RUNTIME_TRACE_CBID_SIZE, cbid, enabled);
}

static unsigned count(const bool *calls)
{
    unsigned n = 0;
    for (unsigned i = 0; i < 1024; i++)
        n += calls[i];
    return n;
}

static bool gpu_times;

static CUptiResult enable_event_times(uint8_t enabled)
{
    gpu_times = enabled;
    return CUPTI_SUCCESS;
}

static CUptiResult configured = CUPTI_SUCCESS; /* what CUPTI answers */
static unsigned counters;

static CUptiResult configure_unified_memory(CUpti_ActivityUnifiedMemoryCounterConfig *configs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        counters += configs[i].enable;
    return configured;
}

static CUptiResult result_string(CUptiResult result, const char **words)
{
    (void)result;
    *words = "words";
    return CUPTI_SUCCESS;
}

static const struct cupti cupti = {
    .cuptiGetResultString = result_string,
    .cuptiActivityConfigureUnifiedMemoryCounter = configure_unified_memory,
    .cuptiActivityEnable = enable,
    .cuptiActivityDisable = disable,
    .cuptiActivityEnableDriverApi = enable_driver_api,
    .cuptiActivityEnableRuntimeApi = enable_runtime_api,
    .cuptiActivityEnableCudaEventDeviceTimestamps = enable_event_times,
};

static void init(const struct cupti *library, uint64_t trace_bits)
{
    memset(on, 0, sizeof(on));
    memset(&runtime, 0, sizeof(runtime));
    memset(&driver, 0, sizeof(driver));
    gpu_times = false;
    activity_kinds_atfork_child();
    activity_kinds_init(library, trace_bits);
}

static void start(uint64_t trace_bits)
{
    init(&cupti, trace_bits);
    activity_kinds_switch(trace_bits, true, true);
}

/* The first context may be made before recording begins. */
UNIT_TEST(calls_are_on_from_the_start)
{
    init(&cupti, TRACE_DEFAULT);
    assert_true(runtime.on[CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000]);
    assert_true(driver.on[CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel]);
    assert_false(on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]);
}

UNIT_TEST(queries_are_never_switched_on_by_default)
{
    start(TRACE_DEFAULT);
    assert_true(runtime.on[CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000]);
    assert_true(runtime.on[CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020]);
    assert_true(driver.on[CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2]);
    assert_false(runtime.ever[CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020]);
    assert_false(runtime.ever[CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020]);
    assert_false(runtime.ever[CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020]);
    assert_false(driver.ever[CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState]);
    assert_false(driver.ever[CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent]);
}

UNIT_TEST(questions_for_the_status_of_work_are_on_with_the_times_of_events)
{
    start(TRACE_DEFAULT);
    assert_false(runtime.ever[CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020]);
    start(TRACE_DEFAULT | TRACE_EVENT_TIMES);
    assert_true(runtime.on[CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020]);
    assert_true(driver.on[CUPTI_DRIVER_TRACE_CBID_cuStreamQuery]);
    assert_false(runtime.on[CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020]);
}

UNIT_TEST(api_all_switches_queries_on)
{
    start(TRACE_DEFAULT | TRACE_API_ALL);
    assert_int_equal(count(runtime.on), CUPTI_RUNTIME_TRACE_CBID_SIZE - 1);
    assert_true(driver.on[CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState]);
    assert_false(driver.ever[CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress]); /* the runtime's own */
}

/* What is in no class is recorded. */
UNIT_TEST(functions_of_a_newer_cupti_are_on)
{
    newer = 20;
    start(TRACE_DEFAULT);
    newer = 0;
    assert_true(runtime.on[CUPTI_RUNTIME_TRACE_CBID_SIZE + 19]);
    assert_true(driver.on[CUPTI_DRIVER_TRACE_CBID_SIZE + 19]);
}

/* Else CUPTI loses count of the calls that threads are in. */
UNIT_TEST(calls_are_never_switched_off)
{
    start(TRACE_DEFAULT);
    unsigned before = count(runtime.on) + count(driver.on);
    assert_true(before > 500);
    activity_kinds_switch(TRACE_DEFAULT, true, false);
    assert_int_equal(count(runtime.on) + count(driver.on), before);
    assert_false(on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]);
}

/* Their callbacks come and go, which they may do only where they are recorded. */
UNIT_TEST(launches_are_recorded_wherever_kernels_are)
{
    driver_calls_init();
    start(TRACE_KERNEL);
    unsigned launches = 0;
    for (CUpti_CallbackId cbid = 0; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++) {
        const struct driver_call *call = driver_call_find(cbid);
        bool comes_and_goes = call && (call->kinds & (REGISTRY_BIT(kernel_launch) | REGISTRY_BIT(graph_launch)));
        assert_int_equal(driver.on[cbid], comes_and_goes);
        launches += comes_and_goes;
    }
    assert_true(launches > 10);
    assert_int_equal(count(runtime.on), 11);
    assert_true(runtime.on[CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000]);
    start(TRACE_MEMCPY | TRACE_COMPILE);
    assert_true(runtime.on[CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000]);
    assert_true(driver.on[CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel]);
    start(TRACE_NVTX | TRACE_MEMORY);
    assert_int_equal(count(runtime.on) + count(driver.on), 0);
}

UNIT_TEST(only_the_api_that_was_asked_for_is_on)
{
    start(TRACE_MEMORY | TRACE_RUNTIME);
    assert_false(driver.ever[CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2]);
    start(TRACE_MEMORY | TRACE_DRIVER);
    assert_int_equal(count(runtime.ever), 0);
}

UNIT_TEST(a_cupti_without_single_switches_gets_the_kinds)
{
    struct cupti old = cupti;
    old.cuptiActivityEnableDriverApi = NULL;
    old.cuptiActivityEnableRuntimeApi = NULL;
    init(&old, TRACE_DEFAULT);
    activity_kinds_switch(TRACE_DEFAULT, true, true);
    assert_true(on[CUPTI_ACTIVITY_KIND_RUNTIME] && on[CUPTI_ACTIVITY_KIND_DRIVER]);
    start(TRACE_DEFAULT);
    assert_false(on[CUPTI_ACTIVITY_KIND_RUNTIME] || on[CUPTI_ACTIVITY_KIND_DRIVER]);
}

static unsigned event_kinds(void)
{
    assert_int_equal(on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION], on[CUPTI_ACTIVITY_KIND_CUDA_EVENT]);
    return on[CUPTI_ACTIVITY_KIND_CUDA_EVENT];
}

UNIT_TEST(kinds_of_waits_and_events_are_off_by_default)
{
    start(TRACE_DEFAULT);
    assert_true(on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]);
    assert_int_equal(event_kinds(), 0);
    start(TRACE_SYNC | TRACE_EVENT);
    assert_int_equal(event_kinds(), 0);
    assert_false(gpu_times);
}

UNIT_TEST(they_are_on_for_the_times_of_events)
{
    start(TRACE_DEFAULT | TRACE_EVENT_TIMES);
    assert_int_equal(event_kinds(), 1);
    activity_kinds_switch(TRACE_DEFAULT | TRACE_EVENT_TIMES, true, false);
    assert_int_equal(event_kinds(), 0);
    start(TRACE_EVENT_TIMES);
    assert_int_equal(event_kinds(), 1);
    assert_true(gpu_times);
}

UNIT_TEST(device_ranges_switch_them_on_while_recording_is)
{
    start(TRACE_DEFAULT);
    assert_int_equal(activity_kinds_want_event_times(), ACTIVITY_TIMES_ON);
    assert_true(gpu_times);
    assert_int_equal(event_kinds(), 1);
    activity_kinds_switch(TRACE_DEFAULT, true, false);
    assert_int_equal(event_kinds(), 0);
    activity_kinds_switch(TRACE_DEFAULT, true, true);
    assert_int_equal(event_kinds(), 1);
}

UNIT_TEST(counters_of_unified_memory_are_configured_before_they_are_on)
{
    counters = 0;
    start(TRACE_DEFAULT);
    assert_false(on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER]);
    start(TRACE_UNIFIED_MEMORY);
    assert_int_equal(counters, 8);
    assert_true(on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER]);
    activity_kinds_switch(TRACE_UNIFIED_MEMORY, true, false);
    assert_false(on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER]);
    activity_kinds_switch(TRACE_UNIFIED_MEMORY, true, true);
    assert_true(on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER]);
}

UNIT_TEST(they_are_tried_again_with_the_first_context_and_not_when_they_are_not_supported)
{
    cuda_runs = false;
    start(TRACE_UNIFIED_MEMORY);
    assert_false(on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER]);
    cuda_runs = true;
    registry_context_creation_publish(&(struct gputrace_context_creation){{.start = 1}});
    assert_true(on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER]);
    configured = CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED;
    counters = 0;
    start(TRACE_UNIFIED_MEMORY);
    registry_context_creation_publish(&(struct gputrace_context_creation){{.start = 1}});
    assert_false(on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER]);
    assert_int_equal(counters, 8);
    configured = CUPTI_SUCCESS;
}

UNIT_MAIN(NULL, NULL)
