
#include <errno.h>

#include "agent/cupti/driver_calls.h"
#include "common/clock.h"
#include "tests/agent/cupti/fake_cupti.h"
#include "tests/unit.h"

UNIT_FIXTURE(clear);

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

UNIT_TEST_WITH(another_subscriber_is_reported, clear, NULL)
{
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

UNIT_TEST_WITH(errno_is_as_before, clear, NULL)
{
    errno = EDOM;
    fake_call(RECORD, &params, 0);
    assert_int_equal(errno, EDOM);
    assert_int_equal(records, 1);
}

UNIT_TEST_WITH(a_contexts_numbers_are_asked_for_once, clear, NULL)
{
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
UNIT_TEST_WITH(a_call_whose_begin_was_not_heard_has_no_duration, clear, NULL)
{
    fake_exit(RECORD, &params, 0);
    assert_int_equal(records, 1);
    assert_true(last.call.start == last.call.end && last.call.start > 0);
}

UNIT_TEST_WITH(what_nobody_wants_is_not_reported, clear, NULL)
{
    cuEventQuery_params query = {(CUevent)0xe1};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuEventQuery, &query, 0);
    assert_int_equal(records, 0);
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuEventQuery));
}

/* The event of the next record and its stream are destroyed in between; another stream gets the address. */
UNIT_TEST_WITH(a_streams_number_is_asked_for_until_a_stream_goes, clear, NULL)
{
    fake_call(RECORD, &params, 0);
    unsigned before = fake_asked.streams;
    for (unsigned i = 0; i < 5; i++)
        fake_call(RECORD, &params, 0);
    assert_int_equal(fake_asked.streams, before);
    assert_int_equal(last.stream_id, 0x52);
    assert_true(fake_is_on(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING));
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, fake_context, params.hStream, NULL);
    before = fake_asked.streams;
    fake_call(RECORD, &params, 0);
    assert_int_equal(fake_asked.streams, before + 1);
}

/* No callback reported the streams that were destroyed meanwhile. */
UNIT_TEST_WITH(streams_are_asked_for_again_when_nobody_listened, clear, NULL)
{
    fake_call(RECORD, &params, 0);
    unsigned before = fake_asked.streams;
    registry_clear(REGISTRY_LIBRARY, REGISTRY_event_record);
    assert_int_equal(registry_event_record_register(hear, NULL), 0);
    fake_call(RECORD, &params, 0);
    assert_int_equal(fake_asked.streams, before + 1);
}

/* The last test: a client has registered from here on. */
UNIT_TEST_WITH(a_client_is_reported_when_what_is_brief_ends, clear, NULL)
{
    fake_call(RECORD, &params, 0);
    assert_int_equal(last.call.end, last.call.start);
    assert_in_range(clock_now() - last.call.start, 0, NS_PER_S);
    uint64_t registration =
        registry_add(REGISTRY_PROGRAM, REGISTRY_event_record, (gputrace_any_fn *)(void (*)(void))hear, NULL);
    assert_true(registration != 0);
    fake_enter(RECORD, &params);
    uint64_t within = clock_now();
    fake_exit(RECORD, &params, 0);
    assert_true(last.call.start <= within && within <= last.call.end);
    assert_int_equal(records, 3);
    assert_int_equal(registry_remove(REGISTRY_PROGRAM, registration), 0);
}

UNIT_FIXTURE(clear)
{
    records = 0;
    return 0;
}

UNIT_FIXTURE(start)
{
    return registry_event_record_register(hear, NULL);
}

UNIT_MAIN(start, NULL)
