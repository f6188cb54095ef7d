/* The correlation id of an own cuEventRecord, which nobody else gets. */
#include "agent/cupti/driver_calls.h"

#include <pthread.h>

#include "tests/agent/cupti/hearing.h"

static cuEventRecord_params params = {(CUevent)0xe1, (CUstream)0x52};

static void record(void)
{
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuEventRecord, &params, CUDA_SUCCESS);
}

UNIT_TEST(a_call_that_was_waited_for_gives_its_id_alone)
{
    hearing_clear();
    fake_correlation = 5;
    event_watch_begin();
    record();
    fake_correlation = 6;
    assert_int_equal(event_watch_end(), 5);
    assert_int_equal(heard_in_all(), 0);
    record();
    assert_int_equal(heard(REGISTRY_event_record), 1);
    event_watch_begin();
    assert_int_equal(event_watch_end(), 0); /* there was no call */
    fake_correlation = 0;
}

static void *record_there(void *unused)
{
    record();
    return unused;
}

UNIT_TEST(calls_of_other_threads_and_functions_are_not_meant)
{
    pthread_t thread;
    cuEventQuery_params query = {(CUevent)0xe1};
    hearing_clear();
    event_watch_begin();
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuEventQuery, &query, CUDA_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, record_there, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(event_watch_end(), 0);
    assert_int_equal(heard(REGISTRY_event_query), 1);
    assert_int_equal(heard(REGISTRY_event_record), 1);
}

/* The one that registers and removes callbacks meanwhile. */
UNIT_TEST(its_callback_stays_on)
{
    callback_switches_need(CALLBACKS_EVENT_WATCH, true);
    callback_switches_need(CALLBACKS_EVENT_WATCH, true);
    registry_clear(REGISTRY_LIBRARY, REGISTRY_KIND_COUNT);
    assert_int_equal(fake_count_on(CUPTI_CB_DOMAIN_DRIVER_API), 1);
    fake_correlation = 7;
    event_watch_begin();
    record();
    assert_int_equal(event_watch_end(), 7);
}

UNIT_MAIN(hearing_start, NULL)
