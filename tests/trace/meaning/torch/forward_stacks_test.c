/*
 * GPU operations of the backward pass have the line of their forward operator, where a launch in that has one; without
 * operators the line that called the backward pass. So has what a graph replays that captured a backward pass.
 */
#include "tests/unit.h"

#include "common/spool_records.h"
#include "tests/trace/meaning/make_operators.h"
#include "tests/trace/meaning/make_plugin.h"

enum { BACK = 20, MM = 21, PYTHON_STACK = 1, NATIVE_STACK = 2 };

#define CORRELATION(launch) (100 + (launch)) /* flows to the backward pass are counted from 1 */

static void put_call_stack(struct make_spool *spool, uint32_t number, uint32_t stack)
{
    struct spool_call_stack *record = make_own(spool, SPOOL_RECORD_CALL_STACK, 1000, sizeof(*record), 0, NULL, 0);
    record->correlation = CORRELATION(number);
    record->stack = stack;
}

/* aten::addmm of the forward pass with the launches 1 and 2, and AddmmBackward0 with the launch 3, in aten::mm, and 4,
 * of sequence number SEQUENCE. */
static void make_passes(struct make_spool *spool, int64_t sequence)
{
    static const uint64_t python[] = {0x5000, SPOOL_STACK_PYTHON << 48 | 1}, native[] = {0x5000, 0x6000};
    open_spool(spool);
    name(spool, BACK, "AddmmBackward0");
    name(spool, MM, "aten::mm");
    make_python_frame(spool, 1, 12, "forward", "/home/me/model.py");
    make_stack(spool, PYTHON_STACK, python, 2);
    make_stack(spool, NATIVE_STACK, native, 2);
    begin(spool, 1000, 1, 7, -1, 0);
    begin(spool, 1010, 2, 8, 41, 0);
    end(spool, 1200, 8);
    end(spool, 1300, 7);
    on_thread(spool, SPOOL_RECORDS, OTHER);
    number_thread(spool, BACKWARD);
    begin(spool, 2000, BACK, 8, sequence, FORWARD);
    begin(spool, 2100, MM, 9, -1, 0);
    end(spool, 2200, 9);
    end(spool, 2400, 8);
}

static struct trace launch_all(struct make_spool *spool)
{
    on_thread(spool, SPOOL_CUPTI, THREAD);
    launch(spool, THREAD, CORRELATION(1), 1100);
    launch(spool, THREAD, CORRELATION(2), 1150);
    launch(spool, OTHER, CORRELATION(3), 2150);
    launch(spool, OTHER, CORRELATION(4), 2300);
    launch(spool, OTHER, CORRELATION(5), 2500); /* in no operator */
    return trace_of_done(spool);
}

static bool kernel_has(const struct trace *trace, int number, const char *key, const char *text)
{
    const cJSON *kernel = trace_event(trace, "X", "kernel", NULL, number - 1);
    return text ? event_arg(kernel, key) && arg_text_is(kernel, key, text) : !event_arg(kernel, key);
}

UNIT_TEST(launches_of_the_backward_pass_have_the_line_of_the_forward_operator)
{
    struct make_spool spool;
    make_passes(&spool, 41);
    put_call_stack(&spool, 2, PYTHON_STACK);
    put_call_stack(&spool, 3, NATIVE_STACK);
    put_call_stack(&spool, 5, NATIVE_STACK);
    struct trace trace = launch_all(&spool);
    assert_true(kernel_has(&trace, 1, "forward at", NULL));
    assert_true(kernel_has(&trace, 2, "forward at", NULL));
    assert_true(kernel_has(&trace, 2, "called at", "forward (model.py:12)"));
    assert_true(kernel_has(&trace, 3, "forward at", "forward (model.py:12)"));
    assert_true(kernel_has(&trace, 4, "forward at", "forward (model.py:12)"));
    assert_true(kernel_has(&trace, 5, "forward at", NULL));
    for (int i = 1; i <= 5; i++)
        assert_true(kernel_has(&trace, i, "in operator", NULL));
    trace_release(&trace);
}

UNIT_TEST(without_a_line_in_the_forward_operator_a_stack_without_one_has_the_operator)
{
    struct make_spool spool;
    make_passes(&spool, 41);
    put_call_stack(&spool, 1, NATIVE_STACK); /* no line in it */
    put_call_stack(&spool, 3, NATIVE_STACK);
    struct trace trace = launch_all(&spool);
    assert_true(kernel_has(&trace, 1, "in operator", "aten::addmm"));
    assert_true(kernel_has(&trace, 3, "in operator", "aten::mm"));
    assert_true(kernel_has(&trace, 4, "in operator", NULL)); /* it has no stack */
    for (int i = 1; i <= 5; i++)
        assert_true(kernel_has(&trace, i, "forward at", NULL));
    trace_release(&trace);
}

