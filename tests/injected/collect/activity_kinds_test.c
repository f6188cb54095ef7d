#include "injected/collect/activity_kinds.h"

#include "tests/unit.h"

#include "injected/collect/cupti_library.h"
#include "wire/settings.h"

static bool on[CUPTI_ACTIVITY_KIND_COUNT];

static CUptiResult enable(CUpti_ActivityKind kind)
{
    on[kind] = true;
    return CUPTI_SUCCESS;
}

static CUptiResult disable(CUpti_ActivityKind kind)
{
    on[kind] = false;
    return CUPTI_SUCCESS;
}

static CUptiResult enable_driver_api(CUpti_CallbackId cbid, uint8_t enabled)
{
    (void)cbid, (void)enabled;
    return CUPTI_SUCCESS;
}

static bool gpu_times;

static CUptiResult enable_event_times(uint8_t enabled)
{
    gpu_times = enabled;
    return CUPTI_SUCCESS;
}

static const struct cupti cupti = {
    .cuptiActivityEnable = enable,
    .cuptiActivityDisable = disable,
    .cuptiActivityEnableDriverApi = enable_driver_api,
    .cuptiActivityEnableCudaEventDeviceTimestamps = enable_event_times,
};

static void start(uint64_t trace_bits)
{
    memset(on, 0, sizeof(on));
    gpu_times = false;
    activity_kinds_leave();
    activity_kinds_init(&cupti, trace_bits);
    activity_kinds_switch(trace_bits, true, true);
}

static unsigned event_kinds(void)
{
    assert_int_equal(on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION], on[CUPTI_ACTIVITY_KIND_CUDA_EVENT]);
    return on[CUPTI_ACTIVITY_KIND_CUDA_EVENT];
}

static void kinds_of_waits_and_events_are_off_by_default(void **state)
{
    (void)state;
    start(TRACE_DEFAULT);
    assert_true(on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] && on[CUPTI_ACTIVITY_KIND_RUNTIME]);
    assert_int_equal(event_kinds(), 0);
    start(TRACE_SYNC | TRACE_EVENT);
    assert_int_equal(event_kinds(), 0);
    assert_false(gpu_times);
}

static void they_are_on_for_the_times_of_events(void **state)
{
    (void)state;
    start(TRACE_DEFAULT | TRACE_EVENT_TIMES);
    assert_int_equal(event_kinds(), 1);
    activity_kinds_switch(TRACE_DEFAULT | TRACE_EVENT_TIMES, true, false);
    assert_int_equal(event_kinds(), 0);
    start(TRACE_EVENT_TIMES);
    assert_int_equal(event_kinds(), 1);
    assert_true(gpu_times);
}

static void device_ranges_switch_them_on_while_recording_is(void **state)
{
    (void)state;
    start(TRACE_DEFAULT);
    assert_int_equal(activity_kinds_want_event_times(), ACTIVITY_TIMES_ON);
    assert_true(gpu_times);
    assert_int_equal(event_kinds(), 1);
    activity_kinds_switch(TRACE_DEFAULT, true, false);
    assert_int_equal(event_kinds(), 0);
    activity_kinds_switch(TRACE_DEFAULT, true, true);
    assert_int_equal(event_kinds(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_waits_and_events_are_off_by_default),
        cmocka_unit_test(they_are_on_for_the_times_of_events),
        cmocka_unit_test(device_ranges_switch_them_on_while_recording_is),
    };
    return cmocka_run_group_tests_name("collect/activity_kinds", tests, NULL, NULL);
}
