#include "tests/agent/cupti/hearing.h"

#include "agent/cupti/cupti_library.h"
#include "agent/cupti/graphs.h"

static const CUevent event = (CUevent)0xe1;
static const CUstream stream = (CUstream)0x52;

static void a_streams_wait_tells_stream_event_and_flags(void **state)
{
    (void)state;
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

/* As told by what begins and ends captures, which is heard for this purpose alone. */
static void a_streams_wait_in_a_capture_says_so(void **state)
{
    (void)state;
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

static void a_contexts_wait_says_so(void **state)
{
    (void)state;
    cuCtxWaitEvent_params p = {FAKE_CONTEXT, event};
    assert_int_equal(HEAR(event_wait, cuCtxWaitEvent, &p, 0)->whole_context, 1);
    assert_int_equal(HEAR(event_wait, cuCtxWaitEvent, &p, 0)->stream_id, GPUTRACE_NO_STREAM);
    cuGreenCtxWaitEvent_params green = {(CUgreenCtx)0x9, event};
    const struct gputrace_event_wait *wait = HEAR(event_wait, cuGreenCtxWaitEvent, &green, CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(wait->whole_context, 1);
    assert_int_equal(wait->stream_id, GPUTRACE_NO_STREAM);
    assert_ptr_equal(wait->event, event);
}

static void waiting_for_and_asking_a_stream_tell_it(void **state)
{
    (void)state;
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

static void waiting_for_a_context_tells_which(void **state)
{
    (void)state;
    HEAR(device_synchronization, cuCtxSynchronize, NULL, 0);
    HEAR(device_synchronization, cuCtxSynchronize, NULL, CUDA_ERROR_ILLEGAL_ADDRESS);
    cuCtxSynchronize_v2_params p = {NULL}; /* the thread's own */
    HEAR(device_synchronization, cuCtxSynchronize_v2, &p, 0);
    p.ctx = (CUcontext)0x1033;
    make_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, &p, 0);
    const struct gputrace_device_synchronization *waited = heard_what(REGISTRY_device_synchronization, 0);
    assert_ptr_equal(waited->call.context, (CUcontext)0x1033);
    assert_int_equal(waited->call.context_id, 0x33);
    hearing_covers(&sync_calls, REGISTRY_BIT(event_wait) | REGISTRY_BIT(stream_synchronization) |
                                    REGISTRY_BIT(stream_query) | REGISTRY_BIT(device_synchronization));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_streams_wait_tells_stream_event_and_flags),
        cmocka_unit_test(a_streams_wait_in_a_capture_says_so),
        cmocka_unit_test(a_contexts_wait_says_so),
        cmocka_unit_test(waiting_for_and_asking_a_stream_tell_it),
        cmocka_unit_test(waiting_for_a_context_tells_which),
    };
    return cmocka_run_group_tests_name("agent/cupti/calls_sync", tests, hearing_start, NULL);
}
