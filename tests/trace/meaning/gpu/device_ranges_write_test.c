/*
 * Device ranges in the trace: where they are shown, how long they are, and which are not there.
 */
#include "tests/unit.h"

#include <cupti_activity.h>
#include <cupti_driver_cbid.h>

#include "common/settings.h"
#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"

enum {
    PID = 500,
    THREAD = 501,
    OTHER = 502,
    LAUNCH = 211,
    NAME = 0x7000,
    RECORD = CUPTI_DRIVER_TRACE_CBID_cuEventRecord,
};

static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(spool, NAME, "kernel");
}

/* What the library wrote of one end of a range, called at TIME. */
static void put_start(struct make_spool *spool, uint64_t range, uint64_t time, uint32_t correlation, const char *text)
{
    make_device_range(
        spool, (struct make_device_range){.time = time, .range = range, .correlation = correlation, .text = text});
    make_plugin_window(spool, time, time + 5);
}

static void put_end(struct make_spool *spool, uint64_t range, uint64_t time, uint32_t correlation)
{
    make_device_range(spool,
                      (struct make_device_range){.ended = 1, .time = time, .range = range, .correlation = correlation});
    make_plugin_window(spool, time, time + 5);
}

static void next_is_cuptis(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, THREAD);
    make_device(spool, 0, 0);
    make_context(spool, 1, 0);
}

static void moment_of(struct make_spool *spool, uint32_t correlation, uint64_t time, uint32_t stream)
{
    make_cuda_event(spool, (struct make_cuda_event){
                               .correlation = correlation, .context = 1, .stream = stream, .event = 1, .time = time});
}

static void moment(struct make_spool *spool, uint32_t correlation, uint64_t time)
{
    moment_of(spool, correlation, time, 7);
}

static void kernel(struct make_spool *spool, uint32_t correlation, uint64_t start, uint64_t end)
{
    make_api(spool, (struct make_api){
                        .cbid = LAUNCH, .thread = THREAD, .correlation = correlation, .start = 1100, .end = 1200});
    make_kernel(spool, (struct make_kernel){.name = NAME, .start = start, .end = end, .correlation = correlation});
}

static const cJSON *range_of(const struct trace *trace, const char *name)
{
    return trace_event(trace, "X", "gpu_user_annotation", name, 0);
}

static int ranges(const struct trace *trace)
{
    return trace_count(trace, "X", "gpu_user_annotation", NULL);
}

static bool same_row(const cJSON *a, const cJSON *b)
{
    return event_number(a, "pid") == event_number(b, "pid") && event_number(a, "tid") == event_number(b, "tid");
}

static void assert_span(const cJSON *range, long start, long stop)
{
    assert_non_null(range);
    assert_int_equal(event_ns(range, "ts"), start);
    assert_int_equal(event_ns(range, "dur"), stop - start);
}

UNIT_TEST(test_a_range_encloses_the_work_of_its_stream)
{
    struct make_spool spool;
    begin(&spool);
    put_start(&spool, 3, 1000, 11, "forward");
    put_end(&spool, 3, 1300, 12);
    next_is_cuptis(&spool);
    moment(&spool, 11, 2000);
    kernel(&spool, 1, 2100, 2500);
    moment(&spool, 12, 2600); /* of its event: the work is done at 2500 */
    struct trace trace = trace_of_done(&spool);
    const cJSON *range = range_of(&trace, "forward"), *work = trace_event(&trace, "X", "kernel", NULL, 0);
    assert_span(range, 2000, 2500);
    assert_true(same_row(range, work));
    assert_true(arg_is(range, "range", 3) && arg_is(range, "thread", THREAD));
    assert_true(arg_text_is(range, "from", "gputrace_device_range"));
    assert_null(event_arg(range, "stream")); /* HTA would take it for work */
    assert_null(event_arg(range, "correlation"));
    assert_int_equal(trace.summary.losses.untimed_ranges, 0);
    assert_true(trace.summary.cuda);
    trace_release(&trace);
}

