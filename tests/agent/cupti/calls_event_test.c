#include "tests/agent/cupti/hearing.h"

#include "agent/cupti/cupti_library.h"
#include "agent/cupti/graphs.h"

static const CUevent event = (CUevent)0xe1, other = (CUevent)0xe2;
static const CUstream stream = (CUstream)0x52;

static void creation_tells_the_event_and_its_flags(void **state)
{
    (void)state;
    CUevent made = event;
    cuEventCreate_params p = {&made, CU_EVENT_DISABLE_TIMING};
    const struct gputrace_event_creation *heard_of = HEAR(event_creation, cuEventCreate, &p, 0);
    assert_ptr_equal(heard_of->event, event);
    assert_int_equal(heard_of->flags, CU_EVENT_DISABLE_TIMING);
    p.phEvent = NULL;
    heard_of = HEAR(event_creation, cuEventCreate, &p, CUDA_ERROR_OUT_OF_MEMORY);
    assert_null(heard_of->event);
}

static void deletion_tells_the_event(void **state)
{
    (void)state;
#define CHECK(function)                                                                                \
    do {                                                                                               \
        function##_params p = {event};                                                                 \
        assert_ptr_equal(HEAR(event_deletion, function, &p, 0)->event, event);                         \
        assert_ptr_equal(HEAR(event_deletion, function, &p, CUDA_ERROR_INVALID_HANDLE)->event, event); \
    } while (0)
    CHECK(cuEventDestroy);
    CHECK(cuEventDestroy_v2);
#undef CHECK
}

static void records_tell_event_and_stream(void **state)
{
    (void)state;
#define CHECK(function, per_thread)                                                         \
    do {                                                                                    \
        function##_params p = {.hEvent = event, .hStream = stream};                         \
        const struct gputrace_event_record *heard_of = HEAR(event_record, function, &p, 0); \
        assert_ptr_equal(heard_of->event, event);                                           \
        assert_ptr_equal(heard_of->stream, stream);                                         \
        assert_int_equal(heard_of->flags, 0);                                               \
        assert_int_equal(heard_of->whole_context, 0);                                       \
        assert_int_equal(heard_of->stream_id, 0x52);                                        \
        assert_int_equal(heard_of->captured, 0);                                            \
        p.hStream = NULL;                                                                   \
        heard_of = HEAR(event_record, function, &p, CUDA_ERROR_INVALID_HANDLE);             \
        assert_ptr_equal(heard_of->stream, default_stream(per_thread));                     \
        assert_int_equal(heard_of->stream_id, GPUTRACE_NO_STREAM);                          \
        heard_of = HEAR(event_record, function, &p, 0);                                     \
        assert_int_equal(heard_of->stream_id, 7 + per_thread);                              \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuEventRecord);
    PLAIN_AND_PTSZ(CHECK, cuEventRecordWithFlags);
#undef CHECK
    cuEventRecordWithFlags_params p = {event, stream, CU_EVENT_RECORD_EXTERNAL};
    assert_int_equal(HEAR(event_record, cuEventRecordWithFlags, &p, 0)->flags, CU_EVENT_RECORD_EXTERNAL);
}

static void records_of_a_context_say_so(void **state)
{
    (void)state;
    cuCtxRecordEvent_params p = {FAKE_CONTEXT, event};
    assert_int_equal(HEAR(event_record, cuCtxRecordEvent, &p, 0)->whole_context, 1);
    assert_int_equal(HEAR(event_record, cuCtxRecordEvent, &p, 0)->stream_id, GPUTRACE_NO_STREAM);
    cuGreenCtxRecordEvent_params green = {(CUgreenCtx)0x9, event};
    assert_int_equal(HEAR(event_record, cuGreenCtxRecordEvent, &green, 0)->whole_context, 1);
    assert_int_equal(HEAR(event_record, cuGreenCtxRecordEvent, &green, 0)->stream_id, GPUTRACE_NO_STREAM);
    p.hCtx = (CUcontext)0x1022;
    make_call(CUPTI_DRIVER_TRACE_CBID_cuCtxRecordEvent, &p, 0);
    const struct gputrace_event_record *heard_of = heard_what(REGISTRY_event_record, 0);
    assert_ptr_equal(heard_of->call.context, (CUcontext)0x1022); /* the one that was named, not the thread's */
    assert_int_equal(heard_of->call.context_id, 0x22);
}

