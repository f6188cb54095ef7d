/*
 * Launches of Triton kernels by compiled code: each is an operator, as torch.profiler has it, and no others are.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/make_operators.h"

enum {
    TRITON = 0x7100,
    OWN = 0x7200,
    NUMBERED = 0x7300,
    UNNUMBERED = 0x7400,
    COMPILED = 10,
    BACK = 11,
    REGION = 12,
    CUSTOM = 13,
    TIMER = 14,
    SIMILAR = 15
};

static void open_compiled(struct make_spool *spool)
{
    open_spool(spool);
    make_pointer_name(spool, TRITON, "triton_poi_fused_add_0");
    make_pointer_name(spool, OWN, "triton_matmul");
    make_pointer_name(spool, NUMBERED, "triton_own_kernel_0");
    make_pointer_name(spool, UNNUMBERED, "triton_red_kernel");
    name(spool, COMPILED, "CompiledFunction");
    name(spool, BACK, "CompiledFunctionBackward");
    name(spool, REGION, "Torch-Compiled Region: 0/0");
    name(spool, CUSTOM, "mylib::op");
    name(spool, TIMER, "CachingAutotuner.benchmark_all_configs (dynamo_timed)");
    name(spool, SIMILAR, "CompiledFunctionOfMine");
}

static void launch_named(struct make_spool *spool, uint64_t called, uint32_t correlation, uint64_t kernel)
{
    make_api(spool,
             (struct make_api){
                 .cbid = LAUNCH, .thread = THREAD, .correlation = correlation, .start = called, .end = called + 10});
    make_kernel(spool, (struct make_kernel){
                           .name = kernel, .start = called + 5000, .end = called + 5100, .correlation = correlation});
}

static int triton_operators(const struct trace *trace)
{
    return trace_count(trace, "X", "cpu_op", "triton");
}

UNIT_TEST(a_launch_in_compiled_code_is_an_operator_as_long_as_the_call)
{
    static const uint32_t around[] = {COMPILED, BACK, REGION};
    for (size_t i = 0; i < 3; i++) {
        struct make_spool spool;
        open_compiled(&spool);
        begin(&spool, 1000, around[i], 8, -1, around[i] == BACK);
        begin(&spool, 1050, 2, 9, -1, 0); /* ends before */
        end(&spool, 1060, 9);
        end(&spool, 2000, 8);
        on_thread(&spool, SPOOL_CUPTI, THREAD);
        launch_named(&spool, 1100, 1, TRITON);
        launch_named(&spool, 1200, 2, TRITON);
        launch_named(&spool, 1300, 3, NAME);
        struct trace trace = trace_of_done(&spool);
        assert_int_equal(triton_operators(&trace), 2);
        const cJSON *outer = operator_named(&trace, "Compiled") ?: operator_named(&trace, "Torch");
        for (int k = 0; k < 2; k++) {
            const cJSON *made = trace_event(&trace, "X", "cpu_op", "triton_poi_fused_add_0", k);
            const cJSON *call = trace_event(&trace, "X", "cuda_runtime", NULL, k);
            assert_int_equal(event_ns(made, "ts"), event_ns(call, "ts"));
            assert_int_equal(event_ns(made, "dur"), event_ns(call, "dur"));
            assert_true(event_number(made, "tid") == THREAD && id_of(made) > 0 && id_of(made) != id_of(outer));
            assert_true(arg_is(call, "External id", id_of(made)));
            assert_true(arg_is(trace_event(&trace, "X", "kernel", NULL, k), "External id", id_of(made)));
        }
        assert_true(arg_is(trace_event(&trace, "X", "kernel", NULL, 2), "External id", id_of(outer)));
        assert_true(id_of(trace_event(&trace, "X", "cpu_op", "triton", 0)) !=
                    id_of(trace_event(&trace, "X", "cpu_op", "triton", 1)));
        trace_release(&trace);
    }
}

/* The operator stands before its call, which sorts and nests as Kineto's does. */
UNIT_TEST(the_operator_comes_before_its_call)
{
    struct make_spool spool;
    open_compiled(&spool);
    begin(&spool, 1000, COMPILED, 8, -1, 0);
    end(&spool, 2000, 8);
    on_thread(&spool, SPOOL_CUPTI, THREAD);
    launch_named(&spool, 1100, 1, TRITON);
    struct trace trace = trace_of_done(&spool);
    const cJSON *call = trace_event(&trace, "X", "cuda_runtime", NULL, 0);
    assert_ptr_equal(operator_named(&trace, "triton")->next, call);
    trace_release(&trace);
}