UNIT_TEST(test_the_event_and_the_calls_that_mark_it_are_not_the_programs)
{
    struct make_spool spool;
    begin(&spool);
    put_start(&spool, 1, 1000, 11, "range");
    put_end(&spool, 1, 1300, 12);
    next_is_cuptis(&spool);
    make_api(&spool, (struct make_api){
                         .cbid = RECORD, .driver = 1, .thread = THREAD, .correlation = 11, .start = 1001, .end = 1004});
    make_api(&spool, (struct make_api){
                         .cbid = RECORD, .driver = 1, .thread = THREAD, .correlation = 20, .start = 1101, .end = 1104});
    moment(&spool, 11, 2000);
    moment(&spool, 12, 12600); /* calls of the driver were not recorded */
    moment(&spool, 20, 2300);  /* the program's */
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_driver", NULL), 1);
    assert_int_equal(trace_count(&trace, "i", "cuda_event", NULL), 1);
    assert_int_equal(event_ns(trace_event(&trace, "i", "cuda_event", NULL, 0), "ts"), 2300);
    assert_span(range_of(&trace, "range"), 2000, 12600);
    trace_release(&trace);
}

UNIT_TEST(test_events_that_only_ranges_asked_for_are_not_shown)
{
    struct make_spool spool;
    begin(&spool);
    make_spool_header(&spool)->trace_bits = TRACE_KERNEL;
    put_start(&spool, 1, 1000, 11, "range");
    put_end(&spool, 1, 1300, 12);
    next_is_cuptis(&spool);
    moment(&spool, 11, 2000);
    moment(&spool, 20, 2300);
    moment(&spool, 12, 2600);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "i", "cuda_event", NULL), 0);
    assert_span(range_of(&trace, "range"), 2000, 2600);
    assert_non_null(row_name(&trace, range_of(&trace, "range"))); /* a stream without work has a row as well */
    trace_release(&trace);
}

UNIT_TEST(test_ranges_nest_and_those_that_overlap_get_a_row_each)
{
    struct make_spool spool;
    begin(&spool);
    put_start(&spool, 1, 1000, 11, "outer");
    put_start(&spool, 2, 1010, 12, "inner");
    put_start(&spool, 3, 1020, 13, "across");
    put_end(&spool, 2, 1030, 14);
    put_end(&spool, 1, 1040, 15);
    put_end(&spool, 3, 1050, 16);
    next_is_cuptis(&spool);
    moment(&spool, 11, 2000);
    moment(&spool, 12, 2050); /* the GPU had nothing to do in between but its event */
    kernel(&spool, 1, 2100, 2500);
    moment(&spool, 13, 2500);
    kernel(&spool, 2, 2600, 2900);
    moment(&spool, 14, 2900);
    moment(&spool, 15, 2950);
    moment(&spool, 16, 13500); /* so late that the GPU did not come to it before */
    struct trace trace = trace_of_done(&spool);
    const cJSON *outer = range_of(&trace, "outer"), *inner = range_of(&trace, "inner");
    const cJSON *across = range_of(&trace, "across");
    assert_span(outer, 2000, 2900);
    assert_span(inner, 2000, 2900);
    assert_span(across, 2500, 13500);
    assert_true(same_row(outer, inner) && !same_row(outer, across));
    assert_true(same_row(outer, trace_event(&trace, "X", "kernel", NULL, 0)));
    assert_string_equal(row_name(&trace, across), "stream 7 annotations (2)");
    trace_release(&trace);
}

/* The clocks of events and of kernels differ by some ns. */
UNIT_TEST(test_a_range_that_ends_within_work_has_a_row_beside_the_streams)
{
    for (int early = 0; early < 2; early++) {
        struct make_spool spool;
        begin(&spool);
        put_start(&spool, 1, 1000, 11, "range");
        put_end(&spool, 1, 1300, 12);
        next_is_cuptis(&spool);
        kernel(&spool, 1, 1900, early ? 2001 : 2000);
        moment(&spool, 11, 2000);
        kernel(&spool, 2, 2000, 2600);
        moment(&spool, 12, 2600);
        kernel(&spool, 3, early ? 2600 : 2599, 2700);
        struct trace trace = trace_of_done(&spool);
        assert_span(range_of(&trace, "range"), 2000, 2600);
        assert_false(same_row(range_of(&trace, "range"), trace_event(&trace, "X", "kernel", NULL, 0)));
        assert_string_equal(row_name(&trace, range_of(&trace, "range")), "stream 7 annotations");
        trace_release(&trace);
    }
}

