/*
 * A host whose clock was set while a run was on: what the trace makes of times.
 */
#include "tests/unit.h"

#include "common/settings.h"
#include "tests/trace/meaning/trace_reading.h"

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)

enum { PID = 600, THREAD = 601, LAUNCH = 211, NAME = 0x7000 };

/* CLOCK_MONOTONIC was 100 s at the start. STEP seconds after SECONDS of the run the clock was set by STEP seconds. */
static void begin(struct make_spool *spool, uint32_t pid, uint64_t seconds, int64_t step)
{
    make_spool_init(spool, pid, 130001);
    struct spool_header *header = make_spool_header(spool);
    header->started_monotonic = 100 * S;
    header->clock_looked = 200 * S;
    header->clock_count = step != 0;
    header->clocks[0] = (struct spool_clock){.before = (100 + seconds) * S - 200 * MS,
                                             .monotonic = (100 + seconds) * S,
                                             .offset = (int64_t)(MAKE_SPOOL_START - 100 * S) + step * (int64_t)S};
}

static void chunk(struct make_spool *spool, enum spool_chunk_type type, uint64_t opened, uint64_t done)
{
    make_spool_chunk(spool, type, THREAD);
    make_spool_chunk_header(spool)->opened_monotonic = 100 * S + opened;
    make_spool_chunk_header(spool)->done_monotonic = done ? 100 * S + done : 0;
}

/* A launch at AT (of the clock as it was, after the start) and its kernel, 10 us later, 10 us long. */
static void launch(struct make_spool *spool, uint32_t correlation, uint64_t at)
{
    make_api(spool, (struct make_api){
                        .cbid = LAUNCH, .thread = THREAD, .correlation = correlation, .start = at, .end = at + 5000});
    make_kernel(spool,
                (struct make_kernel){.name = NAME, .correlation = correlation, .start = at + 10000, .end = at + 20000});
}

UNIT_TEST(calls_and_kernels_stay_together_after_a_step_forward)
{
    struct make_spool spool;
    begin(&spool, PID, 10, 3600);
    chunk(&spool, SPOOL_RECORDS, 0, 0);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1, .text = "begin"});
    make_pointer_name(&spool, NAME, "kernel");
    make_spool_done(&spool, SPOOL_IN_USE);
    chunk(&spool, SPOOL_CUPTI, 0, 50 * S);
    launch(&spool, 1, 5 * S);
    launch(&spool, 2, 15 * S + 3600 * S);
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    assert_int_equal(event_ns(trace_event(&trace, "X", "kernel", "kernel", 0), "ts"), 5 * S + 10000);
    assert_int_equal(event_ns(trace_event(&trace, "X", "kernel", "kernel", 1), "ts"), 15 * S + 10000);
    assert_int_equal(event_ns(trace_event(&trace, "X", "cuda_runtime", NULL, 1), "ts"), 15 * S);
    assert_int_equal(event_ns(trace_event(&trace, "X", "cuda_runtime", NULL, 1), "dur"), 5000);
    trace_release(&trace);
}

UNIT_TEST(times_that_come_twice_follow_the_order_of_records)
{
    struct make_spool spool;
    begin(&spool, PID, 30, -10);
    chunk(&spool, SPOOL_RECORDS, 0, 0);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1, .text = "begin"});
    make_pointer_name(&spool, NAME, "kernel");
    for (uint64_t at = 15; at < 45; at += 5) {
        uint64_t time = (at - (at >= 30 ? 10 : 0)) * S;
        make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = time, .text = "mark"});
    }
    make_spool_done(&spool, SPOOL_IN_USE);
    chunk(&spool, SPOOL_CUPTI, 0, 0);
    for (uint32_t at = 15; at < 45; at += 5)
        launch(&spool, at, (at - (at >= 30 ? 10u : 0u)) * S);
    make_spool_done(&spool, SPOOL_IN_USE);
    struct trace trace = trace_of(&spool);
    for (int i = 0; i < 6; i++) {
        uint64_t at = (15 + (uint64_t)i * 5) * S;
        assert_int_equal(event_ns(trace_event(&trace, "i", NULL, "mark", i), "ts"), at);
        assert_int_equal(event_ns(trace_event(&trace, "X", "kernel", "kernel", i), "ts"), at + 10000);
        assert_int_equal(event_ns(trace_event(&trace, "X", "cuda_runtime", NULL, i), "ts"), at);
    }
    assert_int_equal(trace.summary.losses.before_launch, 0);
    assert_int_equal(trace.summary.losses.undecoded, 0);
    trace_release(&trace);
}

UNIT_TEST(a_call_that_was_on_while_the_clock_was_set_back_is_as_long_as_it_was)
{
    struct make_spool spool;
    begin(&spool, PID, 30, -3600);
    chunk(&spool, SPOOL_RECORDS, 0, 0);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1, .text = "begin"});
    make_spool_done(&spool, SPOOL_IN_USE);
    chunk(&spool, SPOOL_CUPTI, 0, 0);
    make_api(&spool,
             (struct make_api){
                 .cbid = LAUNCH, .thread = THREAD, .correlation = 1, .start = 25 * S, .end = 35 * S - 3600 * S});
    make_spool_done(&spool, SPOOL_IN_USE);
    struct trace trace = trace_of(&spool);
    assert_int_equal(event_ns(trace_event(&trace, "X", "cuda_runtime", NULL, 0), "ts"), 25 * S);
    assert_int_equal(event_ns(trace_event(&trace, "X", "cuda_runtime", NULL, 0), "dur"), 10 * S);
    trace_release(&trace);
}

/* Of two processes that began at once, the second in a namespace whose CLOCK_MONOTONIC is 5000 s ahead. */
UNIT_TEST(a_process_in_a_time_namespace_is_on_the_axis_of_the_others)
{
    const char *directory = unit_directory();
    for (uint32_t i = 0; i < 2; i++) {
        struct make_spool spool;
        begin(&spool, PID + i, 30, 10); /* the clock is set forward by 10 s while both run */
        chunk(&spool, SPOOL_RECORDS, 0, 50 * S);
        make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1, .text = "begin"});
        make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 20 * S, .text = "before"});
        make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 50 * S, .text = "after"});
        make_spool_done(&spool, SPOOL_DONE);
        struct spool_header *header = make_spool_header(&spool);
        struct spool_chunk *of_marks = (struct spool_chunk *)(void *)(spool.data + SPOOL_HEADER_BYTES);
        uint64_t ahead = i * 5000 * S;
        header->monotonic_ahead = (int64_t)ahead;
        header->started_monotonic += ahead;
        header->clock_looked += ahead;
        header->clocks[0].before += ahead;
        header->clocks[0].monotonic += ahead;
        header->clocks[0].offset -= (int64_t)ahead;
        of_marks->opened_monotonic += ahead;
        of_marks->done_monotonic += ahead;
        make_spool_save(&spool, directory);
        make_spool_release(&spool);
    }
    struct trace trace = trace_convert(directory);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(event_ns(trace_event(&trace, "i", NULL, "before", i), "ts"), 20 * S);
        assert_int_equal(event_ns(trace_event(&trace, "i", NULL, "after", i), "ts"), 40 * S);
    }
    trace_release(&trace);
    unit_remove(directory);
}

UNIT_MAIN(NULL, NULL)
