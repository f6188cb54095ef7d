/*
 * The row "compilation": phases, JIT operations, what never ended.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 501, OTHER = 502 };

static void next_chunk(struct make_spool *spool, enum spool_chunk_type type, uint32_t thread)
{
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, type, thread);
}

static void whole_phase(struct make_spool *spool, struct make_phase phase, uint64_t ended)
{
    make_phase_start(spool, phase);
    phase.time = ended;
    make_phase_end(spool, phase);
}

UNIT_TEST(test_a_phase_is_a_slice_that_tells_its_call)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    whole_phase(&spool,
                (struct make_phase){.time = 1000,
                                    .phase = 7,
                                    .trigger = SPOOL_TRIGGER_PTX,
                                    .thread = THREAD,
                                    .correlation = 12,
                                    .function = "cuModuleLoadData"},
                71000);
    struct trace trace = trace_of_done(&spool);
    const cJSON *phase = trace_event(&trace, "X", "compilation", "PTX compilation", 0);
    assert_int_equal(event_ns(phase, "ts"), 1000);
    assert_int_equal(event_ns(phase, "dur"), 70000);
    assert_int_equal(event_number(phase, "pid"), PID);
    assert_string_equal(row_name(&trace, phase), "compilation");
    assert_true(arg_text_is(phase, "trigger", "PTX compilation"));
    assert_true(arg_text_is(phase, "function", "cuModuleLoadData"));
    assert_true(arg_is(phase, "phase", 7) && arg_is(phase, "correlation", 12) && arg_is(phase, "thread", THREAD));
    assert_null(event_arg(phase, "result"));
    assert_null(event_arg(phase, "ending"));
    assert_int_equal(trace.summary.events, 1);
    assert_true(trace.summary.cuda);
    trace_release(&trace);
}

UNIT_TEST(test_every_trigger_has_its_name)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    for (uint32_t i = 1; i < SPOOL_TRIGGER_COUNT; i++)
        whole_phase(&spool, (struct make_phase){.time = 1000 * i, .phase = i, .trigger = i, .thread = THREAD},
                    1000 * i + 10);
    struct trace trace = trace_of_done(&spool);
#define ONE(name, text) assert_int_equal(trace_count(&trace, "X", "compilation", text), 1);
    SPOOL_TRIGGERS(ONE)
#undef ONE
    assert_int_equal(trace_count(&trace, "X", "compilation", NULL), SPOOL_TRIGGER_COUNT - 1);
    trace_release(&trace);
}

UNIT_TEST(test_failures_and_endings_are_reported)
{
    static const char *const words[] = {"thread ended", "context destroyed", "stream destroyed", "unknown"};
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    whole_phase(
        &spool,
        (struct make_phase){
            .time = 1000, .phase = 1, .trigger = SPOOL_TRIGGER_LINK, .thread = THREAD, .result = 218, .function = "f"},
        2000);
    for (uint32_t i = 1; i <= 4; i++)
        whole_phase(&spool,
                    (struct make_phase){.time = 3000 * i,
                                        .phase = 1 + i,
                                        .trigger = SPOOL_TRIGGER_GRAPH_CAPTURE,
                                        .thread = THREAD,
                                        .ending = i},
                    3000 * i + 10);
    struct trace trace = trace_of_done(&spool);
    const cJSON *failed = trace_event(&trace, "X", "compilation", "Linking", 0);
    assert_true(arg_is(failed, "result", 218) && arg_text_is(failed, "error", "CUDA_ERROR_INVALID_PTX"));
    for (int i = 0; i < 4; i++)
        assert_true(arg_text_is(trace_event(&trace, "X", "compilation", "Graph capture", i), "ending", words[i]));
    trace_release(&trace);
}

UNIT_TEST(test_an_end_on_another_thread_may_be_read_before_its_start)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_phase_end(&spool, (struct make_phase){.time = 5000,
                                               .phase = 3,
                                               .trigger = SPOOL_TRIGGER_GRAPH_CAPTURE,
                                               .thread = OTHER,
                                               .function = "cuStreamBeginCapture_v2"});
    next_chunk(&spool, SPOOL_RECORDS, OTHER);
    make_phase_start(&spool, (struct make_phase){.time = 1000,
                                                 .phase = 3,
                                                 .trigger = SPOOL_TRIGGER_GRAPH_CAPTURE,
                                                 .thread = OTHER,
                                                 .function = "cuStreamBeginCapture_v2"});
    struct trace trace = trace_of_done(&spool);
    const cJSON *phase = trace_event(&trace, "X", "compilation", NULL, 0);
    assert_int_equal(event_ns(phase, "dur"), 4000);
    assert_true(arg_is(phase, "thread", OTHER));
    trace_release(&trace);
}

UNIT_TEST(test_a_phase_without_end_lasts_as_long_as_the_process)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_spool_header(&spool)->finished = 0; /* killed */
    make_phase_start(&spool, (struct make_phase){.time = 1000,
                                                 .phase = 1,
                                                 .trigger = SPOOL_TRIGGER_MODULE_LOAD,
                                                 .thread = THREAD,
                                                 .function = "cuLibraryLoadData"});
    next_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_api(&spool, (struct make_api){.cbid = 211, .thread = OTHER, .correlation = 1, .start = 2000, .end = 9000});
    struct trace trace = trace_of_done(&spool);
    const cJSON *phase = trace_event(&trace, "X", "compilation", "Module load", 0);
    assert_int_equal(event_ns(phase, "ts") + event_ns(phase, "dur"), 9000);
    assert_true(arg_text_is(phase, "ending", "process ended"));
    trace_release(&trace);
}