UNIT_TEST(another_sequence_number_is_another_forward_operator)
{
    struct make_spool spool;
    make_passes(&spool, 42);
    put_call_stack(&spool, 2, PYTHON_STACK);
    put_call_stack(&spool, 3, NATIVE_STACK);
    struct trace trace = launch_all(&spool);
    assert_true(kernel_has(&trace, 3, "forward at", NULL) && kernel_has(&trace, 4, "forward at", NULL));
    assert_true(kernel_has(&trace, 3, "in operator", "aten::mm"));
    trace_release(&trace);
}

UNIT_TEST(a_launch_with_a_line_of_its_own_keeps_it)
{
    struct make_spool spool;
    make_passes(&spool, 41);
    put_call_stack(&spool, 2, PYTHON_STACK);
    put_call_stack(&spool, 3, PYTHON_STACK);
    struct trace trace = launch_all(&spool);
    assert_true(kernel_has(&trace, 3, "forward at", NULL) && kernel_has(&trace, 3, "in operator", NULL));
    assert_true(kernel_has(&trace, 4, "forward at", "forward (model.py:12)"));
    trace_release(&trace);
}

/* As compiled code has it in both passes. */
UNIT_TEST(a_line_of_the_program_counts_more_than_one_of_an_installed_package)
{
    static const uint64_t package[] = {0x5000, SPOOL_STACK_PYTHON << 48 | 2};
    for (int in_forward = 0; in_forward < 2; in_forward++) {
        struct make_spool spool;
        make_passes(&spool, 41);
        make_python_frame(&spool, 2, 7, "call", "/usr/lib/python3/site-packages/made.py");
        make_stack(&spool, 3, package, 2);
        put_call_stack(&spool, 1, 3);
        put_call_stack(&spool, 2, in_forward ? 3 : PYTHON_STACK);
        put_call_stack(&spool, 3, 3);
        struct trace trace = launch_all(&spool);
        assert_true(kernel_has(&trace, 3, "called at", "call (made.py:7)"));
        assert_true(kernel_has(&trace, 3, "forward at", in_forward ? NULL : "forward (model.py:12)"));
        assert_true(kernel_has(&trace, 4, "forward at", in_forward ? "call (made.py:7)" : "forward (model.py:12)"));
        assert_true(kernel_has(&trace, 3, "in operator", NULL));
        trace_release(&trace);
    }
}

/* --- what graphs replay --- */

enum { GRAPH = 9, REPLAY = 200 }; /* the launch of the graph */

/* A node that is captured by the thread of the chunk, with a call stack (0: none). */
static void capture_node(struct make_spool *spool, uint64_t time, uint64_t node, uint32_t stack)
{
    struct spool_graph_node *made = put(spool, SPOOL_RECORD_GRAPH_NODE, time, sizeof(*made));
    made->node = node;
    if (stack == 0)
        return;
    struct spool_graph_node_stack *of_node = put(spool, SPOOL_RECORD_GRAPH_NODE_STACK, time, sizeof(*of_node));
    of_node->node = node;
    of_node->stack = stack;
}

/* A graph is launched that has the COUNT nodes from 1 on: they are kernels 1, 2 … of the trace. */
static struct trace replay(struct make_spool *spool, uint64_t count)
{
    on_thread(spool, SPOOL_CUPTI, THREAD);
    make_api(spool,
             (struct make_api){
                 .cbid = LAUNCH, .thread = THREAD, .correlation = CORRELATION(REPLAY), .start = 5000, .end = 5100});
    for (uint64_t node = 1; node <= count; node++)
        make_kernel(spool, (struct make_kernel){.name = NAME,
                                                .start = 6000 + 100 * node,
                                                .end = 6050 + 100 * node,
                                                .correlation = CORRELATION(REPLAY),
                                                .graph = GRAPH,
                                                .node = node});
    return trace_of_done(spool);
}

