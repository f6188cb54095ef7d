/*
 * NVTX in the trace: ranges on threads and streams, what crosses threads, what never ends.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 501, OTHER = 502, LAUNCH = 211, NAME = 0x7000 };

static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(spool, NAME, "kernel");
}

static void push(struct make_spool *spool, uint64_t time, uint32_t domain, const char *text)
{
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = time, .domain = domain, .text = text});
}

static void pop(struct make_spool *spool, uint64_t time, uint32_t domain)
{
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = time, .domain = domain});
}

static void launch(struct make_spool *spool, uint32_t thread, uint32_t correlation, uint64_t called, uint64_t start,
                   uint32_t stream)
{
    make_api(spool,
             (struct make_api){
                 .cbid = LAUNCH, .thread = thread, .correlation = correlation, .start = called, .end = called + 10});
    make_kernel(spool,
                (struct make_kernel){
                    .name = NAME, .start = start, .end = start + 100, .correlation = correlation, .stream = stream});
}

UNIT_TEST(test_a_range_tells_all_that_the_program_said)
{
    struct make_spool spool;
    double half = 0.5;
    uint64_t bits;
    memcpy(&bits, &half, sizeof(bits));
    begin(&spool);
    make_nvtx_domain(&spool, 3, "library");
    make_nvtx_category(&spool, 3, 4, "solver");
    make_nvtx_string(&spool, 3, 1, "registered");
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH,
                                         .time = 1000,
                                         .domain = 3,
                                         .category = 4,
                                         .color = 0xff112233,
                                         .color_type = 1,
                                         .payload = bits,
                                         .payload_type = 3,
                                         .string = 1});
    pop(&spool, 2000, 3);
    struct trace trace = trace_of_done(&spool);
    const cJSON *range = trace_event(&trace, "X", "user_annotation", "registered", 0);
    assert_int_equal(event_ns(range, "dur"), 1000);
    assert_int_equal(event_number(range, "pid"), PID);
    assert_int_equal(event_number(range, "tid"), THREAD);
    assert_true(arg_text_is(range, "domain", "library") && arg_text_is(range, "category", "solver"));
    assert_true(arg_text_is(range, "color", "#112233") && arg_is(range, "payload", 0.5));
    assert_true(trace.summary.nvtx && !trace.summary.cuda);
    trace_release(&trace);
}

UNIT_TEST(test_ranges_nest_with_the_calls_inside_them)
{
    struct make_spool spool;
    begin(&spool);
    push(&spool, 1000, 0, "outer");
    push(&spool, 1100, 0, "inner");
    pop(&spool, 1900, 0);
    pop(&spool, 2000, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    launch(&spool, THREAD, 1, 1200, 5000, 7);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "M", NULL, "thread_name"), 2);
    assert_int_equal(event_number(trace_event(&trace, "X", "cuda_runtime", NULL, 0), "tid"), THREAD);
    trace_release(&trace);
}

UNIT_TEST(test_ranges_of_domains_that_cross_go_to_a_row_of_their_own)
{
    struct make_spool spool;
    begin(&spool);
    push(&spool, 1000, 1, "first");
    push(&spool, 1500, 2, "second");
    pop(&spool, 2000, 1);
    pop(&spool, 2500, 2);
    struct trace trace = trace_of_done(&spool);
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "first", 0)), "thread 501");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "second", 0)), "thread 501 (2)");
    trace_release(&trace);
}

UNIT_TEST(test_a_range_covers_on_the_gpu_what_its_thread_launched)
{
    struct make_spool spool;
    begin(&spool);
    push(&spool, 1000, 0, "step");
    push(&spool, 1100, 0, "forward");
    pop(&spool, 1500, 0);
    push(&spool, 1600, 0, "idle");
    pop(&spool, 1700, 0);
    pop(&spool, 3000, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    launch(&spool, THREAD, 1, 1200, 5000, 7);
    launch(&spool, OTHER, 2, 1250, 5200, 7); /* not of this thread */
    launch(&spool, THREAD, 3, 1300, 5400, 7);
    launch(&spool, THREAD, 4, 2500, 6000, 7);
    launch(&spool, THREAD, 5, 2600, 6100, 13);
    launch(&spool, THREAD, 6, 9000, 9500, 7); /* after it */
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "gpu_user_annotation", NULL), 3);
    const cJSON *step = trace_event(&trace, "X", "gpu_user_annotation", "step", 0);
    assert_int_equal(event_ns(step, "ts"), 5000);
    assert_int_equal(event_ns(step, "dur"), 1100);
    assert_string_equal(row_name(&trace, step), "stream 7");
    const cJSON *forward = trace_event(&trace, "X", "gpu_user_annotation", "forward", 0);
    assert_int_equal(event_ns(forward, "ts"), 5000);
    assert_int_equal(event_ns(forward, "dur"), 500);
    const cJSON *other_stream = trace_event(&trace, "X", "gpu_user_annotation", "step", 1);
    assert_string_equal(row_name(&trace, other_stream), "stream 13");
    trace_release(&trace);
}

