/* Memory for streams that are being captured. */
#include "tests/allocator/using.h"

UNIT_TEST_WITH(memory_is_allocated_outside_of_the_capture_and_held_by_the_graph, start, NULL)
{
    warm_up();
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    assert_string_equal(fake_cuda_asked(), "stream 40 flags 1\nalloc 100 from pool 1 in 40 relaxed\nsynchronize 40\n");
    assert_int_equal(fake_cuda_held_by(1), 1);
    give(a, 5);
    fake_cuda_end_capture(5);
    give(take(1, 9), 9);
    assert_int_equal(stats().allocated_bytes.current, 0);
    assert_int_equal(stats().held_bytes.current, 100); /* for launches to come */
    assert_int_equal(fake_cuda_bytes(device), 100);
    fake_cuda_asked();
    fake_cuda_destroy_graph(1);                 /* and all that were instantiated of it */
    assert_string_equal(fake_cuda_asked(), ""); /* CUDA is not to be called there */
    give(take(1, 9), 9);
    assert_string_equal(fake_cuda_asked(), "stream 41 flags 1\nfree 1 in 41\nalloc 1 from pool 1 in 9\nfree 1 in 9\n");
    assert_all_given_back();
}

UNIT_TEST_WITH(memory_stays_until_the_program_has_freed_it, start, NULL)
{
    warm_up_captures();
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    fake_cuda_end_capture(5);
    fake_cuda_destroy_graph(1);
    give(take(1, 9), 9);
    assert_int_equal(stats().allocated_bytes.current, 100);
    fake_cuda_asked();
    give(a, 6); /* when the work in 6 is done, which the graph's streams have nothing to do with */
    assert_string_equal(fake_cuda_asked(), "record in 6\nwait in 41\nfree 1 in 41\n");
    assert_all_given_back();
}

UNIT_TEST_WITH(a_free_after_the_capture_waits_for_it_and_the_graph, start, NULL)
{
    warm_up_captures();
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    fake_cuda_end_capture(5);
    fake_cuda_asked();
    gputrace_allocator_record_stream(a, fake_stream_of(7));
    give(a, 5);
    assert_string_equal(fake_cuda_asked(), "record in 5\nwait in 41\nrecord in 7\nwait in 41\n");
    assert_int_equal(stats().held_bytes.current, 100);
    fake_cuda_destroy_graph(1);
    gputrace_allocator_trim();
    assert_contains(fake_cuda_asked(), "free 1 in 41\ntrim pool 1 to 0\n");
    assert_all_given_back();
}

UNIT_TEST_WITH(a_capture_uses_again_what_it_has_freed, start, NULL)
{
    warm_up_captures();
    fake_cuda_capture(5, 100, 1);
    fake_cuda_capture(6, 100, 1);
    void *big = take(1000, 5), *small = take(100, 5);
    give(big, 5);
    give(small, 5);
    fake_cuda_asked();
    assert_ptr_equal(take(90, 5), small); /* the best of them */
    assert_string_equal(fake_cuda_asked(), "");
    assert_int_equal(fake_cuda_held_by(1), 2);
    void *c = take(90, 5), *other = take(900, 6); /* too little for the big one; another stream */
    assert_ptr_not_equal(c, big);
    assert_ptr_not_equal(other, big);
    assert_int_equal(stats().allocated_bytes.current, 90 + 90 + 900);
    assert_int_equal(stats().held_bytes.current, 1000 + 100 + 90 + 900);
    give(other, 5); /* not in its own stream: it is not used again */
    void *d = take(900, 6);
    assert_ptr_not_equal(d, other);
    assert_ptr_equal(take(600, 5), big);
    fake_cuda_end_capture(5);
    fake_cuda_end_capture(6);
    give(big, 5);
    give(small, 5);
    give(c, 5);
    give(d, 6);
    fake_cuda_destroy_graph(1);
    assert_all_given_back();
}

UNIT_TEST_WITH(another_capture_does_not_use_freed_memory, start, NULL)
{
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    give(a, 5);
    fake_cuda_end_capture(5);
    fake_cuda_capture(5, 101, 2);
    void *b = take(100, 5);
    assert_ptr_not_equal(a, b);
    give(b, 5);
    fake_cuda_end_capture(5);
    fake_cuda_destroy_graph(2);
    fake_cuda_destroy_graph(1);
    assert_all_given_back();
}

