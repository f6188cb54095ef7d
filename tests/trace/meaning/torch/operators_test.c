/*
 * PyTorch's operators in the trace: slices and their arguments, ids of what they started, flows to the backward pass,
 * ends on other threads, what is missing.
 */
#include "tests/unit.h"

#include "common/settings.h"
#include "tests/trace/meaning/make_operators.h"

UNIT_TEST(operators_and_annotations_are_slices_of_their_thread)
{
    struct make_spool spool;
    open_spool(&spool);
    begin_user(&spool, 1000, 3, 7);
    begin(&spool, 1100, 1, 8, 41, 0);
    begin(&spool, 1200, 2, 9, -1, 0);
    end(&spool, 1300, 9);
    end(&spool, 1400, 8);
    end(&spool, 1500, 7);
    struct trace trace = trace_of_done(&spool);
    const cJSON *outer = operator_named(&trace, "aten::linear"), *inner = operator_named(&trace, "aten::addmm");
    const cJSON *step = trace_event(&trace, "X", "user_annotation", "step", 0);
    assert_int_equal(event_ns(outer, "dur"), 300);
    assert_int_equal(event_ns(inner, "dur"), 100);
    assert_int_equal(event_ns(step, "dur"), 500);
    assert_true(event_number(outer, "pid") == PID && event_number(outer, "tid") == THREAD &&
                event_number(step, "tid") == THREAD);
    assert_true(arg_is(outer, "Sequence number", 41) && arg_is(outer, "Fwd thread id", 0));
    assert_null(event_arg(inner, "Sequence number"));
    assert_null(event_arg(inner, "Fwd thread id"));
    assert_true(id_of(outer) > 0 && id_of(inner) > 0 && id_of(step) > 0);
    assert_true(id_of(outer) != id_of(inner) && id_of(step) != id_of(outer) && id_of(step) != id_of(inner));
    assert_int_equal(trace_count(&trace, "X", NULL, NULL), 3);
    assert_int_equal(trace.summary.losses.unmatched_ranges, 0);
    trace_release(&trace);
}

UNIT_TEST(calls_and_gpu_operations_have_the_id_of_the_innermost_operator)
{
    struct make_spool spool;
    open_spool(&spool);
    begin(&spool, 1000, 1, 8, -1, 0);
    begin(&spool, 1200, 2, 9, -1, 0);
    begin_user(&spool, 1210, 3, 10); /* a range of the program */
    end(&spool, 1290, 10);
    end(&spool, 1300, 9);
    end(&spool, 1400, 8);
    on_thread(&spool, SPOOL_CUPTI, THREAD);
    launch(&spool, THREAD, 1, 1100);
    launch(&spool, THREAD, 2, 1220);
    launch(&spool, THREAD, 3, 1320);
    launch(&spool, THREAD, 4, 1500); /* after all */
    launch(&spool, OTHER, 5, 1220);  /* on another thread */
    struct trace trace = trace_of_done(&spool);
    double outer = id_of(operator_named(&trace, "aten::linear")), inner = id_of(operator_named(&trace, "aten::addmm"));
    const double wanted[] = {outer, inner, outer};
    for (int i = 0; i < 3; i++) {
        assert_true(arg_is(trace_event(&trace, "X", "kernel", NULL, i), "External id", wanted[i]));
        assert_true(arg_is(trace_event(&trace, "X", "cuda_runtime", NULL, i), "External id", wanted[i]));
    }
    for (int i = 3; i < 5; i++) {
        assert_null(event_arg(trace_event(&trace, "X", "kernel", NULL, i), "External id"));
        assert_null(event_arg(trace_event(&trace, "X", "cuda_runtime", NULL, i), "External id"));
    }
    /* Annotations alone are shown on streams. */
    assert_int_equal(trace_count(&trace, "X", "gpu_user_annotation", NULL), 1);
    const cJSON *on_stream = trace_event(&trace, "X", "gpu_user_annotation", "step", 0);
    assert_true(id_of(on_stream) == id_of(trace_event(&trace, "X", "user_annotation", "step", 0)));
    trace_release(&trace);
}

/* The one flow of the trace leads from FROM to TO. */
static void assert_flow(const struct trace *trace, const cJSON *from, const cJSON *to)
{
    const cJSON *start = trace_event(trace, "s", "fwdbwd", "fwdbwd", 0);
    const cJSON *finish = trace_event(trace, "f", "fwdbwd", "fwdbwd", 0);
    assert_int_equal(trace_count(trace, "s", "fwdbwd", NULL), 1);
    assert_int_equal(trace_count(trace, "f", "fwdbwd", NULL), 1);
    assert_true(event_number(start, "id") == event_number(finish, "id"));
    assert_true(event_ns(start, "ts") == event_ns(from, "ts") &&
                event_number(start, "tid") == event_number(from, "tid"));
    assert_true(event_ns(finish, "ts") == event_ns(to, "ts") && event_number(finish, "tid") == event_number(to, "tid"));
    assert_string_equal(event_text(finish, "bp"), "e");
}

