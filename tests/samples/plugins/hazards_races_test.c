/* Races: both places are told, and only of what is not ordered. */
#include "tests/samples/plugins/hazards_calls.h"

UNIT_TEST_WITH(both_places_of_a_race_are_told, each, NULL)
{
    set(BUFFER, stream_a);
    copy(BUFFER, 'D', PINNED, 'H', stream_b, 1);
    assert_int_equal(fake.line_count, 2);
    assert_string_equal(fake.lines[0].text,
                        "#1 race: copy (memcpy) in stream 14 writes 4096 bytes at 0x7f0000000000, at "
                        "0.008000 ms, and does not wait for");
    assert_string_equal(fake.lines[1].text,
                        "#1 … set (memset) in stream 13 writes 4096 bytes at 0x7f0000000000, at 0.007000 ms");
    assert_int_equal(fake.lines[0].stack, 2);
    assert_int_equal(fake.lines[1].stack, 1);
    assert_int_equal(fake.instants, 1);
    end();
    assert_told("1 hazard found in 2 operations on 2 streams");
}

UNIT_TEST_WITH(a_pair_of_places_is_told_once_and_counted, each, NULL)
{
    for (int i = 0; i < 17; i++) {
        fake.stack = 0;
        set(BUFFER, stream_a);
        set(BUFFER, stream_b);
        fake_device_synchronization(&(struct gputrace_device_synchronization){.call = fake_call("sync")});
    }
    assert_int_equal(fake.line_count, 2);
    end();
    assert_told("1 hazard found (#1 17 times) in 34 operations on 2 streams");
}

UNIT_TEST_WITH(readers_do_not_race, each, NULL)
{
    copy(PINNED, 'H', BUFFER, 'D', stream_a, 1);
    copy(OTHER, 'D', BUFFER, 'D', stream_b, 1);
    assert_silent();
    end();
    assert_told("nothing found in 2 operations on 2 streams");
}

UNIT_TEST_WITH(what_failed_was_not_done, each, NULL)
{
    struct gputrace_memset failed = {.call = fake_call("memset"), .address = BUFFER, .bytes = SIZE, .width = SIZE};
    failed.height = 1;
    failed.stream = stream_a;
    failed.stream_given = 1;
    failed.call.result = 1;
    fake_memset(&failed);
    set(BUFFER, stream_b);
    assert_silent();
    struct gputrace_event_record record = {.call = fake_call("record"), .event = event, .stream = stream_b};
    record.call.result = 400;
    fake_event_record(&record);
    FAKE(event_wait, .event = event, .stream = stream_a);
    set(BUFFER, stream_a);
    assert_told("race");
}

UNIT_TEST_WITH(the_legacy_default_stream_orders_blocking_streams_alone, each, NULL)
{
    struct CUstream_st *blocking = (struct CUstream_st *)0x5030;
    create_stream(blocking, 15, 0);
    set(BUFFER, blocking);
    set(BUFFER, NULL);
    set(BUFFER, blocking);
    set(BUFFER, (struct CUstream_st *)1);
    assert_silent();
    set(BUFFER, stream_a);
    assert_told("#1 race: set (memset) in stream 13");
    assert_told("in stream 7 (default)");
}

UNIT_TEST_WITH(a_stream_whose_making_was_not_seen_counts_as_blocking, each, NULL)
{
    set(BUFFER, (struct CUstream_st *)0x5040);
    set(BUFFER, NULL);
    assert_silent();
}

UNIT_TEST_WITH(each_thread_has_a_default_stream_of_its_own, each, NULL)
{
    struct gputrace_memset first = {.call = fake_call("memset"), .address = BUFFER, .bytes = 16, .width = 16};
    first.height = 1;
    first.stream = (struct CUstream_st *)2;
    first.stream_given = 1;
    struct gputrace_memset second = first;
    second.call.thread = 101;
    fake_memset(&first);
    fake_memset(&first);
    assert_silent();
    fake.stack++;
    fake_memset(&second);
    assert_told("race");
}

UNIT_TEST_WITH(copies_without_a_stream_wait, each, NULL)
{
    copy(PINNED, 'H', BUFFER, 'D', NULL, 0);
    set(BUFFER, stream_a);
    assert_silent();
    /* But not those between memory of the device: */
    copy(OTHER, 'D', PINNED, 'D', NULL, 0);
    set(OTHER, stream_b);
    assert_told("race");
}

UNIT_TEST_WITH(a_copy_to_memory_that_cuda_does_not_know_is_over_when_it_returns, each, NULL)
{
    copy(0x1234000, 'H', BUFFER, 'D', stream_a, 1);
    set(BUFFER, stream_b);
    assert_silent();
    copy(PINNED, 'H', BUFFER, 'D', stream_b, 1);
    set(BUFFER, stream_a);
    assert_told("race");
}

UNIT_TEST_WITH(copies_between_devices_without_a_stream_come_after_everything, each, NULL)
{
    set(BUFFER, stream_a);
    struct gputrace_memcpy peer = {.call = fake_call("cuMemcpyPeer"), .bytes = SIZE, .width = SIZE, .height = 1};
    peer.depth = 1;
    peer.target.address = OTHER;
    peer.source.address = BUFFER;
    peer.target_side = peer.source_side = 'D';
    fake_memcpy(&peer);
    set(OTHER, stream_b);
    assert_silent();
}

UNIT_TEST_WITH(memory_never_seen_is_not_looked_at, each, NULL)
{
    set(0x123400000, stream_a);
    set(0x123400000, stream_b);
    assert_silent();
}

UNIT_TEST_WITH(a_wait_for_an_event_is_for_its_last_record_so_far, each, NULL)
{
    FAKE(event_record, .event = event, .stream = stream_a);
    set(BUFFER, stream_a);
    FAKE(event_wait, .event = event, .stream = stream_b);
    FAKE(event_record, .event = event, .stream = stream_a);
    set(BUFFER, stream_b);
    assert_told("race");
}

UNIT_TEST_WITH(a_declared_access_is_made_by_the_launch, each, NULL)
{
    set(BUFFER, stream_a);
    FAKE(event_record, .event = event, .stream = stream_a);
    fake.stack = 50;
    FAKE(memory_access, .address = BUFFER, .bytes = SIZE, .mode = GPUTRACE_ACCESS_READ, .stream = stream_b);
    FAKE(event_wait, .event = event, .stream = stream_b);
    FAKE(kernel_launch, .name = "kernel", .stream = stream_b);
    assert_silent();
    set(BUFFER, stream_a);
    assert_told("declared access (memory_access) in stream 14 reads 4096 bytes");
}

UNIT_TEST_WITH(a_declared_access_of_the_default_stream_has_the_only_context, each, NULL)
{
    set(BUFFER, stream_a);
    struct gputrace_memory_access access = {.call = fake_call(NULL), .address = BUFFER, .bytes = 1, .mode = 2};
    access.call.context = NULL;
    access.call.device = GPUTRACE_NO_DEVICE;
    fake.stack++;
    fake_memory_access(&access);
    FAKE(kernel_launch, .name = "kernel", .stream = NULL);
    assert_told("#1 race: declared access (gputrace_access) in the default stream writes 1 bytes");
}

UNIT_MAIN(NULL, NULL)