UNIT_TEST_WITH(memory_with_recorded_streams_is_not_used_again, start, NULL)
{
    fake_cuda_capture(5, 100, 1);
    fake_cuda_capture(6, 100, 1);
    void *a = take(100, 5);
    gputrace_allocator_record_stream(a, fake_stream_of(6));
    give(a, 5);
    void *b = take(100, 5);
    assert_ptr_not_equal(a, b);
    give(b, 5);
    fake_cuda_end_capture(5);
    fake_cuda_end_capture(6);
    fake_cuda_destroy_graph(1);
    assert_all_given_back();
}

UNIT_TEST_WITH(memory_from_before_the_capture_is_released_after_it, start, NULL)
{
    void *a = take(100, 5), *b = take(10, 6);
    gputrace_allocator_record_stream(b, fake_stream_of(5));
    fake_cuda_capture(5, 100, 1);
    fake_cuda_asked();
    give(a, 5);
    give(b, 6);
    give(take(1, 9), 9);
    assert_string_equal(fake_cuda_asked(), "alloc 1 from pool 1 in 9\nfree 3 in 9\n");
    assert_int_equal(stats().allocated_bytes.current, 0);
    assert_int_equal(stats().held_bytes.current, 110);
    fake_cuda_end_capture(5);
    give(take(1, 9), 9);
    const char *asked = fake_cuda_asked();
    assert_contains(asked, "free 1 in 5\n");
    assert_contains(asked, "record in 5\nwait in 6\nfree 2 in 6\n");
    assert_all_given_back();
}

UNIT_TEST_WITH(memory_of_an_earlier_capture_that_is_freed_in_a_later_one, start, NULL)
{
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    fake_cuda_end_capture(5);
    fake_cuda_capture(5, 101, 2);
    give(a, 5); /* work in 5 before that capture may still use it */
    fake_cuda_destroy_graph(1);
    give(take(1, 9), 9);
    assert_int_equal(fake_cuda_bytes(device), 100);
    fake_cuda_end_capture(5);
    assert_all_given_back();
}

UNIT_TEST_WITH(memory_of_a_destroyed_graph_is_not_kept_for_its_capture, start, NULL)
{
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    fake_cuda_destroy_graph(1); /* as that of a capture that breaks */
    give(take(1, 9), 9);
    give(a, 5);
    assert_int_equal(stats().held_bytes.current, 100);
    fake_cuda_end_capture(5);
    assert_all_given_back();
}

UNIT_TEST_WITH(a_broken_capture_gets_memory_that_no_graph_holds, start, NULL)
{
    fake_cuda_break_capture(5);
    void *a = take(100, 5);
    give(a, 5);
    assert_int_equal(stats().held_bytes.current, 100);
    fake_cuda_end_capture(5);
    assert_all_given_back();
}

UNIT_TEST_WITH(the_legacy_stream_does_not_break_a_capture_that_it_waits_for, start, NULL)
{
    warm_up_captures();
    void *before = take(10, 0);
    fake_cuda_capture_implicit(true);
    fake_cuda_asked();
    void *a = take(100, 0);
    give(before, 0);
    const char *asked = fake_cuda_asked();
    assert_contains(asked, "relaxed\nsynchronize");
    assert_null(strstr(asked, "free"));
    fake_cuda_capture_implicit(false);
    give(a, 0);
    assert_all_given_back();
}

UNIT_TEST_WITH(if_the_graph_cannot_hold_memory_there_is_none, start, NULL)
{
    fake_cuda_capture(5, 100, 1);
    fake_cuda_says.retain_object = CUDA_ERROR_INVALID_VALUE;
    assert_null(gputrace_malloc(100, device, fake_stream_of(5)));
    assert_int_equal(stats().failures, 1);
    assert_int_equal(stats().allocated_bytes.current, 0);
    fake_cuda_end_capture(5);
    assert_all_given_back();
}

UNIT_TEST_WITH(the_limit_holds_in_captures, start, NULL)
{
    warm_up_captures();
    gputrace_allocator_set_fraction(0.5, device);
    fake_cuda_capture(5, 100, 1);
    void *a = take(FAKE_DEVICE_BYTES / 2, 5);
    assert_null(gputrace_malloc(1, device, fake_stream_of(5)));
    gputrace_allocator_set_fraction(1, device);
    fake_cuda_asked();
    assert_null(gputrace_malloc(FAKE_DEVICE_BYTES, device, fake_stream_of(5)));
    assert_null(strstr(fake_cuda_asked(), "synchronize 5")); /* it would break the capture */
    fake_cuda_end_capture(5);
    give(a, 5);
    fake_cuda_destroy_graph(1);
    assert_all_given_back();
}

UNIT_MAIN(NULL, NULL)
