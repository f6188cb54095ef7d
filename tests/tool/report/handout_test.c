#include "tests/unit.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/map.h"
#include "tool/report/handout.h"

/* Looks at what it is given: that it comes in order, from one thread at a time, with its texts. */
struct seen {
    unsigned categories;
    int64_t last;
    size_t count;
    size_t most; /* after so many there is no memory */
    bool wrong;  /* something was not as it should be: threads do not assert */
    atomic_flag taking;
    const struct interner *strings;
};

static int see(void *context, const struct trace_event *events, size_t count)
{
    struct seen *seen = context;
    char name[32];
    seen->wrong |= atomic_flag_test_and_set(&seen->taking);
    for (size_t i = 0; i < count; i++) {
        if (!event_category_in(events[i].category, seen->categories))
            continue;
        snprintf(name, sizeof(name), "name %lld", (long long)events[i].start);
        seen->wrong |= events[i].start <= seen->last || strcmp(interned(seen->strings, events[i].name), name) != 0;
        seen->last = events[i].start;
        if (++seen->count > seen->most)
            return -1;
    }
    atomic_flag_clear(&seen->taking);
    return 0;
}

enum { TAKERS = 5, EVENTS = 100000 };

struct test {
    struct handout handout;
    struct interner strings;
    struct seen seen[TAKERS];
};

static void begin(struct test *test, unsigned workers)
{
    static const unsigned of_takers[TAKERS] = {~0u, EVENT_BIT(EVENT_KERNEL), EVENT_BIT(EVENT_SYNC),
                                               EVENT_BIT(EVENT_RUNTIME) | EVENT_BIT(EVENT_MEMORY),
                                               EVENT_BIT(EVENT_PLUGIN)};
    *test = (struct test){0};
    handout_init(&test->handout, workers);
    for (int i = 0; i < TAKERS; i++) {
        test->seen[i] = (struct seen){.categories = of_takers[i], .most = SIZE_MAX, .strings = &test->strings};
        handout_add(&test->handout,
                    &(struct handout_taker){
                        .categories = of_takers[i], .take = see, .context = &test->seen[i], .what = "so much"});
    }
}

static void end(struct test *test)
{
    handout_release(&test->handout);
    for (int i = 0; i < TAKERS; i++)
        assert_false(test->seen[i].wrong);
    interner_release(&test->strings);
}

static enum event_category category_of(int64_t number)
{
    static const enum event_category often[] = {EVENT_KERNEL, EVENT_RUNTIME, EVENT_MEMORY};
    return number % 20000 ? often[number % 3] : EVENT_SYNC;
}

/* Hands out event NUMBER, from 1, with a text that is new. */
static int hand_out(struct test *test, int64_t number)
{
    struct trace_event own, *event = number % 3 ? handout_place(&test->handout) : &own;
    char name[32];
    int length = snprintf(name, sizeof(name), "name %lld", (long long)number);
    *event = (struct trace_event){.extent = sizeof(*event), .category = category_of(number), .start = number};
    event->name = intern(&test->strings, name, (size_t)length);
    return handout_event(&test->handout, event);
}

static void each_taker_has_all_of_its_events_in_order(void **state)
{
    static const unsigned workers[] = {1, 2, 3, 4, 16};
    (void)state;
    for (size_t i = 0; i < sizeof(workers) / sizeof(*workers); i++) {
        struct test test;
        size_t expected[TAKERS] = {0};
        begin(&test, workers[i]);
        for (int64_t number = 1; number <= EVENTS; number++) {
            assert_int_equal(hand_out(&test, number), 0);
            for (int taker = 0; taker < TAKERS; taker++)
                expected[taker] += event_category_in(category_of(number), test.seen[taker].categories);
        }
        assert_int_equal(handout_wait(&test.handout), 0);
        for (int taker = 0; taker < TAKERS; taker++)
            assert_int_equal(test.seen[taker].count, expected[taker]);
        end(&test);
    }
}

static void what_was_handed_out_is_taken_after_a_wait(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 5; workers += 2) {
        struct test test;
        begin(&test, workers);
        for (int64_t number = 1; number <= 6000; number++) {
            assert_int_equal(hand_out(&test, number), 0);
            if (number % 1000 < 3) {
                assert_int_equal(handout_wait(&test.handout), 0);
                assert_int_equal(test.seen[0].last, number);
            }
        }
        assert_int_equal(handout_wait(&test.handout), 0);
        assert_int_equal(handout_wait(&test.handout), 0);
        assert_int_equal(test.seen[0].count, 6000);
        end(&test);
    }
}

static void few_takers_are_given_events_at_once(void **state)
{
    (void)state;
    struct test test = {0};
    handout_init(&test.handout, 16);
    test.seen[0] = (struct seen){.categories = ~0u, .most = SIZE_MAX, .strings = &test.strings};
    handout_add(&test.handout, &(struct handout_taker){.categories = ~0u, .take = see, .context = &test.seen[0]});
    for (int64_t number = 1; number <= 5000; number++) {
        assert_int_equal(hand_out(&test, number), 0);
        assert_int_equal(test.seen[0].count, number);
    }
    assert_int_equal(handout_wait(&test.handout), 0);
    end(&test);
}

static void a_taker_without_memory_ends_it(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 5; workers += 2) {
        struct test test;
        int64_t number = 0;
        begin(&test, workers);
        test.seen[3].most = 30000;
        unit_stderr_begin();
        while (number < EVENTS && hand_out(&test, number + 1) == 0)
            number++;
        assert_string_equal(unit_stderr_end(), "gputrace: no memory for so much\n");
        assert_true(number > 30000 && number < 60000);
        assert_int_equal(test.seen[3].count, 30001);
        end(&test);
    }
}

static void what_is_not_waited_for_need_not_be_taken(void **state)
{
    (void)state;
    struct test test;
    begin(&test, 16);
    for (int64_t number = 1; number <= 5000; number++)
        assert_int_equal(hand_out(&test, number), 0);
    end(&test);
    begin(&test, 16);
    end(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_taker_has_all_of_its_events_in_order),
        cmocka_unit_test(what_was_handed_out_is_taken_after_a_wait),
        cmocka_unit_test(few_takers_are_given_events_at_once),
        cmocka_unit_test(a_taker_without_memory_ends_it),
        cmocka_unit_test(what_is_not_waited_for_need_not_be_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