UNIT_TEST(test_projections_leave_the_row_of_a_stream_with_lanes)
{
    struct make_spool spool;
    begin(&spool);
    push(&spool, 1000, 0, "step");
    pop(&spool, 3000, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    launch(&spool, OTHER, 1, 1100, 4950, 7);
    launch(&spool, THREAD, 2, 1200, 5000, 7);
    struct trace trace = trace_of_done(&spool);
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", "gpu_user_annotation", "step", 0)),
                        "stream 7 annotations");
    trace_release(&trace);
}

UNIT_TEST(test_projections_of_two_threads_that_cross_do_not_share_a_row)
{
    struct make_spool spool;
    begin(&spool);
    push(&spool, 1000, 0, "one");
    pop(&spool, 3000, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    push(&spool, 1000, 0, "two");
    pop(&spool, 3000, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    launch(&spool, THREAD, 1, 1100, 5000, 7);
    launch(&spool, OTHER, 2, 1200, 5200, 7);
    launch(&spool, THREAD, 3, 1300, 5400, 7);
    launch(&spool, OTHER, 4, 1400, 5600, 7);
    struct trace trace = trace_of_done(&spool);
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", "gpu_user_annotation", "one", 0)), "stream 7");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", "gpu_user_annotation", "two", 0)),
                        "stream 7 annotations (2)");
    trace_release(&trace);
}

UNIT_TEST(test_a_started_range_may_end_on_another_thread)
{
    struct make_spool spool;
    begin(&spool);
    /* The end is read before its start: its chunk was opened earlier. */
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_END, .time = 3000, .range = 42});
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_START, .time = 1000, .range = 42, .text = "request"});
    struct trace trace = trace_of_done(&spool);
    const cJSON *first = trace_event(&trace, "b", "user_annotation", "request", 0);
    const cJSON *last = trace_event(&trace, "e", "user_annotation", "request", 0);
    assert_int_equal(event_number(first, "tid"), OTHER);
    assert_int_equal(event_number(last, "tid"), THREAD);
    assert_int_equal(event_ns(last, "ts"), 3000);
    assert_int_equal(event_number(first, "id"), event_number(last, "id"));
    assert_int_equal(trace.summary.losses.unmatched_ranges, 0);
    assert_int_equal(trace.summary.events, 1);
    trace_release(&trace);
}

static void started(struct make_spool *spool, uint64_t time, uint64_t range, const char *text)
{
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_START, .time = time, .range = range, .text = text});
}

static void ended(struct make_spool *spool, uint64_t time, uint64_t range)
{
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_END, .time = time, .range = range});
}

static void assert_span(const cJSON *event, long start, long length)
{
    assert_int_equal(event_ns(event, "ts"), start);
    assert_int_equal(event_ns(event, "dur"), length);
}

