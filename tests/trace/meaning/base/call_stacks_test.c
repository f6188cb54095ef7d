/* Launches and waits have the call stacks that were recorded of them, and so has what was launched. */
#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"
#include "tests/unit.h"

#define PID 583
#define THREAD 583
#define NAME 0x100

static void make_call_stack(struct make_spool *spool, uint64_t time, uint32_t correlation, uint32_t stack)
{
    struct spool_call_stack *record = make_own(spool, SPOOL_RECORD_CALL_STACK, time, sizeof(*record), 0, NULL, 0);
    record->correlation = correlation;
    record->stack = stack;
}

static void make_launch(struct make_spool *spool, uint64_t start, uint32_t correlation)
{
    make_api(spool, (struct make_api){
                        .cbid = 211, .thread = THREAD, .start = start, .end = start + 50, .correlation = correlation});
    make_kernel(spool,
                (struct make_kernel){
                    .name = NAME, .stream = 7, .start = start + 60, .end = start + 90, .correlation = correlation});
}

/* Stacks 1 and 2, of two frames each, and five launches. */
static void make_launches(struct make_spool *spool)
{
    static const uint64_t first[] = {0x1000, 0x3000}, second[] = {0x2000, 0x3000};
    make_spool_begin(spool, PID, THREAD);
    make_pointer_name(spool, NAME, "_Z3addv");
    make_stack(spool, 1, first, 2);
    make_stack(spool, 2, second, 2);
}

static void make_gpu_work(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, THREAD);
    for (uint32_t i = 1; i <= 5; i++)
        make_launch(spool, 1000 * i, i);
}

UNIT_TEST(a_call_and_what_it_launched_have_its_stack)
{
    struct make_spool spool;
    make_launches(&spool);
    make_call_stack(&spool, 4000, 4, 2); /* threads write in an order of their own */
    make_call_stack(&spool, 2000, 2, 1);
    make_call_stack(&spool, 3000, 3, 9); /* whose record was lost */
    make_gpu_work(&spool);
    struct trace trace = trace_of_done(&spool);
    for (int i = 0; i < 5; i++) {
        const cJSON *call = trace_event(&trace, "X", "cuda_runtime", NULL, i),
                    *kernel = trace_event(&trace, "X", "kernel", NULL, i);
        bool has = i == 1 || i == 3;
        assert_true((event_arg(call, "stack") != NULL) == has);
        assert_true((event_arg(kernel, "stack") != NULL) == has);
        if (!has)
            continue;
        double number = event_number(call, "sf");
        assert_true(arg_is(call, "stack", number) && arg_is(kernel, "stack", number));
        assert_true(event_number(kernel, "sf") == number);
        assert_true(arg_text_is(call, "called at", i == 1 ? "0x1000" : "0x2000"));
        assert_true(arg_text_is(kernel, "called at", i == 1 ? "0x1000" : "0x2000"));
    }
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(trace.json, "stackFrames")), 3);
    assert_int_equal(trace.summary.losses.left_out_stacks, 1);
    trace_release(&trace);
}

UNIT_TEST(calls_outside_the_recording_have_none)
{
    struct make_spool spool;
    make_launches(&spool);
    make_capture(&spool, 500, 0, "stop");
    make_capture(&spool, 2500, 1, "start");
    make_call_stack(&spool, 2000, 2, 1);
    make_call_stack(&spool, 4000, 4, 2);
    make_gpu_work(&spool);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(trace.json, "stackFrames")), 2);
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
