/* Statistics, snapshots, history and settings. */
#include "tests/allocator/using.h"

static int collect(void *data, const struct gputrace_allocator_allocation *allocation)
{
    struct gputrace_allocator_allocation **next = data;
    *(*next)++ = *allocation;
    return allocation->bytes == 999 ? 7 : 0;
}

UNIT_TEST_WITH(a_snapshot_has_the_allocations_in_order, start, NULL)
{
    struct gputrace_allocator_allocation list[8], *next = list;
    void *a = take(1, 5), *b = take(2, 6), *c = take(3, 7), *d = take(999, 8);
    give(b, 6);
    assert_int_equal(gputrace_allocator_snapshot(device, collect, &next), 7);
    assert_int_equal(next - list, 3);
    assert_ptr_equal(list[0].pointer, a);
    assert_int_equal(list[0].bytes, 1);
    assert_ptr_equal(list[0].stream, fake_stream_of(5));
    assert_int_equal(list[0].device, device);
    assert_int_equal(list[0].thread, gettid());
    assert_ptr_equal(list[1].pointer, c);
    assert_true(list[0].time <= list[1].time && list[0].sequence < list[1].sequence);
    give(d, 8);
    next = list;
    assert_int_equal(gputrace_allocator_snapshot(-1, collect, &next), 0);
    assert_ptr_equal(next[-1].pointer, c);
    give(a, 5);
    give(c, 7);
    next = list;
    assert_int_equal(gputrace_allocator_snapshot(device, collect, &next), 0);
    assert_ptr_equal(next, list);
    assert_int_equal(gputrace_allocator_snapshot(1000, collect, &next), -1);
}

UNIT_TEST_WITH(history_keeps_the_last_events, start, NULL)
{
    struct gputrace_allocator_event events[8];
    give(take(1, 5), 5);
    assert_int_equal(gputrace_allocator_history_read(device, events, 8), 0);
    assert_int_equal(gputrace_allocator_history(device, 3), 0);
    void *a = take(10, 5), *b = take(20, 6);
    give(a, 7);
    assert_null(gputrace_malloc(FAKE_DEVICE_BYTES, device, fake_stream_of(8)));
    assert_int_equal(gputrace_allocator_history_read(device, events, 8), 3);
    assert_int_equal(events[0].what, GPUTRACE_ALLOCATED);
    assert_ptr_equal(events[0].pointer, b);
    assert_int_equal(events[0].held, 30);
    assert_int_equal(events[1].what, GPUTRACE_FREED);
    assert_ptr_equal(events[1].pointer, a);
    assert_ptr_equal(events[1].stream, fake_stream_of(7));
    assert_int_equal(events[1].bytes, 10);
    assert_int_equal(events[2].what, GPUTRACE_FAILED);
    assert_null(events[2].pointer);
    assert_int_equal(events[2].bytes, FAKE_DEVICE_BYTES);
    assert_int_equal(events[2].sequence, events[0].sequence + 2);
    assert_int_equal(gputrace_allocator_history_read(device, events, 1), 1);
    assert_int_equal(events[0].what, GPUTRACE_FAILED);
    give(b, 6);
    assert_int_equal(gputrace_allocator_history(device, 0), 0);
    assert_int_equal(gputrace_allocator_history_read(device, events, 8), 0);
}

UNIT_TEST_WITH(the_base_of_an_allocation_is_found, start, NULL)
{
    size_t size = 5;
    char *a = take(100, 5);
    assert_ptr_equal(gputrace_allocator_base(a + 99, &size), a);
    assert_int_equal(size, 100);
    assert_ptr_equal(gputrace_allocator_base(a, NULL), a);
    assert_null(gputrace_allocator_base(a + 100, &size));
    assert_int_equal(size, 0);
    give(a, 5);
    assert_null(gputrace_allocator_base(a, &size));
}

UNIT_TEST_WITH(settings_apply_to_all_pools, start, NULL)
{
    give(take(1, 5), 5);
    fake_cuda_asked();
    assert_int_equal(gputrace_allocator_set_release_threshold(device, 16), 0);
    assert_int_equal(gputrace_allocator_enable_peer(device, device + 1), 0);
    assert_int_equal(gputrace_allocator_enable_peer(device, device), -1);
    assert_int_equal(gputrace_allocator_enable_peer(device, -1), -1);
    assert_int_equal(gputrace_allocator_set_release_threshold(-1, 16), -1);
    gputrace_allocator_begin_pool(device, (struct gputrace_pool_id){1, 2}, NULL);
    gputrace_allocator_reset_peak(device);
    gputrace_allocator_trim();
    char expected[512];
    snprintf(expected, sizeof(expected),
             "set 4 of pool 1 to 10\nlet %d into pool 1\nlet %d into pool 1\n"
             "pool 2\nset 4 of pool 2 to 10\nlet %d into pool 2\n"
             "set 6 of pool 1 to 0\nset 6 of pool 2 to 0\n",
             device + 1, device, device + 1);
    const char *asked = fake_cuda_asked();
    assert_memory_equal(asked, expected, strlen(expected));
    assert_contains(asked, "trim pool 1 to 0\ntrim pool 2 to 0\n");
    gputrace_allocator_release_pool(device, (struct gputrace_pool_id){1, 2});
}

UNIT_MAIN(NULL, NULL)
