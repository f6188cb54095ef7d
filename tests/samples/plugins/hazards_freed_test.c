/* Memory that is freed, used too early, or too late; and waits for nothing. */
#include "tests/samples/plugins/hazards_calls.h"

UNIT_TEST_WITH(a_free_in_a_stream_races_with_uses_in_others, each, NULL)
{
    allocate_async(0x7f0001000000, stream_a);
    FAKE(event_record, .event = event, .stream = stream_a);
    FAKE(event_wait, .event = event, .stream = stream_b);
    set(0x7f0001000000, stream_b);
    assert_silent();
    free_async(0x7f0001000000, stream_a);
    assert_told("#1 race: free (memory_deallocation) in stream 13 frees 4096 bytes");
}

UNIT_TEST_WITH(use_after_a_free_in_the_same_stream_is_told, each, NULL)
{
    driver_knows = true; /* the pool still holds it */
    allocate_async(0x7f0001000000, stream_a);
    free_async(0x7f0001000000, stream_a);
    set(0x7f0001000000, stream_a);
    assert_told("#1 use after free: set (memset) in stream 13");
    set(0x7f0001000000, stream_b);
    assert_told("#2 race with free: set (memset) in stream 14");
}

UNIT_TEST_WITH(memory_allocated_again_is_no_longer_freed, each, NULL)
{
    allocate_async(0x7f0001000000, stream_a);
    free_async(0x7f0001000000, stream_a);
    allocate_async(0x7f0001000000, stream_a);
    set(0x7f0001000000, stream_a);
    assert_silent();
}

UNIT_TEST_WITH(use_before_the_allocation_in_another_stream_is_told, each, NULL)
{
    allocate_async(0x7f0001000000, stream_a);
    set(0x7f0001000000, stream_b);
    assert_told("#1 use before allocation: set (memset) in stream 14");
}

UNIT_TEST_WITH(use_after_free_is_told_when_the_driver_knows_no_memory_there, each, NULL)
{
    free_now(BUFFER, GPUTRACE_MEMORY_UNKNOWN);
    driver_knows = true; /* somebody else's, of whom we were not told */
    set(BUFFER, stream_a);
    assert_silent();
    driver_knows = false;
    struct gputrace_memset refused = {
        .call = fake_call("cuMemsetD8Async"), .address = BUFFER, .bytes = 16, .width = 16};
    refused.height = 1;
    refused.stream = stream_a;
    refused.stream_given = 1;
    refused.call.result = 1;
    fake_memset(&refused);
    assert_told("#1 use after free: set (cuMemsetD8Async)");
    assert_told("free (memory_deallocation) by thread 100 frees 4096 bytes");
}

UNIT_TEST_WITH(a_free_by_the_host_waits_for_the_device, each, NULL)
{
    set(BUFFER, stream_a);
    set(OTHER, stream_a);
    free_now(BUFFER, GPUTRACE_MEMORY_UNKNOWN);
    set(OTHER, stream_b);
    assert_silent();
}

UNIT_TEST_WITH(host_memory_may_be_used_after_it_was_freed, each, NULL)
{
    free_now(PINNED, GPUTRACE_MEMORY_PINNED);
    copy(BUFFER, 'D', PINNED, 'H', stream_a, 1); /* malloc() gave the same address */
    assert_silent();
}

UNIT_TEST_WITH(memory_of_the_host_at_a_freed_address_is_not_freed, each, NULL)
{
    static char host[64]; /* malloc() gave the program an address that CUDA had freed */
    uint64_t address = (uint64_t)(uintptr_t)host;
    allocate(address, GPUTRACE_MEMORY_DEVICE);
    free_now(address, GPUTRACE_MEMORY_UNKNOWN);
    copy(BUFFER, 'D', address, 'H', stream_a, 1);
    copy(address, '?', BUFFER, 'D', stream_a, 1);
    set_bytes(address, 16, stream_a); /* where the device can use pageable memory */
    assert_silent();
}