UNIT_TEST(what_was_captured_in_the_backward_pass_has_the_line_of_the_forward_operator)
{
    static const uint64_t package[] = {0x5000, SPOOL_STACK_PYTHON << 48 | 2};
    struct make_spool spool;
    make_passes(&spool, 41);
    make_python_frame(&spool, 2, 7, "call", "/usr/lib/python3/site-packages/made.py");
    make_stack(&spool, 3, package, 2);
    capture_node(&spool, 2150, 2, 0);
    capture_node(&spool, 2300, 3, 3); /* compiled code */
    capture_node(&spool, 2500, 4, 0); /* in no operator */
    on_thread(&spool, SPOOL_RECORDS, THREAD);
    capture_node(&spool, 1100, 1, PYTHON_STACK);
    put_call_stack(&spool, REPLAY, NATIVE_STACK);
    struct trace trace = replay(&spool, 4);
    assert_true(kernel_has(&trace, 1, "captured at", "forward (model.py:12)"));
    assert_true(kernel_has(&trace, 1, "forward at", NULL));
    assert_true(kernel_has(&trace, 2, "forward at", "forward (model.py:12)"));
    assert_true(kernel_has(&trace, 2, "called at", NULL) && kernel_has(&trace, 2, "stack", NULL));
    assert_true(kernel_has(&trace, 2, "captured in", "AddmmBackward0 / aten::mm"));
    assert_true(kernel_has(&trace, 3, "captured at", "call (made.py:7)"));
    assert_true(kernel_has(&trace, 3, "forward at", "forward (model.py:12)"));
    assert_true(kernel_has(&trace, 4, "forward at", NULL) && kernel_has(&trace, 4, "captured in", NULL));
    assert_false(kernel_has(&trace, 4, "stack", NULL)); /* that of the graph's launch */
    trace_release(&trace);
}

UNIT_TEST(what_autograd_captured_shows_the_ranges_of_the_capturing_thread_around_its_operators)
{
    for (int autograd = 0; autograd <= 1; autograd++) {
        struct make_spool spool;
        make_passes(&spool, 41);
        make_thread_name(&spool, OTHER, autograd ? "pt_autograd_0" : "worker", 0);
        capture_node(&spool, 2150, 1, 0);
        on_thread(&spool, SPOOL_RECORDS, PID);
        begin_user(&spool, 1900, 3, 5);
        end(&spool, 3000, 5);
        struct trace trace = replay(&spool, 1);
        assert_true(kernel_has(&trace, 1, "captured in",
                               autograd ? "step / AddmmBackward0 / aten::mm" : "AddmmBackward0 / aten::mm"));
        trace_release(&trace);
    }
}

/* --- without operators --- */

enum { ENGINE = 5, GRADIENT = 6, STEP = 7, OTHER_STEP = 8, WRITTEN = 9, COMPILED = 10, SCRIPT = 11 }; /* frames */

/* Stack NUMBER of a kernel that step() of LINE launches by calling backward(). */
static void make_backward_stack(struct make_spool *spool, uint32_t number, uint64_t frame, uint32_t line)
{
    const uint64_t frames[] = {SPOOL_STACK_PYTHON << 48 | GRADIENT, SPOOL_STACK_PYTHON << 48 | ENGINE,
                               SPOOL_STACK_PYTHON << 48 | frame};
    make_python_frame(spool, frame, line, "step", "/home/me/train.py");
    make_stack(spool, number, frames, 3);
}

/* Stack NUMBER of that one frame of FILE is that of the launch LAUNCH. */
static void put_python_stack(struct make_spool *spool, uint32_t number, uint32_t launch, uint64_t frame,
                             const char *file)
{
    const uint64_t frames[] = {SPOOL_STACK_PYTHON << 48 | frame};
    make_python_frame(spool, frame, 90, "call", file);
    make_stack(spool, number, frames, 1);
    put_call_stack(spool, launch, number);
}

/* The launches 1 and 4 are of the main thread, the others of the one called NAME: 3 with a stack of libraries, 5 with
 * one of what torch.compile wrote, 6 of text that it compiled, 7 of the program. */
static struct make_spool *open_backward(struct make_spool *spool, const char *name)
{
    static const uint64_t native[] = {0x5000, 0x6000};
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(spool, NAME, "kernel");
    make_python_frame(spool, ENGINE, 300, "backward", "/opt/python/site-packages/torch/autograd/__init__.py");
    make_python_frame(spool, GRADIENT, 200, "_make_grads", "/opt/python/site-packages/torch/autograd/__init__.py");
    make_backward_stack(spool, 1, STEP, 42);
    make_stack(spool, 2, native, 2);
    make_thread_name(spool, OTHER, name, 0);
    put_call_stack(spool, 1, 1);
    put_call_stack(spool, 3, 2);
    put_python_stack(spool, 4, 5, WRITTEN, "/tmp/torchinductor_me/ab/cab.py");
    put_python_stack(spool, 5, 6, COMPILED, "<string>");
    put_python_stack(spool, 6, 7, SCRIPT, "/home/me/gradient.py");
    return spool;
}

