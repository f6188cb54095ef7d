#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graphs.h"
#include "tests/agent/cupti/hearing.h"

static const CUevent event = (CUevent)0xe1;
static const CUstream stream = (CUstream)0x52;

UNIT_TEST(a_streams_wait_tells_stream_event_and_flags)
{
#define CHECK(function, per_thread)                                                 \
    do {                                                                            \
        function##_params p = {stream, event, CU_EVENT_WAIT_EXTERNAL};              \
        const struct gputrace_event_wait *wait = HEAR(event_wait, function, &p, 0); \
        assert_ptr_equal(wait->stream, stream);                                     \
        assert_ptr_equal(wait->event, event);                                       \
        assert_int_equal(wait->flags, CU_EVENT_WAIT_EXTERNAL);                      \
        assert_int_equal(wait->whole_context, 0);                                   \
        assert_int_equal(wait->stream_id, 0x52);                                    \
        assert_int_equal(wait->captured, 0);                                        \
        p.hStream = NULL;                                                           \
        wait = HEAR(event_wait, function, &p, CUDA_ERROR_INVALID_HANDLE);           \
        assert_ptr_equal(wait->stream, default_stream(per_thread));                 \
        assert_int_equal(wait->stream_id, GPUTRACE_NO_STREAM);                      \
        wait = HEAR(event_wait, function, &p, 0);                                   \
        assert_int_equal(wait->stream_id, 7 + per_thread);                          \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuStreamWaitEvent);
#undef CHECK
}

static CUresult is_capturing(CUstream of, CUstreamCaptureStatus *status)
{
    *status = of == stream ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

/* By the calls that begin and end captures, which have callbacks for this purpose alone. */
UNIT_TEST(a_streams_wait_in_a_capture_says_so)
{
    CUgraph graph = NULL;
    cuStreamBeginCapture_v2_params begin = {(CUstream)0x53, CU_STREAM_CAPTURE_MODE_RELAXED};
    cuStreamEndCapture_params end = {(CUstream)0x53, &graph};
    cuStreamWaitEvent_params p = {stream, event, 0};
    driver_replace(&(struct driver){.cuStreamIsCapturing = is_capturing});
    make_call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin, CUDA_ERROR_ILLEGAL_STATE);
    assert_int_equal(HEAR(event_wait, cuStreamWaitEvent, &p, 0)->captured, 0);
    make_call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin, 0);
    assert_int_equal(HEAR(event_wait, cuStreamWaitEvent, &p, 0)->captured, 1);
    make_call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, &end, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    assert_int_equal(HEAR(event_wait, cuStreamWaitEvent, &p, 0)->captured, 1);
    p.hStream = (CUstream)0x54;
    assert_int_equal(HEAR(event_wait, cuStreamWaitEvent, &p, 0)->captured, 0);
    p.hStream = stream;
    make_call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, &end, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(HEAR(event_wait, cuStreamWaitEvent, &p, 0)->captured, 0);
    driver_replace(NULL);
}

UNIT_TEST(a_contexts_wait_says_so)
{
    cuCtxWaitEvent_params p = {FAKE_CONTEXT, event};
    assert_int_equal(HEAR(event_wait, cuCtxWaitEvent, &p, 0)->whole_context, 1);
    assert_int_equal(HEAR(event_wait, cuCtxWaitEvent, &p, 0)->stream_id, GPUTRACE_NO_STREAM);
    cuGreenCtxWaitEvent_params green = {(CUgreenCtx)0x9, event};
    const struct gputrace_event_wait *wait = HEAR(event_wait, cuGreenCtxWaitEvent, &green, CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(wait->whole_context, 1);
    assert_int_equal(wait->stream_id, GPUTRACE_NO_STREAM);
    assert_ptr_equal(wait->event, event);
}

UNIT_TEST(waiting_for_and_asking_a_stream_tell_it)
{
#define CHECK_KIND(kind, function, per_thread)                                                                \
    do {                                                                                                      \
        function##_params p = {stream};                                                                       \
        assert_ptr_equal(HEAR(kind, function, &p, 0)->stream, stream);                                        \
        p.hStream = NULL;                                                                                     \
        assert_ptr_equal(HEAR(kind, function, &p, CUDA_ERROR_NOT_READY)->stream, default_stream(per_thread)); \
    } while (0)
#define CHECK(function, per_thread) CHECK_KIND(stream_synchronization, function, per_thread)
    PLAIN_AND_PTSZ(CHECK, cuStreamSynchronize);
#undef CHECK
#define CHECK(function, per_thread) CHECK_KIND(stream_query, function, per_thread)
    PLAIN_AND_PTSZ(CHECK, cuStreamQuery);
#undef CHECK
    cuStreamSynchronize_params p = {stream};
    assert_int_equal(HEAR(stream_synchronization, cuStreamSynchronize, &p, 0)->stream_id, 0x52);
    assert_int_equal(HEAR(stream_synchronization, cuStreamSynchronize, &p, CUDA_ERROR_INVALID_HANDLE)->stream_id,
                     GPUTRACE_NO_STREAM);
    p.hStream = NULL;
    assert_int_equal(HEAR(stream_synchronization, cuStreamSynchronize_ptsz, &p, 0)->stream_id, 8);
}

UNIT_TEST(waiting_for_a_context_tells_which)
{
    HEAR(device_synchronization, cuCtxSynchronize, NULL, 0);
    HEAR(device_synchronization, cuCtxSynchronize, NULL, CUDA_ERROR_ILLEGAL_ADDRESS);
    cuCtxSynchronize_v2_params p = {NULL}; /* the thread's own */
    HEAR(device_synchronization, cuCtxSynchronize_v2, &p, 0);
    p.ctx = (CUcontext)0x1033;
    make_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, &p, 0);
    const struct gputrace_device_synchronization *waited = heard_what(REGISTRY_device_synchronization, 0);
    assert_ptr_equal(waited->call.context, (CUcontext)0x1033);
    assert_int_equal(waited->call.context_id, 0x33);
    hearing_covers(&stream_calls, REGISTRY_BIT(event_wait) | REGISTRY_BIT(stream_synchronization) |
                                      REGISTRY_BIT(stream_query) | REGISTRY_BIT(device_synchronization));
}

