#include "injected/collect/cupti_callbacks.h"

#include <errno.h>

#include "injected/collect/driver_calls.h"
#include "tests/injected/collect/fake_cupti.h"
#include "tests/unit.h"

#define RECORD CUPTI_DRIVER_TRACE_CBID_cuEventRecord

static struct gputrace_event_record last;
static unsigned records;

static void hear(void *data, const struct gputrace_event_record *record)
{
    (void)data;
    last = *record;
    records++;
    errno = EBADF;
}

static const cuEventRecord_params params = {(CUevent)0xe1, (CUstream)0x52};

static void another_subscriber_is_told_of(void **state)
{
    (void)state;
    char why[256];
    fake_subscription = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    assert_int_equal(cupti_callbacks_init(&fake_cupti, why, sizeof(why)), -1);
    assert_contains(why, "another profiler");
    fake_subscription = CUPTI_ERROR_NOT_INITIALIZED;
    assert_int_equal(cupti_callbacks_init(&fake_cupti, why, sizeof(why)), -1);
    assert_contains(why, "not initialised");
    assert_int_equal(fake_asked.switches, 0);
    fake_subscription = CUPTI_SUCCESS;
    assert_int_equal(cupti_callbacks_init(&fake_cupti, why, sizeof(why)), 0);
}

static void errno_is_as_before(void **state)
{
    (void)state;
    errno = EDOM;
    fake_call(RECORD, &params, 0);
    assert_int_equal(errno, EDOM);
    assert_int_equal(records, 1);
}

static void a_contexts_numbers_are_asked_for_once(void **state)
{
    (void)state;
    fake_call(RECORD, &params, 0);
    unsigned before = fake_asked.contexts;
    for (unsigned i = 0; i < 5; i++)
        fake_call(RECORD, &params, 0);
    assert_int_equal(fake_asked.contexts, before);
    assert_int_equal(last.call.context_id, FAKE_CONTEXT_ID);
    assert_int_equal(last.call.device, FAKE_DEVICE);
    fake_context = (CUcontext)0x1044;
    fake_call(RECORD, &params, 0);
    assert_int_equal(last.call.context_id, 0x44);
    fake_context = NULL;
    fake_call(RECORD, &params, 0);
    assert_int_equal(last.call.context_id, 0);
    assert_int_equal(last.call.device, GPUTRACE_NO_DEVICE);
    fake_context = FAKE_CONTEXT;
}

/* Somebody registered while the call was going on. */
static void a_call_whose_begin_was_not_heard_has_no_duration(void **state)
{
    (void)state;
    fake_exit(RECORD, &params, 0);
    assert_int_equal(records, 1);
    assert_true(last.call.start == last.call.end && last.call.start > 0);
}

static void what_nobody_wants_is_not_told(void **state)
{
    (void)state;
    cuEventQuery_params query = {(CUevent)0xe1};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuEventQuery, &query, 0);
    assert_int_equal(records, 0);
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuEventQuery));
}

static int clear(void **state)
{
    (void)state;
    records = 0;
    return 0;
}

static int start(void **state)
{
    (void)state;
    return registry_event_record_register(hear, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(another_subscriber_is_told_of, clear),
        cmocka_unit_test_setup(errno_is_as_before, clear),
        cmocka_unit_test_setup(a_contexts_numbers_are_asked_for_once, clear),
        cmocka_unit_test_setup(a_call_whose_begin_was_not_heard_has_no_duration, clear),
        cmocka_unit_test_setup(what_nobody_wants_is_not_told, clear),
    };
    return cmocka_run_group_tests_name("collect/cupti_callbacks", tests, start, NULL);
}