UNIT_TEST(test_nvtx_ranges_of_the_same_start_are_written_in_their_order)
{
    for (int wider = 0; wider < 2; wider++) {
        struct make_spool spool;
        begin(&spool);
        make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 990, .text = "pushed"});
        put_start(&spool, 1, 1000, 11, "range");
        put_end(&spool, 1, 1300, 12);
        make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 1400});
        next_is_cuptis(&spool);
        moment(&spool, 11, 2000);
        kernel(&spool, 1, 2000, 2500);
        moment(&spool, 12, wider ? 12900 : 2500);
        kernel(&spool, 2, 2600, 2700);
        struct trace trace = trace_of_done(&spool);
        assert_int_equal(ranges(&trace), 2);
        const cJSON *first = trace_event(&trace, "X", "gpu_user_annotation", NULL, 0);
        assert_string_equal(event_text(first, "name"), wider ? "range" : "pushed");
        assert_true(same_row(first, trace_event(&trace, "X", "gpu_user_annotation", NULL, 1)));
        trace_release(&trace);
    }
}

UNIT_TEST(test_a_range_that_ends_elsewhere_is_on_the_stream_of_its_start)
{
    struct make_spool spool;
    begin(&spool);
    put_start(&spool, 1, 1000, 11, "across");
    put_start(&spool, 2, 1010, 13, "backwards");
    next_is_cuptis(&spool);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER); /* ended by another thread */
    put_end(&spool, 1, 1300, 12);
    put_end(&spool, 2, 1310, 14);
    next_is_cuptis(&spool);
    moment_of(&spool, 11, 2000, 13);
    moment_of(&spool, 12, 2600, 14);
    moment_of(&spool, 13, 23000, 13);
    moment_of(&spool, 14, 22700, 14); /* that stream was there first */
    struct trace trace = trace_of_done(&spool);
    const cJSON *range = range_of(&trace, "across");
    assert_span(range, 2000, 2600);
    assert_int_equal(event_number(range, "tid"), 13);
    assert_true(arg_is(range, "end stream", 14) && arg_is(range, "thread", THREAD));
    assert_span(range_of(&trace, "backwards"), 23000, 23000);
    trace_release(&trace);
}

UNIT_TEST(test_an_end_may_be_read_before_its_start)
{
    struct make_spool spool;
    begin(&spool);
    put_end(&spool, 1, 1300, 12);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    put_start(&spool, 1, 1000, 11, "range");
    next_is_cuptis(&spool);
    moment(&spool, 12, 12600);
    moment(&spool, 11, 2000);
    struct trace trace = trace_of_done(&spool);
    assert_span(range_of(&trace, "range"), 2000, 12600);
    assert_true(arg_is(range_of(&trace, "range"), "thread", OTHER));
    assert_null(event_arg(range_of(&trace, "range"), "end stream"));
    trace_release(&trace);
}

UNIT_TEST(test_ranges_of_which_a_time_is_missing_are_counted)
{
    struct make_spool spool;
    begin(&spool);
    put_start(&spool, 1, 1000, 0, "too old a CUPTI");
    put_end(&spool, 1, 1010, 0);
    put_start(&spool, 2, 1020, 12, "start without a record");
    put_end(&spool, 2, 1030, 13);
    put_start(&spool, 3, 1040, 14, "end in flight");
    put_end(&spool, 3, 1050, 15);
    put_end(&spool, 4, 1060, 16); /* its start was lost */
    put_start(&spool, 5, 1070, 17, "whole");
    put_end(&spool, 5, 1080, 18);
    next_is_cuptis(&spool);
    moment(&spool, 13, 2100);
    moment(&spool, 14, 2200);
    moment(&spool, 15, 0);
    moment(&spool, 16, 2300);
    moment(&spool, 17, 12400);
    moment(&spool, 18, 22500);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(ranges(&trace), 1);
    assert_span(range_of(&trace, "whole"), 12400, 22500);
    assert_int_equal(trace.summary.losses.untimed_ranges, 4);
    trace_release(&trace);
}

