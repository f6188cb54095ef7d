/* Private pools, in captures and out of them. */
#include "tests/allocator/using.h"

#include <pthread.h>
#include <stdbool.h>

static const struct gputrace_pool_id pool = {7, 0}, second_pool = {0, 7};

UNIT_TEST_WITH(allocations_between_begin_and_end_come_from_the_pool, start, NULL)
{
    warm_up();
    gputrace_allocator_begin_pool(device, pool, NULL);
    assert_contains(fake_cuda_asked(), "pool 2\n");
    void *a = take(100, 5);
    gputrace_allocator_begin_pool(device, second_pool, NULL);
    gputrace_allocator_end_pool(device, second_pool);
    gputrace_allocator_end_pool(device, pool);
    void *b = take(10, 5);
    assert_string_equal(fake_cuda_asked(), "alloc 100 from pool 2 in 5\npool 3\nset 4 of pool 3 to ffffffffffffffff\n"
                                           "alloc 10 from pool 1 in 5\n");
    gputrace_allocator_release_pool(device, second_pool);
    assert_string_equal(fake_cuda_asked(), "destroy pool 3\n");
    gputrace_allocator_release_pool(device, pool); /* goes with its last block */
    assert_string_equal(fake_cuda_asked(), "");
    give(a, 5);
    assert_string_equal(fake_cuda_asked(), "free 1 in 5\ndestroy pool 2\n");
    give(b, 5);
    assert_all_given_back();
}

UNIT_TEST_WITH(a_pool_is_released_as_often_as_it_was_begun, start, NULL)
{
    warm_up();
    for (int i = 0; i < 2; i++) {
        gputrace_allocator_begin_pool(device, pool, NULL);
        gputrace_allocator_end_pool(device, pool);
    }
    gputrace_allocator_release_pool(device, pool);
    assert_int_equal(fake_cuda_pools(), 2);
    gputrace_allocator_release_pool(device, pool);
    assert_contains(fake_cuda_asked(), "destroy pool 2\n");
    gputrace_allocator_release_pool(device, pool);
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_begin_pool(device, (struct gputrace_pool_id){0, 0}, NULL);
    assert_string_equal(fake_cuda_asked(), "");
}

static void *take_elsewhere(void *stream)
{
    return take(100, (unsigned)(uintptr_t)stream);
}

static void *on_another_thread(unsigned stream)
{
    pthread_t thread;
    void *pointer;
    assert_int_equal(pthread_create(&thread, NULL, take_elsewhere, (void *)(uintptr_t)stream), 0);
    pthread_join(thread, &pointer);
    return pointer;
}

UNIT_TEST_WITH(other_threads_use_the_pool_only_for_the_capture, start, NULL)
{
    warm_up_captures();
    gputrace_allocator_begin_pool(device, pool, NULL);
    fake_cuda_capture(5, 100, 1);
    fake_cuda_asked();
    void *a = on_another_thread(5), *b = on_another_thread(6), *c = take(100, 6);
    const char *asked = fake_cuda_asked();
    assert_contains(asked, "alloc 100 from pool 2 in 4");
    assert_contains(asked, "alloc 100 from pool 1 in 6\n");
    assert_contains(asked, "alloc 100 from pool 2 in 6\n");
    fake_cuda_capture(7, 101, 2); /* another capture, of somebody else's */
    void *d = on_another_thread(7);
    assert_contains(fake_cuda_asked(), "alloc 100 from pool 1 in 4");
    fake_cuda_end_capture(5);
    fake_cuda_end_capture(7);
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_release_pool(device, pool);
    give(a, 5);
    give(b, 6);
    give(c, 6);
    give(d, 7);
    fake_cuda_destroy_graph(1);
    fake_cuda_destroy_graph(2);
    assert_all_given_back();
    assert_int_equal(fake_cuda_pools(), 1);
}

