/* What cannot be seen is not judged. */
#include "tests/samples/plugins/hazards_calls.h"

UNIT_TEST_WITH(work_behind_a_host_function_is_not_judged_until_the_host_waited, each, NULL)
{
    set(BUFFER, stream_b);
    FAKE(host_function, .stream = stream_a);
    set(BUFFER, stream_a);
    FAKE(event_record, .event = event, .stream = stream_a);
    FAKE(event_wait, .event = event, .stream = stream_b);
    set(OTHER, stream_b); /* behind it too */
    assert_silent();
    end();
    assert_told("2 more operations were not judged");
    fake.line_count = 0;
    FAKE(stream_synchronization, .stream = stream_a);
    set(BUFFER, stream_a);
    set(BUFFER, stream_b);
    assert_told("race");
}

UNIT_TEST_WITH(what_is_captured_does_not_run, each, NULL)
{
    FAKE(graph_capture_start, .stream = stream_a);
    set(BUFFER, stream_a);
    FAKE(event_record, .event = event, .stream = stream_a);
    FAKE(event_wait, .event = event, .stream = stream_b); /* joins the capture */
    set(BUFFER, stream_b);
    FAKE(graph_capture_end, .stream = stream_a);
    set(BUFFER, stream_a);
    assert_silent();
    set(BUFFER, stream_b);
    assert_told("race"); /* b is out of the capture */
    end();
    assert_told("1 hazard found in 2 operations");
}

UNIT_TEST_WITH(a_capture_that_is_refused_to_end_goes_on, each, NULL)
{
    FAKE(graph_capture_start, .stream = stream_a);
    struct gputrace_graph_capture_end refused = {.call = fake_call("cuStreamEndCapture"), .stream = stream_a};
    refused.call.result = 908;
    fake_graph_capture_end(&refused);
    set(BUFFER, stream_a);
    set(BUFFER, stream_b);
    assert_silent();
}

UNIT_TEST_WITH(events_may_be_recorded_by_graphs, each, NULL)
{
    FAKE(graph_launch, .exec = graph, .stream = stream_a);
    FAKE(event_wait, .event = event, .stream = stream_b);
    set(BUFFER, stream_b);
    end();
    assert_told("nothing found in 0 operations");
}

UNIT_TEST_WITH(an_event_of_another_process_may_order_anything, each, NULL)
{
    struct CUevent_st *strange = (struct CUevent_st *)0x6666;
    set(BUFFER, stream_a);
    FAKE(event_wait, .event = strange, .stream = stream_b);
    set(BUFFER, stream_b);
    assert_silent();
}

UNIT_TEST_WITH(kernels_of_libraries_that_meet_across_devices_order, each, NULL)
{
    struct gputrace_context_creation second = {.call = fake_call("cuDevicePrimaryCtxRetain")};
    second.call.device = 1;
    fake_context_creation(&second);
    set(BUFFER, stream_a);
    FAKE(kernel_launch, .name = "_Z28ncclDevKernel_AllReduce_Sum", .stream = stream_a);
    FAKE(kernel_launch, .name = "_Z28ncclDevKernel_AllReduce_Sum", .stream = stream_b);
    set(BUFFER, stream_b);
    assert_silent();
}

/* --- several threads --- */

static void set_by(uint32_t thread, struct CUstream_st *stream)
{
    struct gputrace_memset set_of = {.call = fake_call("memset"), .address = BUFFER, .bytes = 1, .width = 1};
    set_of.height = 1;
    set_of.stream = stream;
    set_of.stream_given = 1;
    set_of.call.thread = thread;
    fake_memset(&set_of);
}

/* The function runs, and thread 101 goes on, before thread 100 is back from the call that put it into the stream. */
UNIT_TEST_WITH(a_call_told_late_may_have_ordered_what_another_thread_did, each, NULL)
{
    hazards_hold = 50000000;
    set_by(100, stream_a);
    struct gputrace_host_function late = {.call = fake_call("cuLaunchHostFunc"), .stream = stream_a};
    set_by(101, stream_b);
    fake_host_function(&late);
    end();
    assert_told("nothing found in 2 operations");
}

UNIT_TEST_WITH(what_nothing_explains_is_told_after_a_while, each, NULL)
{
    hazards_hold = 50000000;
    set_by(100, stream_a);
    set_by(101, stream_b);
    assert_silent();
    fake.now += 60000000;
    FAKE(event_record, .event = event, .stream = stream_a);
    assert_told("#1 race");
    set_by(101, stream_a);
    struct gputrace_host_function later = {.call = fake_call("cuLaunchHostFunc"), .stream = stream_b};
    fake_host_function(&later);
    end();
    assert_told("#2 race");
}

UNIT_MAIN(NULL, NULL)
