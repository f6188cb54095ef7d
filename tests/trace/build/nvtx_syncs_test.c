#include "trace/build/nvtx.h"

#include "tests/unit.h"
#include "common/spool_records.h"

enum { ONE = 501, TWO = 502, THREE = 503, LOCK = 1, OTHER = 2, END = 9000 };

static const struct capture_intervals whole_run;

static void step(struct nvtx_syncs *syncs, uint64_t time, uint32_t thread, enum spool_nvtx_what what, uint64_t object)
{
    struct event event = {.type = EVENT_NVTX, .start = time, .thread = thread};
    event.nvtx.what = (uint16_t)what;
    event.nvtx.range = object;
    assert_int_equal(nvtx_syncs_index(syncs, &event), 0);
}

static void assert_hold(const struct nvtx_sync_span *hold, uint64_t start, uint64_t end, uint32_t thread,
                        uint32_t end_thread)
{
    assert_int_equal(hold->start, start);
    assert_int_equal(hold->end, end);
    assert_int_equal(hold->thread, thread);
    assert_int_equal(hold->end_thread, end_thread);
}

static void test_a_wait_ends_with_success_or_not(void **state)
{
    (void)state;
    struct nvtx_syncs syncs = {0};
    step(&syncs, 300, ONE, SPOOL_NVTX_ACQUIRE, LOCK);
    step(&syncs, 400, ONE, SPOOL_NVTX_ACQUIRED, LOCK);
    step(&syncs, 700, ONE, SPOOL_NVTX_RELEASE, LOCK);
    step(&syncs, 100, ONE, SPOOL_NVTX_ACQUIRE, LOCK);
    step(&syncs, 200, ONE, SPOOL_NVTX_ACQUIRE_FAILED, LOCK);
    assert_int_equal(nvtx_syncs_match(&syncs, &whole_run, END), 0);
    assert_int_equal(syncs.waits.count, 2);
    assert_true(syncs.waits.items[0].failed && !syncs.waits.items[1].failed);
    assert_int_equal(syncs.waits.items[0].end - syncs.waits.items[0].start, 100);
    assert_int_equal(syncs.holds.count, 1);
    assert_hold(&syncs.holds.items[0], 400, 700, ONE, ONE);
    assert_int_equal(syncs.unmatched, 0);
    nvtx_syncs_release(&syncs);
}

/* Threads are read one after the other, whenever they did what they did. */
static void test_threads_are_matched_in_the_order_of_time(void **state)
{
    (void)state;
    struct nvtx_syncs syncs = {0};
    step(&syncs, 500, TWO, SPOOL_NVTX_ACQUIRED, LOCK);
    step(&syncs, 800, TWO, SPOOL_NVTX_RELEASE, LOCK);
    step(&syncs, 100, TWO, SPOOL_NVTX_ACQUIRE, LOCK);
    step(&syncs, 50, ONE, SPOOL_NVTX_ACQUIRE, LOCK);
    step(&syncs, 60, ONE, SPOOL_NVTX_ACQUIRED, LOCK);
    step(&syncs, 400, ONE, SPOOL_NVTX_RELEASE, LOCK);
    assert_int_equal(nvtx_syncs_match(&syncs, &whole_run, END), 0);
    assert_int_equal(syncs.holds.count, 2);
    assert_hold(&syncs.holds.items[0], 60, 400, ONE, ONE);
    assert_hold(&syncs.holds.items[1], 500, 800, TWO, TWO);
    nvtx_syncs_release(&syncs);
}

static void test_a_thread_gives_back_its_own_and_then_what_was_taken_first(void **state)
{
    (void)state;
    struct nvtx_syncs syncs = {0};
    const uint32_t threads[] = {ONE, TWO, ONE};
    for (unsigned i = 0; i < 3; i++) {
        step(&syncs, 100 + 10 * i, threads[i], SPOOL_NVTX_ACQUIRE, LOCK);
        step(&syncs, 101 + 10 * i, threads[i], SPOOL_NVTX_ACQUIRED, LOCK);
    }
    step(&syncs, 200, ONE, SPOOL_NVTX_RELEASE, LOCK);   /* what it took last */
    step(&syncs, 210, THREE, SPOOL_NVTX_RELEASE, LOCK); /* of nobody's */
    step(&syncs, 220, THREE, SPOOL_NVTX_RELEASE, LOCK);
    step(&syncs, 230, THREE, SPOOL_NVTX_RELEASE, LOCK); /* there is none left */
    assert_int_equal(nvtx_syncs_match(&syncs, &whole_run, END), 0);
    assert_hold(&syncs.holds.items[2], 121, 200, ONE, ONE);
    assert_hold(&syncs.holds.items[0], 101, 210, ONE, THREE);
    assert_hold(&syncs.holds.items[1], 111, 220, TWO, THREE);
    assert_int_equal(syncs.unmatched, 1);
    nvtx_syncs_release(&syncs);
}

static void test_objects_do_not_mix_and_what_is_open_ends_with_all(void **state)
{
    (void)state;
    struct nvtx_syncs syncs = {0};
    step(&syncs, 100, ONE, SPOOL_NVTX_ACQUIRE, LOCK);
    step(&syncs, 110, ONE, SPOOL_NVTX_ACQUIRE, OTHER);
    step(&syncs, 120, ONE, SPOOL_NVTX_ACQUIRED, OTHER);
    step(&syncs, 130, TWO, SPOOL_NVTX_ACQUIRED, LOCK); /* it did not say that it would wait */
    assert_int_equal(nvtx_syncs_match(&syncs, &whole_run, END), 0);
    assert_true(syncs.waits.items[0].open_at_end && !syncs.waits.items[1].open_at_end);
    assert_int_equal(syncs.waits.items[0].end, END);
    assert_true(syncs.holds.items[0].open_at_end && syncs.holds.items[1].open_at_end);
    assert_hold(&syncs.holds.items[1], 130, END, TWO, TWO);
    assert_int_equal(syncs.unmatched, 1);
    nvtx_syncs_release(&syncs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_ends_with_success_or_not),
        cmocka_unit_test(test_threads_are_matched_in_the_order_of_time),
        cmocka_unit_test(test_a_thread_gives_back_its_own_and_then_what_was_taken_first),
        cmocka_unit_test(test_objects_do_not_mix_and_what_is_open_ends_with_all),
    };
    return cmocka_run_group_tests_name("nvtx_syncs", tests, NULL, NULL);
}