/* As PyTorch has it: operators have the number that the next node of the backward pass gets. */
UNIT_TEST(a_flow_leads_from_the_last_operator_of_a_number_to_the_innermost_of_the_backward_pass)
{
    struct make_spool spool;
    open_spool(&spool);
    name(&spool, 4, "autograd::engine::evaluate_function: AddmmBackward0");
    name(&spool, 6, "another");
    name(&spool, 5, "AddmmBackward0");
    begin(&spool, 1000, 1, 8, 41, 0);
    begin(&spool, 1100, 2, 9, 41, 0);
    end(&spool, 1200, 9);
    end(&spool, 1300, 8);
    on_thread(&spool, SPOOL_RECORDS, OTHER);
    number_thread(&spool, BACKWARD);
    begin(&spool, 2000, 4, 8, -1, 0);
    begin(&spool, 2100, 5, 9, 41, FORWARD);
    end(&spool, 2200, 9);
    end(&spool, 2300, 8);
    begin(&spool, 2400, 6, 8, -1, 0);
    begin(&spool, 2500, 5, 9, 42, FORWARD);
    end(&spool, 2600, 9);
    end(&spool, 2700, 8);
    struct trace trace = trace_of_done(&spool);
    /* Around it is one without a number, as PyTorch has it, which torch.profiler shows with that of the node. */
    const cJSON *around = operator_named(&trace, "autograd");
    assert_true(arg_is(around, "Sequence number", 41) && arg_is(around, "Fwd thread id", FORWARD));
    assert_null(event_arg(operator_named(&trace, "another"), "Sequence number"));
    const cJSON *backward = operator_named(&trace, "AddmmBackward0");
    assert_flow(&trace, operator_named(&trace, "aten::addmm"), backward);
    assert_true(arg_is(backward, "Sequence number", 41) && arg_is(backward, "Fwd thread id", FORWARD));
    assert_int_equal(event_number(backward, "tid"), OTHER);
    trace_release(&trace);
}

UNIT_TEST(there_is_no_flow_to_another_number_or_thread_of_the_forward_pass)
{
    struct make_spool spool;
    open_spool(&spool);
    begin(&spool, 1000, 1, 8, 41, 0);
    end(&spool, 1300, 8);
    on_thread(&spool, SPOOL_RECORDS, OTHER);
    number_thread(&spool, BACKWARD);
    begin(&spool, 2000, 2, 8, 42, FORWARD); /* another number */
    end(&spool, 2100, 8);
    begin(&spool, 2200, 2, 8, 41, 3); /* another thread's */
    end(&spool, 2300, 8);
    begin(&spool, 500, 2, 8, 41, FORWARD); /* before */
    end(&spool, 600, 8);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cpu_op", NULL), 4);
    assert_int_equal(trace_count(&trace, NULL, "fwdbwd", NULL), 0);
    trace_release(&trace);
}

UNIT_TEST(an_operator_may_end_on_another_thread)
{
    struct make_spool spool;
    open_spool(&spool);
    begin_user(&spool, 1000, 3, 7);
    begin(&spool, 1100, 1, 8, -1, 0);
    end(&spool, 1200, 8);
    on_thread(&spool, SPOOL_RECORDS, OTHER);
    end(&spool, 1500, 7);
    struct trace trace = trace_of_done(&spool);
    const cJSON *step = trace_event(&trace, "X", "user_annotation", "step", 0);
    assert_int_equal(event_ns(step, "dur"), 500);
    assert_int_equal(event_number(step, "tid"), THREAD);
    assert_null(event_arg(step, "open at end"));
    assert_int_equal(event_ns(operator_named(&trace, "aten::linear"), "dur"), 100);
    trace_release(&trace);
}

UNIT_TEST(operators_of_a_thread_may_end_in_another_order)
{
    struct make_spool spool;
    open_spool(&spool);
    begin_user(&spool, 1000, 3, 7);
    begin(&spool, 1100, 1, 8, -1, 0);
    end(&spool, 1200, 7);
    begin(&spool, 1250, 2, 7, -1, 0); /* has the place of the first */
    end(&spool, 1260, 7);
    end(&spool, 1300, 8);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(event_ns(trace_event(&trace, "X", "user_annotation", "step", 0), "dur"), 200);
    assert_int_equal(event_ns(operator_named(&trace, "aten::linear"), "dur"), 200);
    assert_int_equal(event_ns(operator_named(&trace, "aten::addmm"), "dur"), 10);
    trace_release(&trace);
}