UNIT_TEST_WITH(a_free_told_late_does_not_free_what_came_after_it, each, NULL)
{
    struct gputrace_memory_deallocation late = {.call = fake_call("free"), .address = BUFFER};
    late.stream_id = GPUTRACE_NO_STREAM;
    allocate(BUFFER, GPUTRACE_MEMORY_DEVICE);
    fake_memory_deallocation(&late);
    set(BUFFER, stream_a);
    assert_silent();
    set(BUFFER, stream_b);
    assert_told("race");
}

UNIT_TEST_WITH(unmapped_addresses_are_freed, each, NULL)
{
    FAKE(memory_mapping, .address = 0x7f0002000000, .bytes = 2 * SIZE, .handle = 1);
    FAKE(memory_mapping, .address = 0x7f0002002000, .bytes = 2 * SIZE, .handle = 2);
    set_bytes(0x7f0002001000, 2 * SIZE, stream_a); /* over both */
    set_bytes(0x7f0002002000, 16, stream_b);
    assert_told("#1 race");
    FAKE(memory_unmapping, .address = 0x7f0002000000, .bytes = 4 * SIZE);
    set_bytes(0x7f0002003000, 16, stream_b);
    assert_told("#2 use after free");
}

UNIT_TEST_WITH(arrays_are_told_apart_by_box, each, NULL)
{
    FAKE(memory_allocation, .address = 0x9000, .bytes = SIZE, .kind = GPUTRACE_MEMORY_ARRAY,
         .stream_id = GPUTRACE_NO_STREAM);
    struct gputrace_memcpy left = {.call = fake_call("left"), .bytes = 64, .width = 16, .height = 4, .depth = 1};
    left.target = (struct gputrace_place){.address = 0x9000, .array = 1};
    left.source.address = PINNED;
    left.target_side = 'A';
    left.source_side = 'H';
    left.stream = stream_a;
    left.stream_given = 1;
    struct gputrace_memcpy right = left;
    right.stream = stream_b;
    right.target.x = 16;
    fake_memcpy(&left);
    fake_memcpy(&right);
    assert_silent();
    right.target.x = 15;
    right.target.y = 3;
    right.height = 1;
    fake_memcpy(&right);
    assert_told("race");
}

UNIT_TEST_WITH(a_context_takes_its_memory_along, each, NULL)
{
    set(BUFFER, stream_a);
    fake_context_deletion(&(struct gputrace_context_deletion){.call = fake_call("cuDevicePrimaryCtxReset")});
    set(BUFFER, stream_b);
    assert_silent();
}

UNIT_TEST_WITH(a_wait_for_an_event_that_nobody_ever_records_is_told, each, NULL)
{
    fake.stack = 77;
    FAKE(event_wait, .event = event, .stream = stream_b);
    assert_silent();
    FAKE(event_deletion, .event = event);
    assert_told("#1 wait for nothing: wait (event_wait) in stream 14 waits for event 0x6010");
    assert_int_equal(fake.lines[0].stack, 77);
}

UNIT_TEST_WITH(a_wait_before_the_first_record_is_usual, each, NULL)
{
    FAKE(event_wait, .event = event, .stream = stream_b);
    FAKE(event_record, .event = event, .stream = stream_a);
    end();
    assert_told("nothing found");
}

UNIT_TEST_WITH(events_are_told_apart_by_time_when_handles_come_again, each, NULL)
{
    struct gputrace_event_deletion late = {.call = fake_call("cuEventDestroy_v2"), .event = event};
    FAKE(event_creation, .event = event);
    FAKE(event_wait, .event = event, .stream = stream_b);
    fake_event_deletion(&late);
    FAKE(event_record, .event = event, .stream = stream_a);
    end();
    assert_told("nothing found");
}

UNIT_MAIN(NULL, NULL)