UNIT_TEST(other_names_and_other_operators_around_make_none)
{
    struct make_spool spool;
    open_compiled(&spool);
    begin(&spool, 1000, COMPILED, 8, -1, 0);
    begin(&spool, 1200, CUSTOM, 9, -1, 0);
    end(&spool, 1300, 9);
    end(&spool, 1400, 8);
    begin(&spool, 1500, 1, 8, -1, 0);
    end(&spool, 1600, 8);
    begin(&spool, 1700, SIMILAR, 8, -1, 0);
    end(&spool, 1800, 8);
    on_thread(&spool, SPOOL_CUPTI, THREAD);
    launch_named(&spool, 1100, 1, OWN); /* a program's own, as are: */
    launch_named(&spool, 1120, 6, NUMBERED);
    launch_named(&spool, 1140, 7, UNNUMBERED);
    launch_named(&spool, 1250, 2, TRITON); /* in an operator that compiled code calls */
    launch_named(&spool, 1550, 3, TRITON); /* in another operator */
    launch_named(&spool, 1750, 4, TRITON);
    launch_named(&spool, 1900, 5, TRITON); /* in none */
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(triton_operators(&trace), 0);
    assert_int_equal(trace_count(&trace, "X", "cpu_op", NULL), 4);
    assert_true(
        arg_is(trace_event(&trace, "X", "kernel", NULL, 3), "External id", id_of(operator_named(&trace, "mylib::op"))));
    trace_release(&trace);
}

UNIT_TEST(launches_that_measure_a_kernel_are_no_operators)
{
    struct make_spool spool;
    open_compiled(&spool);
    begin_user(&spool, 900, 3, 7); /* a range of the program's, around all */
    begin_user(&spool, 910, TIMER, 6);
    begin(&spool, 1000, COMPILED, 8, -1, 0);
    begin_user(&spool, 1100, TIMER, 9);
    end(&spool, 1200, 9);
    end(&spool, 2000, 8);
    end(&spool, 2100, 6);
    end(&spool, 2200, 7);
    on_thread(&spool, SPOOL_CUPTI, THREAD);
    launch_named(&spool, 1150, 1, TRITON);
    launch_named(&spool, 1250, 2, TRITON);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(triton_operators(&trace), 1);
    assert_int_equal(event_ns(operator_named(&trace, "triton"), "ts") % 10000, 1250);
    trace_release(&trace);
}

UNIT_TEST(what_a_graph_replays_is_no_operator)
{
    struct make_spool spool;
    open_compiled(&spool);
    begin(&spool, 1000, COMPILED, 8, -1, 0);
    end(&spool, 2000, 8);
    on_thread(&spool, SPOOL_CUPTI, THREAD);
    make_api(&spool, (struct make_api){.cbid = LAUNCH, .thread = THREAD, .correlation = 1, .start = 1100, .end = 1110});
    make_kernel(&spool, (struct make_kernel){
                            .name = TRITON, .start = 3000, .end = 3100, .correlation = 1, .graph = 4, .node = 5});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(triton_operators(&trace), 0);
    trace_release(&trace);
}

UNIT_TEST(ids_of_two_processes_do_not_mix)
{
    char directory[] = "/tmp/gputrace-test-XXXXXX";
    assert_non_null(mkdtemp(directory));
    for (uint32_t i = 0; i < 2; i++) {
        struct make_spool spool;
        make_spool_init(&spool, PID + i, 130001);
        make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
        make_pointer_name(&spool, TRITON, "triton_poi_fused_add_0");
        name(&spool, COMPILED, "CompiledFunction");
        begin(&spool, 1000, COMPILED, 8, -1, 0);
        end(&spool, 2000, 8);
        on_thread(&spool, SPOOL_CUPTI, THREAD);
        launch_named(&spool, 1100, 1, TRITON);
        make_spool_done(&spool, SPOOL_DONE);
        make_spool_save(&spool, directory);
        make_spool_release(&spool);
    }
    struct trace trace = trace_convert(directory);
    double ids[4];
    assert_int_equal(trace_count(&trace, "X", "cpu_op", NULL), 4);
    for (int i = 0; i < 4; i++) {
        ids[i] = id_of(trace_event(&trace, "X", "cpu_op", NULL, i));
        for (int k = 0; k < i; k++)
            assert_true(ids[k] < ids[i] || ids[k] > ids[i]);
    }
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