UNIT_TEST(thousands_of_operators_may_be_open_and_end_in_any_order)
{
    enum { COUNT = 3000 };
    struct make_spool spool;
    open_spool(&spool);
    for (uint32_t i = 0; i < COUNT; i++)
        begin_user(&spool, 1000 + i, 3, 100 + i);
    for (uint32_t i = 0; i < COUNT; i++) /* the first to begin is the first to end */
        end(&spool, 10000 + 2 * i, 100 + i);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "user_annotation", "step"), COUNT);
    for (int i = 0; i < COUNT; i += 500) {
        const cJSON *step = trace_event(&trace, "X", "user_annotation", "step", i);
        assert_int_equal(event_ns(step, "dur"), 10000 + 2 * i - (1000 + i));
        assert_null(event_arg(step, "open at end"));
    }
    trace_release(&trace);
}

UNIT_TEST(what_is_open_at_the_end_says_so_and_an_end_without_a_start_is_passed_over)
{
    struct make_spool spool;
    open_spool(&spool);
    end(&spool, 900, 99);
    begin(&spool, 1000, 1, 8, -1, 0);
    begin(&spool, 1100, 2, 9, -1, 0);
    end(&spool, 1500, 9);
    struct trace trace = trace_of_done(&spool);
    const cJSON *open = operator_named(&trace, "aten::linear");
    assert_true(cJSON_IsTrue(event_arg(open, "open at end")) && event_ns(open, "dur") == 500);
    assert_null(event_arg(operator_named(&trace, "aten::addmm"), "open at end"));
    assert_int_equal(trace_count(&trace, "X", NULL, NULL), 2);
    trace_release(&trace);
}

UNIT_TEST(inputs_are_shown_as_torch_profiler_does)
{
    static const char known[] = "[[8,16],[],[-1]]\0float\0Scalar\0"; /* and the last type, which is empty */
    struct make_spool spool;
    open_spool(&spool);
    text(&spool, 10, known, sizeof(known), SPOOL_OPERATOR_INPUTS);
    begin(&spool, 1000, 1, 8, -1, 0);
    inputs(&spool, 1001, 8, 10);
    begin(&spool, 1100, 2, 9, -1, 0);
    end(&spool, 1200, 9);
    end(&spool, 1500, 8);
    struct trace trace = trace_of_done(&spool);
    char *sizes = cJSON_PrintUnformatted(event_arg(operator_named(&trace, "aten::linear"), "Input Dims"));
    char *types = cJSON_PrintUnformatted(event_arg(operator_named(&trace, "aten::linear"), "Input type"));
    assert_string_equal(sizes, "[[8,16],[],[-1]]");
    assert_string_equal(types, "[\"float\",\"Scalar\",\"\"]");
    assert_null(event_arg(operator_named(&trace, "aten::addmm"), "Input Dims"));
    free(sizes);
    free(types);
    trace_release(&trace);
}

/* The file is not trusted: the trace is JSON whatever the texts are. */
UNIT_TEST(inputs_that_are_not_dimensions_are_left_out)
{
    static const char *const wrong[] = {"[[8,16]", "]", "", "[[01]]", "{}", "[\"a\"]"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct make_spool spool;
        open_spool(&spool);
        text(&spool, 10, wrong[i], strlen(wrong[i]) + (i % 2), SPOOL_OPERATOR_INPUTS);
        begin(&spool, 1000, 77, 8, -1, 0); /* without a name */
        inputs(&spool, 1001, 8, i == 3 ? 1234 : 10);
        end(&spool, 1500, 8);
        struct trace trace = trace_of_done(&spool);
        const cJSON *shown = operator_named(&trace, "(no name)");
        assert_non_null(shown);
        assert_null(event_arg(shown, "Input Dims"));
        trace_release(&trace);
    }
}

UNIT_TEST(an_operator_ends_with_the_capture_interval)
{
    struct make_spool spool;
    open_spool(&spool);
    make_capture(&spool, 500, 1, "start");
    begin(&spool, 1000, 1, 8, -1, 0);
    make_capture(&spool, 1400, 0, "stop");
    make_capture(&spool, 2000, 1, "start");
    end(&spool, 2100, 9); /* of an operator that began while recording was off */
    begin(&spool, 2200, 2, 8, -1, 0);
    end(&spool, 2300, 8);
    struct trace trace = trace_of_done(&spool);
    const cJSON *cut = operator_named(&trace, "aten::linear");
    assert_true(event_ns(cut, "dur") == 400 && cJSON_IsTrue(event_arg(cut, "open at end")));
    assert_int_equal(event_ns(operator_named(&trace, "aten::addmm"), "dur"), 100);
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