static struct trace launch_backward(struct make_spool *spool)
{
    on_thread(spool, SPOOL_CUPTI, THREAD);
    launch(spool, THREAD, CORRELATION(1), 1100);
    launch(spool, OTHER, CORRELATION(2), 1200);
    launch(spool, OTHER, CORRELATION(3), 1300);
    launch(spool, THREAD, CORRELATION(4), 1400);
    launch(spool, OTHER, CORRELATION(5), 1500);
    launch(spool, OTHER, CORRELATION(6), 1600);
    launch(spool, OTHER, CORRELATION(7), 1700);
    return trace_of_done(spool);
}

UNIT_TEST(launches_of_the_backward_pass_have_the_line_that_called_it)
{
    struct make_spool spool;
    struct trace trace = launch_backward(open_backward(&spool, "pt_autograd_0"));
    assert_true(kernel_has(&trace, 1, "called at", "step (train.py:42)"));
    assert_true(kernel_has(&trace, 1, "backward at", NULL) && kernel_has(&trace, 4, "backward at", NULL));
    assert_true(kernel_has(&trace, 2, "backward at", "step (train.py:42)"));
    assert_true(kernel_has(&trace, 3, "backward at", "step (train.py:42)"));
    assert_true(kernel_has(&trace, 5, "backward at", "step (train.py:42)"));
    assert_true(kernel_has(&trace, 6, "backward at", "step (train.py:42)"));
    assert_true(kernel_has(&trace, 7, "called at", "call (gradient.py:90)"));
    assert_true(kernel_has(&trace, 7, "backward at", NULL));
    trace_release(&trace);
}

UNIT_TEST(launches_of_other_threads_have_no_line_of_the_backward_pass)
{
    struct make_spool spool;
    struct trace trace = launch_backward(open_backward(&spool, "worker"));
    for (int i = 1; i <= 7; i++)
        assert_true(kernel_has(&trace, i, "backward at", NULL));
    trace_release(&trace);
}

UNIT_TEST(of_two_lines_that_call_the_backward_pass_none_is_known)
{
    for (uint32_t line = 42; line <= 43; line++) {
        struct make_spool spool;
        open_backward(&spool, "pt_autograd_0");
        make_backward_stack(&spool, 3, OTHER_STEP, line);
        put_call_stack(&spool, 4, 3);
        struct trace trace = launch_backward(&spool);
        assert_true(kernel_has(&trace, 2, "backward at", line == 42 ? "step (train.py:42)" : NULL));
        trace_release(&trace);
    }
}

UNIT_TEST(with_operators_launches_have_no_line_that_called_the_backward_pass)
{
    struct make_spool spool;
    open_backward(&spool, "pt_autograd_0");
    name(&spool, 1, "aten::ones_like");
    number_thread(&spool, FORWARD);
    begin(&spool, 1000, 1, 7, -1, 0);
    end(&spool, 1150, 7);
    struct trace trace = launch_backward(&spool);
    assert_true(kernel_has(&trace, 2, "backward at", NULL));
    trace_release(&trace);
}

UNIT_TEST(what_autograd_captured_has_the_line_that_called_the_backward_pass)
{
    struct make_spool spool;
    open_backward(&spool, "pt_autograd_0");
    capture_node(&spool, 1000, 1, 1);
    on_thread(&spool, SPOOL_RECORDS, OTHER);
    capture_node(&spool, 1100, 2, 0);
    capture_node(&spool, 1200, 3, 6); /* a line of the program's own */
    struct trace trace = replay(&spool, 3);
    assert_true(kernel_has(&trace, 1, "captured at", "step (train.py:42)"));
    assert_true(kernel_has(&trace, 1, "backward at", NULL));
    assert_true(kernel_has(&trace, 2, "backward at", "step (train.py:42)"));
    assert_true(kernel_has(&trace, 3, "captured at", "call (gradient.py:90)"));
    assert_true(kernel_has(&trace, 3, "backward at", NULL));
    trace_release(&trace);
}

UNIT_TEST(what_autograd_captured_outside_of_known_operators_has_that_line_too)
{
    struct make_spool spool;
    open_backward(&spool, "pt_autograd_0");
    name(&spool, 1, "aten::ones_like");
    number_thread(&spool, FORWARD);
    begin(&spool, 900, 1, 7, -1, 0);
    end(&spool, 1050, 7);
    capture_node(&spool, 1000, 1, 1);
    on_thread(&spool, SPOOL_RECORDS, OTHER);
    capture_node(&spool, 1100, 2, 0);
    struct trace trace = replay(&spool, 2);
    assert_true(kernel_has(&trace, 2, "backward at", "step (train.py:42)"));
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