UNIT_TEST(test_an_end_without_start_and_a_trigger_of_the_future)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_phase_end(&spool, (struct make_phase){.time = 5000, .phase = 3, .trigger = SPOOL_TRIGGER_LINK});
    whole_phase(&spool, (struct make_phase){.time = 6000, .phase = 4, .trigger = SPOOL_TRIGGER_COUNT}, 7000);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "compilation", NULL), 0);
    assert_null(trace_event(&trace, "M", NULL, "thread_name", 0)); /* no row either */
    assert_int_equal(trace.summary.losses.undecoded, 2);
    trace_release(&trace);
}

UNIT_TEST(test_jit_operations_nest_in_the_phase_of_their_call)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    whole_phase(&spool,
                (struct make_phase){.time = 1000,
                                    .phase = 1,
                                    .trigger = SPOOL_TRIGGER_PTX,
                                    .thread = THREAD,
                                    .correlation = 12,
                                    .function = "cuModuleLoadData"},
                71000);
    next_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_jit(&spool, (struct make_jit){.start = 2000,
                                       .end = 60000,
                                       .group = 5,
                                       .cache_bytes = 1 << 30,
                                       .entry = 1,
                                       .operation = 3,
                                       .correlation = 12,
                                       .thread = 99});
    make_jit(&spool, (struct make_jit){
                         .start = 60000, .end = 70000, .group = 5, .entry = 1, .operation = 2, .correlation = 12});
    make_jit(
        &spool,
        (struct make_jit){
            .start = 80000, .end = 80020, .group = 6, .entry = 2, .operation = 1, .correlation = 13, .thread = 77});
    struct trace trace = trace_of_done(&spool);
    const cJSON *compile = trace_event(&trace, "X", "compilation", "JIT compile", 0);
    const cJSON *store = trace_event(&trace, "X", "compilation", "JIT cache store", 0);
    const cJSON *load = trace_event(&trace, "X", "compilation", "JIT cache load", 0);
    assert_int_equal(event_ns(compile, "dur"), 58000);
    assert_true(arg_is(compile, "thread", THREAD) && arg_is(store, "thread", THREAD) && arg_is(load, "thread", 77));
    assert_true(arg_is(compile, "correlation", 12) && arg_is(compile, "group", 5));
    assert_true(arg_is(compile, "cache limit bytes", 1 << 30));
    assert_true(cJSON_IsFalse(event_arg(compile, "cache hit")) && cJSON_IsTrue(event_arg(load, "cache hit")));
    assert_null(event_arg(store, "cache hit"));
    assert_true(arg_text_is(compile, "from", "PTX") && arg_text_is(load, "from", "NVVM IR"));
    assert_string_equal(row_name(&trace, compile), "compilation");
    assert_int_equal(trace_count(&trace, "M", NULL, "thread_name"), 1);
    trace_release(&trace);
}

