#include "tests/unit.h"

#include "analysis/engine/host_samples.h"

static struct sorter_space space;
static struct host_samples samples;

static int begin(void **state)
{
    (void)state;
    space = sorter_space_usual();
    host_samples_init(&samples, &space);
    return 0;
}

static int end(void **state)
{
    (void)state;
    host_samples_release(&samples);
    return 0;
}

static void sample(uint32_t thread, int64_t time, int64_t stack)
{
    assert_int_equal(host_samples_add(&samples, thread, time, &(struct host_site){stack, 0}), 0);
}

static void off(uint32_t thread, int64_t start, int64_t end)
{
    const struct host_state one = {.start = start, .end = end, .waker = FIELD_ABSENT};
    assert_int_equal(host_samples_add_state(&samples, thread, &one, &(struct host_site){1, EVENT_NO_TEXT}), 0);
}

UNIT_TEST_WITH(samples_are_found_by_thread_and_time, begin, end)
{
    sample(2, 300, 7);
    sample(0, 200, 7);
    sample(0, 100, 8);
    assert_int_equal(host_samples_finish(&samples), 0);
    struct host_thread first = host_samples_thread(&samples, 0), none = host_samples_thread(&samples, 1);
    struct host_thread third = host_samples_thread(&samples, 2), far = host_samples_thread(&samples, 1000);
    assert_int_equal(first.samples, 2);
    assert_int_equal(none.samples, 0);
    assert_int_equal(far.samples + far.states, 0);
    assert_int_equal(samples.samples.items[host_samples_from(&samples, &first, 0)].time, 100);
    assert_int_equal(samples.samples.items[host_samples_from(&samples, &first, 101)].time, 200);
    assert_int_equal(host_samples_from(&samples, &first, 201), first.first_sample + 2);
    assert_int_equal(samples.samples.items[host_samples_from(&samples, &third, 300)].time, 300);
    assert_int_equal(samples.sites.count, 2);
}

UNIT_TEST_WITH(states_of_a_thread_do_not_overlap, begin, end)
{
    off(0, 100, 200);
    off(0, 150, 300);
    off(0, 160, 170);
    off(0, 400, 500);
    off(1, 10, 20);
    assert_int_equal(host_samples_finish(&samples), 0);
    struct host_thread own = host_samples_thread(&samples, 0);
    assert_int_equal(own.states, 3);
    assert_int_equal(samples.states.items[own.first_state + 1].start, 200);
    assert_int_equal(samples.states.items[own.first_state + 1].end, 300);
    assert_int_equal(host_samples_state_from(&samples, &own, 200), own.first_state + 1);
    assert_int_equal(host_samples_state_from(&samples, &own, 299), own.first_state + 1);
    assert_int_equal(host_samples_state_from(&samples, &own, 300), own.first_state + 2);
    assert_int_equal(host_samples_state_from(&samples, &own, 500), own.first_state + 3);
}

UNIT_TEST_WITH(the_period_is_what_running_threads_have, begin, end)
{
    /* Half of the time the thread sleeps for 50 ms. */
    for (int64_t i = 0, time = 0; i < 1000; i++) {
        time += i % 2 ? 50000000 : 1000000 + i % 7 * 1000;
        sample(0, time, 1);
    }
    assert_int_equal(host_samples_finish(&samples), 0);
    assert_in_range(samples.period, 900000, 1150000);
}

UNIT_TEST_WITH(too_few_samples_for_a_period_have_the_usual_one, begin, end)
{
    sample(0, 5, 1);
    sample(1, 7, 1);
    assert_int_equal(host_samples_finish(&samples), 0);
    assert_int_equal(samples.period, 1000000);
}

UNIT_MAIN(NULL, NULL)