static unsigned asked;

/* The stream of the tests is in a capture, and the legacy default stream may not be asked about. */
static CUresult is_capturing(CUstream of, CUstreamCaptureStatus *status)
{
    asked++;
    *status = of == stream ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return of ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

static void records_that_are_captured_say_so(void **state)
{
    (void)state;
    cuEventRecord_params p = {event, stream};
    driver_replace(&(struct driver){.cuStreamIsCapturing = is_capturing});
    assert_int_equal(HEAR(event_record, cuEventRecord, &p, 0)->captured, 0);
    assert_int_equal(asked, 0); /* nothing is captured: there is nothing to ask */
    captures_begin();
    assert_int_equal(HEAR(event_record, cuEventRecord, &p, 0)->captured, 1);
    assert_int_equal(HEAR(event_record, cuEventRecord, &p, CUDA_ERROR_INVALID_HANDLE)->captured, 0);
    assert_int_equal(asked, 1); /* not about a handle that may be none */
    p.hStream = NULL;
    assert_int_equal(HEAR(event_record, cuEventRecord, &p, 0)->captured, 0);
    captures_end();
    captures_end(); /* of one that nobody heard begin */
    p.hStream = stream;
    assert_int_equal(HEAR(event_record, cuEventRecord, &p, 0)->captured, 0);
    assert_int_equal(asked, 2);
    driver_replace(NULL);
}

static void synchronisation_and_query_tell_the_event(void **state)
{
    (void)state;
    cuEventSynchronize_params wait = {event};
    assert_ptr_equal(HEAR(event_synchronization, cuEventSynchronize, &wait, 0)->event, event);
    assert_ptr_equal(HEAR(event_synchronization, cuEventSynchronize, &wait, CUDA_ERROR_LAUNCH_FAILED)->event, event);
    cuEventQuery_params query = {event};
    assert_ptr_equal(HEAR(event_query, cuEventQuery, &query, 0)->event, event);
    assert_int_equal(HEAR(event_query, cuEventQuery, &query, CUDA_ERROR_NOT_READY)->call.result, 600);
}

/* It proves that both are done; when it fails it proves nothing. */
static void elapsed_time_is_a_query_of_both(void **state)
{
    (void)state;
    cuEventElapsedTime_v2_params p = {NULL, event, other};
    static const CUpti_CallbackId cbids[] = {CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime,
                                             CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime_v2};
    for (unsigned i = 0; i < 2; i++) {
        make_call(cbids[i], &p, 0);
        assert_int_equal(heard(REGISTRY_event_query), 2);
        assert_ptr_equal(((const struct gputrace_event_query *)heard_what(REGISTRY_event_query, 0))->event, event);
        assert_ptr_equal(((const struct gputrace_event_query *)heard_what(REGISTRY_event_query, 1))->event, other);
        make_call(cbids[i], &p, CUDA_ERROR_NOT_READY);
        assert_int_equal(heard_in_all(), 0);
    }
}

static void every_row_was_called(void **state)
{
    (void)state;
    hearing_covers(&sync_calls, REGISTRY_BIT(event_creation) | REGISTRY_BIT(event_deletion) |
                                    REGISTRY_BIT(event_record) | REGISTRY_BIT(event_synchronization) |
                                    REGISTRY_BIT(event_query));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_tells_the_event_and_its_flags),
        cmocka_unit_test(deletion_tells_the_event),
        cmocka_unit_test(records_tell_event_and_stream),
        cmocka_unit_test(records_of_a_context_say_so),
        cmocka_unit_test(records_that_are_captured_say_so),
        cmocka_unit_test(synchronisation_and_query_tell_the_event),
        cmocka_unit_test(elapsed_time_is_a_query_of_both),
        cmocka_unit_test(every_row_was_called),
    };
    return cmocka_run_group_tests_name("agent/cupti/calls_event", tests, hearing_start, NULL);
}
