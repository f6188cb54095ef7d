/*
 * What the tests of the allocator share: each has a device of its own, whose heap is new, with the fake driver behind
 * it.
 */
#ifndef TESTS_ALLOCATOR_USING_H
#define TESTS_ALLOCATOR_USING_H

#include "tests/unit.h"

#include <gputrace/allocator.h>

#include "tests/allocator/fake_cuda.h"

static int device; /* of the test that runs */

__attribute__((unused)) UNIT_FIXTURE(start)
{
    device = fake_cuda_start();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, start)

/* Streams are named by their number. */
__attribute__((unused)) static void *take(size_t bytes, unsigned stream)
{
    void *pointer = gputrace_malloc(bytes, device, fake_stream_of(stream));
    assert_non_null(pointer);
    return pointer;
}

__attribute__((unused)) static void give(void *pointer, unsigned stream)
{
    gputrace_free(pointer, 0, device, fake_stream_of(stream));
}

__attribute__((unused)) static struct gputrace_allocator_stats stats(void)
{
    struct gputrace_allocator_stats stats;
    assert_int_equal(gputrace_allocator_stats(device, &stats), 0);
    return stats;
}

#define assert_figure(figure, current_, peak_, total_, freed_) \
    do {                                                       \
        struct gputrace_allocator_figure is = (figure);        \
        assert_int_equal(is.current, (current_));              \
        assert_int_equal(is.peak, (peak_));                    \
        assert_int_equal(is.total, (total_));                  \
        assert_int_equal(is.freed, (freed_));                  \
    } while (0)

/* The heap is there, so that what a test sees is its own. */
__attribute__((unused)) static void warm_up(void)
{
    give(take(1, 9), 9);
    fake_cuda_asked();
}

/* One that has been through a capture too, and its two streams with it. */
__attribute__((unused)) static void warm_up_captures(void)
{
    fake_cuda_capture(9, 1, 1);
    void *a = take(1, 9);
    fake_cuda_end_capture(9);
    fake_cuda_destroy_graph(1);
    give(a, 9);
    give(take(1, 9), 9);
    fake_cuda_asked();
}

/* Nothing is held any more, by whomever. */
__attribute__((unused)) static void assert_all_given_back(void)
{
    give(take(1, 9), 9);
    assert_int_equal(stats().held_bytes.current, 0);
    assert_int_equal(stats().allocated_bytes.current, 0);
    assert_int_equal(fake_cuda_bytes(device), 0);
    assert_int_equal(fake_cuda_wrong_frees(), 0);
}

#endif
