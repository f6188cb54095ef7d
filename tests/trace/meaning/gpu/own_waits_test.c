/*
 * Synchronisation that the library recorded by its calls, beside CUPTI's own records of it, or instead of them.
 */
#include "tests/unit.h"

#include "common/settings.h"
#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 501, NAME = 0x7000 };
#define EVENT UINT64_C(0x7f0000001000)

static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(spool, NAME, "kernel");
}

static void begin_cupti(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, THREAD);
    make_device(spool, 0, 0);
    make_device(spool, 1, 0);
    make_context(spool, 1, 0);
    make_context(spool, 2, 1);
}

static void wait_in_context(struct make_spool *spool, uint32_t kind, uint64_t start, uint64_t stop, uint32_t stream)
{
    make_own_sync(spool, (struct make_own_sync){.kind = kind, .start = start, .end = stop, .stream = stream});
}

UNIT_TEST(test_each_kind_has_its_name_row_and_args)
{
    struct make_spool spool;
    begin(&spool);
    make_own_sync(&spool, (struct make_own_sync){.kind = SPOOL_SYNC_STREAM,
                                                 .start = 1000,
                                                 .end = 3000,
                                                 .correlation = 40,
                                                 .context = 2,
                                                 .stream = 13,
                                                 .result = 700});
    wait_in_context(&spool, SPOOL_SYNC_CONTEXT, 4000, 4500, SPOOL_NO_STREAM);
    wait_in_context(&spool, 9, 5000, 5500, SPOOL_NO_STREAM); /* of a library to come */
    begin_cupti(&spool);
    struct trace trace = trace_of_done(&spool);
    const cJSON *wait = trace_event(&trace, "X", "cuda_sync", "Stream Sync", 0);
    assert_true(event_ns(wait, "ts") == 1000 && event_ns(wait, "dur") == 2000);
    assert_true(arg_is(wait, "stream", 13) && arg_is(wait, "context", 2) && arg_is(wait, "device", 1));
    assert_true(arg_is(wait, "correlation", 40) && arg_is(wait, "return value", 700));
    assert_true(arg_text_is(wait, "error", "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_true(arg_text_is(wait, "cuda_sync_kind", "Stream Sync"));
    assert_null(event_arg(wait, "wait_on_stream"));
    assert_string_equal(row_name(&trace, wait), "stream 13 synchronisation");
    const cJSON *context = trace_event(&trace, "X", "cuda_sync", "Context Sync", 0);
    assert_string_equal(row_name(&trace, context), "context 1 synchronisation");
    assert_true(arg_is(context, "stream", -1) && !event_arg(context, "return value"));
    assert_int_equal(trace_count(&trace, "X", "cuda_sync", "Unknown Sync"), 1);
    assert_int_equal(trace.summary.losses.undecoded, 0);
    trace_release(&trace);
}

/* The wait of one context is for an event of another; CUPTI, which was on for a device range, has numbers for both. */
UNIT_TEST(test_waits_tell_the_last_record_before_them)
{
    struct make_spool spool;
    begin(&spool);
    make_event_record(&spool, EVENT, 5, 13);
    make_event_record(&spool, EVENT, 8, 14);
    make_event_record(&spool, EVENT + 1, 9, 15); /* another event */
    make_event_record(&spool, EVENT, 30, 16);
    make_own_sync(&spool, (struct make_own_sync){.kind = SPOOL_SYNC_STREAM_WAIT_EVENT,
                                                 .start = 2000,
                                                 .end = 2100,
                                                 .correlation = 20,
                                                 .context = 2,
                                                 .stream = 7,
                                                 .event = EVENT});
    make_own_sync(&spool, (struct make_own_sync){.kind = SPOOL_SYNC_EVENT,
                                                 .start = 3000,
                                                 .end = 3100,
                                                 .correlation = 4,
                                                 .stream = SPOOL_NO_STREAM,
                                                 .event = EVENT});
    begin_cupti(&spool);
    make_cuda_event(&spool, (struct make_cuda_event){.correlation = 19, .stream = 17, .event = 1});
    struct trace trace = trace_of_done(&spool);
    const cJSON *wait = trace_event(&trace, "X", "cuda_sync", "Stream Wait Event", 0);
    assert_true(arg_is(wait, "wait_on_stream", 14) && arg_is(wait, "wait_on_cuda_event_record_corr_id", 8));
    assert_true(arg_is(wait, "wait_on_cuda_event_id", (double)EVENT));
    const cJSON *early = trace_event(&trace, "X", "cuda_sync", "Event Sync", 0); /* it was recorded unseen */
    assert_true(arg_is(early, "wait_on_stream", -1) && arg_is(early, "wait_on_cuda_event_record_corr_id", -1));
    assert_int_equal(trace_count(&trace, "i", "cuda_event", NULL), 0); /* the GPU was not asked */
    trace_release(&trace);
}

static void make_both(struct make_spool *spool, bool own)
{
    begin(spool);
    if (own)
        wait_in_context(spool, SPOOL_SYNC_CONTEXT, 1000, 2000, SPOOL_NO_STREAM);
    begin_cupti(spool);
    make_sync(spool, (struct make_sync){.type = 4, .start = 1010, .end = 1990, .stream = UINT32_MAX});
    make_sync(spool, (struct make_sync){.type = 3, .start = 3000, .end = 3100, .stream = 7});
}

UNIT_TEST(test_cupti_does_not_tell_them_a_second_time)
{
    struct make_spool spool;
    make_both(&spool, true);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_sync", NULL), 1);
    assert_int_equal(event_ns(trace_event(&trace, "X", "cuda_sync", NULL, 0), "ts"), 1000);
    trace_release(&trace);
    make_both(&spool, false);
    trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_sync", NULL), 2);
    trace_release(&trace);
}

UNIT_TEST(test_waits_that_began_while_recording_was_off_are_left_out)
{
    struct make_spool spool;
    begin(&spool);
    make_capture(&spool, 500, 0, "start");
    make_capture(&spool, 2000, 1, "gputrace_start");
    wait_in_context(&spool, SPOOL_SYNC_CONTEXT, 1000, 2500, SPOOL_NO_STREAM);
    wait_in_context(&spool, SPOOL_SYNC_STREAM, 3000, 3500, 7);
    begin_cupti(&spool);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_sync", NULL), 1);
    assert_int_equal(trace_count(&trace, "X", "cuda_sync", "Stream Sync"), 1);
    assert_int_equal(trace.summary.losses.undecoded, 0);
    trace_release(&trace);
}

UNIT_TEST(test_what_threads_waited_for_at_once_has_lanes)
{
    struct make_spool spool;
    begin(&spool);
    wait_in_context(&spool, SPOOL_SYNC_CONTEXT, 1000, 3000, SPOOL_NO_STREAM);
    wait_in_context(&spool, SPOOL_SYNC_CONTEXT, 2000, 4000, SPOOL_NO_STREAM);
    begin_cupti(&spool);
    struct trace trace = trace_of_done(&spool); /* which fails when slices of a row cross */
    const cJSON *first = trace_event(&trace, "X", "cuda_sync", NULL, 0);
    const cJSON *second = trace_event(&trace, "X", "cuda_sync", NULL, 1);
    assert_true(event_number(first, "tid") != event_number(second, "tid"));
    trace_release(&trace);
}

UNIT_TEST(test_damaged_times_are_counted_and_not_shown)
{
    struct make_spool spool;
    begin(&spool);
    wait_in_context(&spool, SPOOL_SYNC_CONTEXT, 3000, 1000, SPOOL_NO_STREAM);
    begin_cupti(&spool);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_sync", NULL), 0);
    assert_int_equal(trace.summary.losses.undecoded, 1);
    trace_release(&trace);
}

/* The name is known by the call that recorded the event. */
UNIT_TEST(test_waits_have_the_names_of_events)
{
    struct make_spool spool;
    begin(&spool);
    make_nvtx_name(&spool, SPOOL_NVTX_CUDA_EVENT, EVENT, SPOOL_NO_STREAM, "ready");
    make_nvtx_recorded(&spool, EVENT, 2);
    make_event_record(&spool, EVENT, 2, 13);
    make_own_sync(&spool, (struct make_own_sync){.kind = SPOOL_SYNC_STREAM_WAIT_EVENT,
                                                 .start = 5000,
                                                 .end = 5001,
                                                 .correlation = 4,
                                                 .stream = 14,
                                                 .event = EVENT});
    begin_cupti(&spool);
    struct trace trace = trace_of_done(&spool);
    assert_true(arg_text_is(trace_event(&trace, "X", "cuda_sync", NULL, 0), "wait_on_cuda_event_name", "ready"));
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