/* Such as of an older CUPTI: the record is there, and ends before the time. */
UNIT_TEST(test_records_of_an_older_cupti_have_no_times)
{
    struct make_spool spool;
    begin(&spool);
    make_spool_header(&spool)->record_bytes[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = 24;
    put_start(&spool, 1, 1000, 11, "range");
    put_end(&spool, 1, 1300, 12);
    next_is_cuptis(&spool);
    moment(&spool, 11, 2000);
    moment(&spool, 12, 2600);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(ranges(&trace), 0);
    assert_int_equal(trace.summary.losses.untimed_ranges, 1);
    trace_release(&trace);
}

UNIT_TEST(test_a_range_that_was_not_ended_is_open_up_to_the_end_of_recording)
{
    for (int stopped = 0; stopped < 2; stopped++) {
        struct make_spool spool;
        begin(&spool);
        make_capture(&spool, 900, 1, "start");
        put_start(&spool, 1, 1000, 11, "open");
        if (stopped)
            make_capture(&spool, 2400, 0, "gputrace_stop");
        next_is_cuptis(&spool);
        moment(&spool, 11, 2000);
        kernel(&spool, 1, 2000, 5000);
        struct trace trace = trace_of_done(&spool);
        assert_span(range_of(&trace, "open"), 2000, stopped ? 2400 : 5000);
        assert_non_null(event_arg(range_of(&trace, "open"), "open at end"));
        assert_int_equal(trace.summary.losses.untimed_ranges, 0);
        trace_release(&trace);
    }
}

UNIT_TEST(test_a_range_without_a_message_says_so)
{
    struct make_spool spool;
    begin(&spool);
    put_start(&spool, 1, 1000, 11, NULL);
    put_end(&spool, 1, 1300, 12);
    put_end(&spool, 1, 1310, 13); /* once more: the first counts */
    next_is_cuptis(&spool);
    moment(&spool, 11, 2000);
    moment(&spool, 12, 12600);
    moment(&spool, 13, 12700);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(ranges(&trace), 1);
    assert_span(range_of(&trace, "(no message)"), 2000, 12600);
    assert_int_equal(trace_count(&trace, "i", "cuda_event", NULL), 0);
    trace_release(&trace);
}

UNIT_TEST(test_streams_of_several_devices_and_contexts_are_apart)
{
    struct make_spool spool;
    begin(&spool);
    for (uint32_t i = 0; i < 3; i++) {
        put_start(&spool, i + 1, 1000 + i * 100, 10 + i, i == 0 ? "one" : i == 1 ? "two" : "three");
        put_end(&spool, i + 1, 1050 + i * 100, 20 + i);
    }
    next_is_cuptis(&spool);
    for (uint32_t i = 0; i < 3; i++) { /* device 0, device 1, and another context of that */
        struct make_cuda_event event = {.context = i + 1, .device = i > 0, .stream = 7, .event = 1};
        event.correlation = 10 + i, event.time = 2000;
        make_cuda_event(&spool, event);
        event.correlation = 20 + i, event.time = 2100;
        make_cuda_event(&spool, event);
    }
    struct trace trace = trace_of_done(&spool);
    const cJSON *one = range_of(&trace, "one"), *two = range_of(&trace, "two"), *three = range_of(&trace, "three");
    assert_int_equal(ranges(&trace), 3);
    assert_true(event_number(one, "pid") != event_number(two, "pid"));
    assert_true(event_number(two, "pid") == event_number(three, "pid") && !same_row(two, three));
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