/* Of several events of the host with one id HTA takes the last in the file for the launch. */
UNIT_TEST(test_a_phase_comes_before_the_call_that_it_is_within)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_api(&spool, (struct make_api){.cbid = 211, .thread = THREAD, .correlation = 4, .start = 1000, .end = 9000});
    make_kernel(&spool, (struct make_kernel){.start = 9000, .end = 9500, .correlation = 4});
    next_chunk(&spool, SPOOL_RECORDS, THREAD);
    whole_phase(
        &spool,
        (struct make_phase){
            .time = 2000, .phase = 1, .trigger = SPOOL_TRIGGER_FUNCTION_LOAD, .thread = THREAD, .correlation = 4},
        3000);
    struct trace trace = trace_of_done(&spool);
    const cJSON *last = NULL, *event;
    cJSON_ArrayForEach(event, trace.events)
    {
        if (strcmp(event_text(event, "ph"), "X") == 0 && !event_arg(event, "stream") && arg_is(event, "correlation", 4))
            last = event;
    }
    assert_string_equal(event_text(last, "cat"), "cuda_runtime");
    assert_int_equal(trace_count(&trace, "s", NULL, NULL), 1);
    assert_int_equal(trace.summary.losses.unmatched_flows, 0);
    trace_release(&trace);
}

UNIT_TEST(test_jit_operations_without_times_are_counted)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_jit(&spool, (struct make_jit){.operation = 3, .correlation = 12});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "compilation", NULL), 0);
    assert_int_equal(trace.summary.losses.undecoded, 1);
    trace_release(&trace);
}

UNIT_TEST(test_phases_of_one_thread_nest_and_those_of_others_have_lanes)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    struct make_phase outer = {.time = 1000, .phase = 1, .trigger = SPOOL_TRIGGER_GRAPH_CAPTURE, .thread = THREAD};
    struct make_phase inner = {.time = 2000, .phase = 2, .trigger = SPOOL_TRIGGER_FUNCTION_LOAD, .thread = THREAD};
    struct make_phase other = {
        .time = 2500, .phase = 3, .trigger = SPOOL_TRIGGER_MODULE_LOAD, .thread = OTHER, .correlation = 4};
    whole_phase(&spool, outer, 9000);
    whole_phase(&spool, inner, 3000);
    whole_phase(&spool, other, 20000);
    next_chunk(&spool, SPOOL_CUPTI, OTHER);
    make_jit(&spool, (struct make_jit){.start = 10000, .end = 11000, .entry = 1, .operation = 3, .correlation = 4});
    struct trace trace = trace_of_done(&spool);
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "Graph capture", 0)), "compilation");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "Lazy function load", 0)), "compilation");
    /* It would lie within the capture, which is not its thread's. */
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "Module load", 0)), "compilation (2)");
    /* And the first lane is empty when this begins. */
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "JIT compile", 0)), "compilation (2)");
    trace_release(&trace);
}

UNIT_TEST(test_nothing_is_shown_from_outside_the_windows)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_capture(&spool, 500, 0, "waiting");
    make_capture(&spool, 2000, 1, "on");
    make_capture(&spool, 4000, 0, "off");
    whole_phase(&spool, (struct make_phase){.time = 1000, .phase = 1, .trigger = SPOOL_TRIGGER_LINK}, 3000);
    whole_phase(&spool, (struct make_phase){.time = 2500, .phase = 2, .trigger = SPOOL_TRIGGER_LINK}, 2600);
    make_phase_start(&spool, (struct make_phase){.time = 3000, .phase = 3, .trigger = SPOOL_TRIGGER_PTX});
    whole_phase(&spool, (struct make_phase){.time = 5000, .phase = 4, .trigger = SPOOL_TRIGGER_LINK}, 6000);
    next_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_jit(&spool, (struct make_jit){.start = 5100, .end = 5200, .entry = 1, .operation = 3, .correlation = 4});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "compilation", NULL), 2);
    assert_int_equal(event_ns(trace_event(&trace, "X", "compilation", "Linking", 0), "ts"), 2500);
    const cJSON *open = trace_event(&trace, "X", "compilation", "PTX compilation", 0);
    assert_int_equal(event_ns(open, "dur"), 1000);
    assert_true(arg_text_is(open, "ending", "recording was turned off"));
    assert_int_equal(trace.summary.losses.undecoded, 0);
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