UNIT_TEST(test_a_started_range_covers_what_both_of_its_threads_launched)
{
    struct make_spool spool;
    begin(&spool);
    started(&spool, 1000, 1, "handed on");
    started(&spool, 1050, 2, "own");
    ended(&spool, 2500, 2);
    push(&spool, 1100, 0, "push");
    pop(&spool, 1800, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    ended(&spool, 3000, 1);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    launch(&spool, THREAD, 1, 900, 4000, 7); /* before all */
    launch(&spool, THREAD, 2, 1200, 5000, 7);
    launch(&spool, OTHER, 3, 2000, 5200, 7);
    launch(&spool, 503, 4, 2100, 5400, 7); /* of neither */
    launch(&spool, THREAD, 5, 2400, 5600, 7);
    launch(&spool, OTHER, 6, 2900, 5800, 13);
    launch(&spool, OTHER, 7, 3100, 6000, 7); /* after it */
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "gpu_user_annotation", NULL), 4);
    assert_span(trace_event(&trace, "X", "gpu_user_annotation", "handed on", 0), 5000, 700);
    assert_span(trace_event(&trace, "X", "gpu_user_annotation", "handed on", 1), 5800, 100); /* on the other stream */
    assert_span(trace_event(&trace, "X", "gpu_user_annotation", "own", 0), 5000, 700);
    assert_span(trace_event(&trace, "X", "gpu_user_annotation", "push", 0), 5000, 100);
    trace_release(&trace);
}

UNIT_TEST(test_a_range_covers_all_of_a_graph_that_was_launched_in_it)
{
    struct make_spool spool;
    begin(&spool);
    push(&spool, 1000, 0, "graph");
    pop(&spool, 1500, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_api(&spool, (struct make_api){.cbid = 311, .thread = THREAD, .correlation = 1, .start = 1100, .end = 1200});
    for (uint64_t node = 1; node <= 3; node++)
        make_kernel(&spool, (struct make_kernel){.name = NAME,
                                                 .start = 5000 + 1000 * node,
                                                 .end = 5500 + 1000 * node,
                                                 .correlation = 1,
                                                 .graph = 9,
                                                 .node = node});
    struct trace trace = trace_of_done(&spool);
    assert_span(trace_event(&trace, "X", "gpu_user_annotation", "graph", 0), 6000, 2500);
    trace_release(&trace);
}

UNIT_TEST(test_the_small_record_tells_the_same)
{
    struct make_spool spool;
    begin(&spool);
    make_nvtx_domain(&spool, 3, "library");
    make_nvtx_string(&spool, 3, 1, "registered");
    make_nvtx_plain(&spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 1000, .domain = 3, .string = 1});
    make_nvtx_plain(&spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 1100, .text = "a text of its own"});
    make_nvtx_plain(&spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 1500});
    make_nvtx_plain(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1600, .text = "m"});
    make_nvtx_plain(&spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 2000, .domain = 3});
    struct trace trace = trace_of_done(&spool);
    const cJSON *registered = trace_event(&trace, "X", "user_annotation", "registered", 0);
    assert_span(registered, 1000, 1000);
    assert_true(arg_text_is(registered, "domain", "library"));
    assert_span(trace_event(&trace, "X", "user_annotation", "a text of its own", 0), 1100, 400);
    assert_int_equal(event_ns(trace_event(&trace, "i", "user_annotation", "m", 0), "ts"), 1600);
    assert_int_equal(trace.summary.losses.unmatched_ranges, 0);
    trace_release(&trace);
}

UNIT_TEST(test_a_range_on_a_further_row_tells_its_thread)
{
    struct make_spool spool;
    begin(&spool);
    push(&spool, 1000, 1, "first");
    push(&spool, 1500, 2, "second");
    pop(&spool, 2000, 1);
    pop(&spool, 2500, 2);
    struct trace trace = trace_of_done(&spool);
    assert_null(event_arg(trace_event(&trace, "X", NULL, "first", 0), "thread"));
    assert_true(arg_is(trace_event(&trace, "X", NULL, "second", 0), "thread", THREAD));
    trace_release(&trace);
}

