/*
 * What plugins do in their callbacks is not shown: it is not the program's.
 */
#include "tests/unit.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include "common/settings.h"
#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"

enum {
    PID = 500,
    THREAD = 501,
    OTHER = 502,
    NAME = 0x7000,
    MALLOC = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
    EVENT_QUERY = CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
    GET_DEVICE = CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
    LAUNCH = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    COPY = CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
    SET = CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    GRAPH = CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    RECORD = CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,
    HOST = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchHostFunc_v10000,
};

/* A plugin was at work on THREAD from 2000 to 3000. */
static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(spool, NAME, "kernel");
    make_plugin_window(spool, 2000, 3000);
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, THREAD);
    make_device(spool, 0, 0);
    make_context(spool, 1, 0);
}

static void call(struct make_spool *spool, uint32_t cbid, uint32_t correlation, uint64_t start, uint64_t stop)
{
    make_api(spool, (struct make_api){
                        .cbid = cbid, .thread = THREAD, .correlation = correlation, .start = start, .end = stop});
}

static void kernel(struct make_spool *spool, uint32_t correlation, uint64_t start)
{
    make_kernel(spool,
                (struct make_kernel){.name = NAME, .start = start, .end = start + 10, .correlation = correlation});
}

static void assert_no_losses(const struct trace *trace){
#define NONE(field, one, several) assert_int_equal(trace->summary.losses.field, 0);
    CONVERT_LOSSES(NONE)
#undef NONE
}

UNIT_TEST(test_calls_within_a_window_are_left_out_with_the_work_they_started)
{
    struct make_spool spool;
    begin(&spool);
    kernel(&spool, 2, 5000); /* read before its call */
    call(&spool, LAUNCH, 1, 1000, 1900);
    call(&spool, LAUNCH, 2, 2100, 2500);
    call(&spool, LAUNCH, 3, 2900, 3100); /* not within */
    make_api(&spool, (struct make_api){.cbid = LAUNCH, .thread = OTHER, .correlation = 4, .start = 2100, .end = 2500});
    kernel(&spool, 1, 4000);
    kernel(&spool, 3, 6000);
    kernel(&spool, 4, 7000);
    make_kernel(&spool, (struct make_kernel){.name = 0x9999, .correlation = 2, .in_flight = 1});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_runtime", NULL), 3);
    assert_int_equal(trace_count(&trace, "X", "kernel", NULL), 3);
    assert_int_equal(trace_count(&trace, "s", NULL, NULL), 3);
    assert_int_equal(trace.summary.kernels, 3);
    assert_no_losses(&trace);
    trace_release(&trace);
}

UNIT_TEST(test_of_nested_calls_with_one_id_the_outer_is_shown_once)
{
    struct make_spool spool;
    begin(&spool);
    call(&spool, SET, 1, 2100, 2500); /* the plugin's */
    call(&spool, MALLOC, 1, 1900, 3500);
    make_set(&spool, (struct make_set){.start = 2600, .end = 2700, .correlation = 1});
    kernel(&spool, 1, 2800);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_runtime", NULL), 1);
    assert_int_equal(trace_count(&trace, "X", "cuda_runtime", "cudaMalloc"), 1);
    assert_int_equal(trace_count(&trace, "X", "gpu_memset", NULL), 0);
    assert_int_equal(trace_count(&trace, "X", "kernel", NULL), 0);
    assert_no_losses(&trace);
    trace_release(&trace);
}

/* Under the outer call CBID there are, with its id, a plugin's launch, and one piece of work of each sort. */
static void assert_shown(uint32_t cbid, int kernels, int copies, int sets, int graphs, int events)
{
    struct make_spool spool;
    begin(&spool);
    call(&spool, LAUNCH, 1, 2100, 2500);
    call(&spool, cbid, 1, 1900, 3500);
    kernel(&spool, 1, 4000);
    make_copy(&spool, (struct make_copy){.start = 5000, .end = 5100, .correlation = 1, .kind = 1, .bytes = 8});
    make_set(&spool, (struct make_set){.start = 6000, .end = 6100, .correlation = 1});
    make_graph(&spool, (struct make_graph){.start = 7000, .end = 7100, .correlation = 1, .graph = 3});
    make_cuda_event(&spool, (struct make_cuda_event){.time = 8000, .correlation = 1, .event = 1});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_runtime", NULL), 1);
    assert_int_equal(trace_count(&trace, "X", "kernel", NULL), kernels);
    assert_int_equal(trace_count(&trace, "X", "gpu_memcpy", NULL), copies);
    assert_int_equal(trace_count(&trace, "X", "gpu_memset", NULL), sets);
    assert_int_equal(trace_count(&trace, "X", "gpu_graph", NULL), graphs);
    assert_int_equal(trace_count(&trace, "i", "cuda_event", NULL), events);
    assert_int_equal(trace_count(&trace, "s", NULL, NULL), kernels + copies + sets + graphs);
    assert_no_losses(&trace);
    trace_release(&trace);
}