/* --- events --- */

static const CUevent other = (CUevent)0xe2;

UNIT_TEST(creation_tells_the_event_and_its_flags)
{
    CUevent made = event;
    cuEventCreate_params p = {&made, CU_EVENT_DISABLE_TIMING};
    const struct gputrace_event_creation *heard_of = HEAR(event_creation, cuEventCreate, &p, 0);
    assert_ptr_equal(heard_of->event, event);
    assert_int_equal(heard_of->flags, CU_EVENT_DISABLE_TIMING);
    p.phEvent = NULL;
    heard_of = HEAR(event_creation, cuEventCreate, &p, CUDA_ERROR_OUT_OF_MEMORY);
    assert_null(heard_of->event);
}

UNIT_TEST(deletion_tells_the_event)
{
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

UNIT_TEST(records_tell_event_and_stream)
{
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

UNIT_TEST(records_of_a_context_say_so)
{
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
static CUresult is_capturing_or_refused(CUstream of, CUstreamCaptureStatus *status)
{
    asked++;
    *status = of == stream ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return of ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

UNIT_TEST(records_that_are_captured_say_so)
{
    cuEventRecord_params p = {event, stream};
    driver_replace(&(struct driver){.cuStreamIsCapturing = is_capturing_or_refused});
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

UNIT_TEST(synchronisation_and_query_tell_the_event)
{
    cuEventSynchronize_params wait = {event};
    assert_ptr_equal(HEAR(event_synchronization, cuEventSynchronize, &wait, 0)->event, event);
    assert_ptr_equal(HEAR(event_synchronization, cuEventSynchronize, &wait, CUDA_ERROR_LAUNCH_FAILED)->event, event);
    cuEventQuery_params query = {event};
    assert_ptr_equal(HEAR(event_query, cuEventQuery, &query, 0)->event, event);
    assert_int_equal(HEAR(event_query, cuEventQuery, &query, CUDA_ERROR_NOT_READY)->call.result, 600);
}

/* It proves that both are done; when it fails it proves nothing. */
UNIT_TEST(elapsed_time_is_a_query_of_both)
{
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

UNIT_TEST(every_row_was_called)
{
    hearing_covers(&stream_calls, REGISTRY_BIT(event_creation) | REGISTRY_BIT(event_deletion) |
                                      REGISTRY_BIT(event_record) | REGISTRY_BIT(event_synchronization) |
                                      REGISTRY_BIT(event_query));
}

/* --- streams --- */

static void check_creation(const struct gputrace_stream_creation *created, uint32_t flags, int priority)
{
    assert_ptr_equal(created->stream, stream);
    assert_int_equal(created->stream_id, 0x52);
    assert_int_equal(created->flags, flags);
    assert_int_equal(created->priority, priority);
}

UNIT_TEST(creation_tells_stream_number_flags_and_priority)
{
    CUstream made = stream;
    cuStreamCreate_params plain = {&made, CU_STREAM_NON_BLOCKING};
    check_creation(HEAR(stream_creation, cuStreamCreate, &plain, 0), CU_STREAM_NON_BLOCKING, 0);
    cuStreamCreateWithPriority_params with_priority = {&made, 0, -3};
    check_creation(HEAR(stream_creation, cuStreamCreateWithPriority, &with_priority, 0), 0, -3);
    cuGreenCtxStreamCreate_params green = {&made, (CUgreenCtx)0x9, CU_STREAM_NON_BLOCKING, 2};
    check_creation(HEAR(stream_creation, cuGreenCtxStreamCreate, &green, 0), CU_STREAM_NON_BLOCKING, 2);
    plain.phStream = NULL;
    const struct gputrace_stream_creation *failed = HEAR(stream_creation, cuStreamCreate, &plain, 2);
    assert_null(failed->stream);
    assert_int_equal(failed->stream_id, GPUTRACE_NO_STREAM);
}

/* As CUPTI does: the resource callback comes inside the call. */
static void destroy(CUpti_CallbackId cbid, CUresult result)
{
    cuStreamDestroy_v2_params p = {stream};
    hearing_clear();
    fake_enter(cbid, &p);
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, stream, NULL);
    fake_exit(cbid, &p, result);
}

UNIT_TEST(deletion_is_reported_once_while_the_stream_is_there)
{
    static const struct {
        CUpti_CallbackId cbid;
        const char *name;
    } functions[] = {{CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy, "cuStreamDestroy"},
                     {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, "cuStreamDestroy_v2"}};
    for (unsigned i = 0; i < 2; i++) {
        destroy(functions[i].cbid, 0);
        assert_int_equal(heard_in_all(), 1);
        const struct gputrace_stream_deletion *deleted = heard_what(REGISTRY_stream_deletion, 0);
        assert_ptr_equal(deleted->stream, stream);
        assert_int_equal(deleted->stream_id, 0x52);
        assert_string_equal(deleted->call.function, functions[i].name);
        assert_true(deleted->call.correlation > 0);
        assert_int_equal(deleted->call.context_id, FAKE_CONTEXT_ID);
        destroy(functions[i].cbid, CUDA_ERROR_LAUNCH_FAILED); /* an error of before: the stream goes all the same */
        assert_int_equal(heard_in_all(), 1);
    }
}

UNIT_TEST(deletion_that_fails_is_reported_as_failed)
{
#define CHECK(function)                                                     \
    do {                                                                    \
        function##_params p = {stream};                                     \
        const struct gputrace_stream_deletion *deleted =                    \
            HEAR(stream_deletion, function, &p, CUDA_ERROR_INVALID_HANDLE); \
        assert_ptr_equal(deleted->stream, stream);                          \
        assert_int_equal(deleted->stream_id, GPUTRACE_NO_STREAM);           \
    } while (0)
    CHECK(cuStreamDestroy);
    CHECK(cuStreamDestroy_v2);
#undef CHECK
    hearing_covers(&stream_calls, REGISTRY_BIT(stream_creation) | REGISTRY_BIT(stream_deletion));
}

/* The program makes it. */
static void create(void)
{
    CUstream made = stream;
    cuStreamCreate_params p = {.phStream = &made};
    HEAR(stream_creation, cuStreamCreate, &p, 0);
}

UNIT_TEST(streams_that_cuda_made_for_itself_are_not_reported)
{
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, (CUstream)0x99, NULL);
    assert_int_equal(heard(REGISTRY_stream_deletion), 0);
}

UNIT_TEST(a_stream_that_goes_with_its_context_names_no_function)
{
    create();
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, FAKE_CONTEXT, NULL, NULL);
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, stream, NULL);
    const struct gputrace_context_deletion *context = heard_what(REGISTRY_context_deletion, 0);
    assert_ptr_equal(context->call.context, FAKE_CONTEXT);
    assert_int_equal(context->call.context_id, FAKE_CONTEXT_ID);
    assert_int_equal(context->call.device, FAKE_DEVICE);
    const struct gputrace_stream_deletion *deleted = heard_what(REGISTRY_stream_deletion, 0);
    assert_null(deleted->call.function);
    assert_int_equal(deleted->stream_id, 0x52);
}

UNIT_TEST(a_stream_that_another_call_takes_along_is_not_that_calls)
{
    cuStreamDestroy_v2_params p = {(CUstream)0x53};
    create();
    hearing_clear();
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, &p);
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, stream, NULL);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, &p, CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(heard(REGISTRY_stream_deletion), 2);
    assert_null(((const struct gputrace_stream_deletion *)heard_what(REGISTRY_stream_deletion, 0))->call.function);
}

UNIT_TEST(contexts_are_reported_when_they_are_made)
{
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, (CUcontext)0x1044, NULL, NULL);
    const struct gputrace_context_creation *created = heard_what(REGISTRY_context_creation, 0);
    assert_int_equal(created->call.context_id, 0x44);
    assert_int_equal(created->call.thread, gettid());
}

UNIT_TEST(default_streams_have_numbers)
{
    assert_int_equal(cupti_stream_id(0x1011, 0), 7);
    assert_int_equal(cupti_stream_id(0x1011, 1), 7);
    assert_int_equal(cupti_stream_id(0x1011, 2), 8);
    assert_int_equal(cupti_stream_id(0, 0x99), 0x99);
}

UNIT_MAIN(hearing_start, NULL)