UNIT_TEST(test_cuda_events_and_contexts_have_the_names_that_were_given)
{
    struct make_spool spool;
    begin(&spool);
    make_context_handle(&spool, 0xc000, 1, 0);
    make_nvtx_name(&spool, SPOOL_NVTX_CONTEXT, 0xc000, SPOOL_NO_STREAM, "main");
    make_nvtx_name(&spool, SPOOL_NVTX_CUDA_EVENT, 0xe000, SPOOL_NO_STREAM, "ready");
    make_nvtx_recorded(&spool, 0xe000, 2);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_cuda_event(&spool, (struct make_cuda_event){.correlation = 2, .event = 3, .time = 4000});
    make_cuda_event(&spool, (struct make_cuda_event){.correlation = 9, .event = 4, .time = 4100}); /* without a name */
    make_sync(&spool,
              (struct make_sync){.type = 2, .start = 5000, .end = 5001, .correlation = 4, .stream = 13, .event = 3});
    make_sync(&spool,
              (struct make_sync){.type = 4, .start = 6000, .end = 7000, .correlation = 5, .stream = SPOOL_NO_STREAM});
    struct trace trace = trace_of_done(&spool);
    assert_true(arg_text_is(trace_event(&trace, "i", "cuda_event", NULL, 0), "cuda_event_name", "ready"));
    assert_null(event_arg(trace_event(&trace, "i", "cuda_event", NULL, 1), "cuda_event_name"));
    assert_true(
        arg_text_is(trace_event(&trace, "X", "cuda_sync", "Stream Wait Event", 0), "wait_on_cuda_event_name", "ready"));
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", "cuda_sync", "Context Sync", 0)),
                        "context 1 (main) synchronisation");
    trace_release(&trace);
}

UNIT_TEST(test_open_ranges_end_with_the_process)
{
    struct make_spool spool;
    begin(&spool);
    make_spool_header(&spool)->finished = MAKE_SPOOL_START + 9000;
    push(&spool, 1000, 0, "outer");
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_START, .time = 2000, .range = 1, .text = "started"});
    struct trace trace = trace_of_done(&spool);
    const cJSON *outer = trace_event(&trace, "X", NULL, "outer", 0);
    assert_int_equal(event_ns(outer, "dur"), 8000);
    assert_true(cJSON_IsTrue(event_arg(outer, "open at end")));
    assert_int_equal(event_ns(trace_event(&trace, "e", NULL, "started", 0), "ts"), 9000);
    assert_int_equal(trace.summary.losses.unmatched_ranges, 0);
    trace_release(&trace);
}

UNIT_TEST(test_pops_and_ends_without_a_start_are_counted)
{
    struct make_spool spool;
    begin(&spool);
    pop(&spool, 1000, 0);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_END, .time = 3000, .range = 42});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace.summary.losses.unmatched_ranges, 2);
    trace_release(&trace);
}

UNIT_TEST(test_marks_are_instants_and_names_reach_the_rows)
{
    struct make_spool spool;
    begin(&spool);
    make_thread_name(&spool, THREAD, "loader", 1);
    make_thread_name(&spool, THREAD, "app", 0);
    make_stream(&spool, 0x5000, 1, 13);
    make_nvtx_name(&spool, SPOOL_NVTX_STREAM, 0x5000, SPOOL_NO_STREAM, "copies");
    make_nvtx_name(&spool, SPOOL_NVTX_DEVICE, 0, SPOOL_NO_STREAM, "big one");
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1000, .text = "here \xff\"\n"});
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    launch(&spool, THREAD, 1, 1200, 5000, 13);
    struct trace trace = trace_of_done(&spool);
    const cJSON *mark = trace_event(&trace, "i", "user_annotation", NULL, 0);
    assert_string_equal(event_text(mark, "name"), "here \xef\xbf\xbd\"\n");
    assert_string_equal(row_name(&trace, mark), "thread 501 (loader)");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", "kernel", NULL, 0)), "stream 13 (copies)");
    assert_string_equal(event_arg(trace_event(&trace, "M", NULL, "process_name", 1), "name")->valuestring,
                        "app GPU 0 (big one)");
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