UNIT_TEST(test_work_with_the_id_of_both_is_the_outer_calls_when_it_starts_such_work)
{
    assert_shown(LAUNCH, 1, 0, 0, 0, 0);
    assert_shown(COPY, 0, 1, 0, 0, 0);
    assert_shown(SET, 0, 0, 1, 0, 0);
    assert_shown(GRAPH, 1, 1, 1, 1, 1);
    assert_shown(RECORD, 0, 0, 0, 0, 1);
    assert_shown(HOST, 0, 0, 0, 0, 0);
    assert_shown(MALLOC, 0, 0, 0, 0, 0);
}

UNIT_TEST(test_waiting_and_compiling_are_reported_by_their_times)
{
    struct make_spool spool;
    begin(&spool);
    call(&spool, LAUNCH, 1, 2050, 2500);
    call(&spool, MALLOC, 1, 1500, 3500);
    call(&spool, LAUNCH, 2, 2600, 2700);
    make_sync(&spool, (struct make_sync){.start = 2100, .end = 2200, .type = 3, .correlation = 1, .stream = 7});
    make_sync(&spool, (struct make_sync){.start = 1600, .end = 1700, .type = 3, .correlation = 1, .stream = 7});
    make_sync(&spool, (struct make_sync){.start = 2650, .end = 2660, .type = 3, .correlation = 2, .stream = 7});
    make_jit(&spool, (struct make_jit){.start = 2200, .end = 2300, .operation = 3, .correlation = 1});
    make_jit(&spool, (struct make_jit){.start = 3200, .end = 3300, .operation = 3, .correlation = 1});
    make_overhead(&spool, 2100, 2200, THREAD);
    make_overhead(&spool, 2100, 2200, OTHER);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_sync", NULL), 1);
    assert_int_equal(event_ns(trace_event(&trace, "X", "cuda_sync", NULL, 0), "ts"), 1600);
    assert_int_equal(trace_count(&trace, "X", "compilation", NULL), 1);
    assert_int_equal(event_ns(trace_event(&trace, "X", "compilation", NULL, 0), "ts"), 3200);
    assert_int_equal(trace_count(&trace, "X", "overhead", NULL), 1);
    assert_no_losses(&trace);
    trace_release(&trace);
}

UNIT_TEST(test_it_holds_where_recording_was_off_at_times)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_header(&spool)->trace_bits = UINT64_MAX;
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(&spool, NAME, "kernel");
    make_capture(&spool, 1000, 1, "on");
    make_capture(&spool, 6000, 0, "off");
    make_plugin_window(&spool, 2000, 3000);
    make_plugin_window(&spool, 7000, 8000);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_device(&spool, 0, 0);
    static const uint64_t calls[] = {6100, 1500, 2500, 4000, 6500, 7500};
    for (uint32_t i = 0; i < 6; i++) {
        call(&spool, LAUNCH, i + 1, calls[i], calls[i] + 100);
        kernel(&spool, i + 1, 10000 + 100 * i);
    }
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_runtime", NULL), 2);
    assert_int_equal(trace_count(&trace, "X", "kernel", NULL), 2);
    assert_no_losses(&trace);
    trace_release(&trace);
}

/* Of a CUPTI that switches all calls or none. */
UNIT_TEST(test_calls_of_a_class_that_was_not_asked_for_are_left_out)
{
    static const struct {
        uint64_t bits;
        int calls;
    } cases[] = {{TRACE_DEFAULT, 1}, {TRACE_DEFAULT | TRACE_EVENT_TIMES, 2}, {TRACE_DEFAULT | TRACE_API_ALL, 3}};
    for (size_t i = 0; i < 3; i++) {
        struct make_spool spool;
        make_spool_init(&spool, PID, 18);
        make_spool_header(&spool)->trace_bits = cases[i].bits;
        make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
        make_own_sync(&spool, (struct make_own_sync){.kind = SPOOL_SYNC_STREAM, .start = 2700, .end = 2800});
        make_spool_done(&spool, SPOOL_DONE);
        make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
        call(&spool, GET_DEVICE, 1, 2100, 2200);
        call(&spool, MALLOC, 2, 2300, 2400);
        call(&spool, EVENT_QUERY, 3, 2500, 2600);
        struct trace trace = trace_of_done(&spool);
        assert_int_equal(trace_count(&trace, "X", "cuda_runtime", NULL), cases[i].calls);
        assert_int_equal(trace_count(&trace, "X", "cuda_runtime", "cudaMalloc"), 1);
        assert_no_losses(&trace);
        trace_release(&trace);
    }
}

/* Records of the driver's launches are always on. */
UNIT_TEST(test_calls_of_an_api_that_was_not_asked_for_are_left_out)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_header(&spool)->trace_bits = TRACE_KERNEL | TRACE_RUNTIME;
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    call(&spool, MALLOC, 1, 2100, 2200);
    make_api(&spool, (struct make_api){.driver = true,
                                       .cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                       .thread = THREAD,
                                       .correlation = 2,
                                       .start = 2300,
                                       .end = 2400});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_runtime", NULL), 1);
    assert_int_equal(trace_count(&trace, "X", "cuda_driver", NULL), 0);
    trace_release(&trace);
}

UNIT_TEST(test_a_window_that_ends_before_it_begins_is_counted)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_plugin_window(&spool, 3000, 2000);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    call(&spool, MALLOC, 1, 2100, 2200);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_runtime", NULL), 1);
    assert_int_equal(trace.summary.losses.undecoded, 1);
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