/* As PyTorch does with two graphs that share a pool. */
UNIT_TEST_WITH(captures_of_one_pool_use_each_others_memory, start, NULL)
{
    gputrace_allocator_begin_pool(device, pool, NULL);
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5), *output = take(50, 5);
    give(a, 5);
    fake_cuda_end_capture(5);
    gputrace_allocator_end_pool(device, pool);
    give(output, 5); /* by now, eagerly */

    gputrace_allocator_begin_pool(device, pool, NULL);
    fake_cuda_capture(5, 101, 2);
    assert_ptr_equal(take(100, 5), a);
    assert_ptr_equal(take(50, 5), output);
    assert_int_equal(fake_cuda_held_by(2), 2);
    fake_cuda_end_capture(5);
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_release_pool(device, pool);
    fake_cuda_destroy_graph(1);
    give(take(1, 9), 9);
    assert_int_equal(fake_cuda_bytes(device), 150);
    gputrace_allocator_release_pool(device, pool);
    fake_cuda_destroy_graph(2);
    give(take(1, 9), 9);
    assert_int_equal(fake_cuda_bytes(device), 150); /* the program has them */
    give(a, 5);
    give(output, 5);
    assert_all_given_back();
    assert_int_equal(fake_cuda_pools(), 1);
}

/* Captures PyTorch's way: memory of the pool that was freed since the last capture, in one way or another, and taken
 * in the next. Returns whether it is the same. */
static bool is_taken_again(unsigned stream, unsigned freed_in, bool used_elsewhere, bool released)
{
    static unsigned captures = 100;
    captures++;
    gputrace_allocator_begin_pool(device, pool, NULL);
    fake_cuda_capture(stream, captures, 1);
    void *a = take(100, stream);
    fake_cuda_end_capture(stream);
    gputrace_allocator_end_pool(device, pool);
    if (used_elsewhere)
        gputrace_allocator_record_stream(a, fake_stream_of(12));
    if (released)
        gputrace_allocator_release_pool(device, pool);
    give(a, freed_in);
    captures++;
    gputrace_allocator_begin_pool(device, pool, NULL);
    fake_cuda_capture(stream, captures, 2);
    void *b = take(100, stream);
    give(b, stream);
    fake_cuda_end_capture(stream);
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_release_pool(device, pool);
    if (!released)
        gputrace_allocator_release_pool(device, pool);
    fake_cuda_destroy_graph(1);
    fake_cuda_destroy_graph(2);
    assert_all_given_back();
    assert_int_equal(fake_cuda_pools(), 1);
    return a == b;
}

UNIT_TEST_WITH(memory_freed_between_captures_is_used_again_where_that_is_safe, start, NULL)
{
    warm_up_captures();
    assert_true(is_taken_again(5, 5, false, false));
    assert_false(is_taken_again(5, 6, false, false));
    assert_false(is_taken_again(5, 5, true, false));
    assert_false(is_taken_again(5, 5, false, true)); /* that is another pool, of the same name */
}

static void *begin_elsewhere(void *unused)
{
    gputrace_allocator_begin_pool(device, second_pool, NULL);
    return unused;
}

UNIT_TEST_WITH(a_thread_prefers_the_pool_that_it_began, start, NULL)
{
    pthread_t thread;
    warm_up();
    gputrace_allocator_begin_pool(device, pool, NULL);
    assert_int_equal(pthread_create(&thread, NULL, begin_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    fake_cuda_asked();
    fake_cuda_capture(5, 100, 1);
    fake_cuda_capture(6, 101, 2);
    void *a = take(100, 5), *b = take(100, 6);
    const char *asked = fake_cuda_asked();
    assert_contains(asked, "alloc 100 from pool 2 in 40 relaxed\nsynchronize 40\nalloc 100 from pool 3 in 40");
    fake_cuda_end_capture(5);
    fake_cuda_end_capture(6);
    give(a, 5);
    give(b, 6);
    fake_cuda_destroy_graph(1);
    fake_cuda_destroy_graph(2);
    gputrace_allocator_release_pool(device, pool);
    gputrace_allocator_release_pool(device, second_pool);
    assert_all_given_back();
    assert_int_equal(fake_cuda_pools(), 1);
}

UNIT_TEST_WITH(without_a_private_pool_memory_comes_from_the_common_one, start, NULL)
{
    warm_up();
    fake_cuda_says.create_pool = CUDA_ERROR_OUT_OF_MEMORY;
    unit_stderr_begin();
    gputrace_allocator_begin_pool(device, pool, NULL);
    assert_contains(unit_stderr_end(), "no private pool");
    give(take(100, 5), 5);
    assert_string_equal(fake_cuda_asked(), "alloc 100 from pool 1 in 5\nfree 1 in 5\n");
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_release_pool(device, pool);
}

UNIT_MAIN(NULL, NULL)
