#include "tests/unit.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "common/map.h"
#include "trace/fields_receiver.h"
#include "analysis/engine/dispatcher.h"

/* Looks at what it is given: that it comes in order, from one thread at a time, with its texts. */
struct seen {
    unsigned categories;
    int64_t last;
    size_t count;
    size_t most; /* after so many there is no memory */
    bool of_batches;
    bool wrong; /* something was not as it should be: threads do not assert */
    atomic_flag taking;
    const struct interner *strings;
};

static int see(void *context, const struct event_fields *event, size_t count)
{
    struct seen *seen = context;
    char name[32];
    seen->wrong |= atomic_flag_test_and_set(&seen->taking);
    for (size_t i = 0; i < count; i++, event = event_after(event)) {
        if (!category_in(event->category, seen->categories))
            continue;
        snprintf(name, sizeof(name), "name %lld", (long long)event->start);
        seen->wrong |= event->start <= seen->last || strcmp(interned(seen->strings, event->name), name) != 0;
        if (seen->of_batches)
            seen->wrong |= event->stack != (event->start % 5 ? FIELD_ABSENT : event->start);
        seen->last = event->start;
        if (++seen->count > seen->most)
            return -1;
    }
    atomic_flag_clear(&seen->taking);
    return 0;
}

enum { TAKERS = 5, EVENTS = 100000 };

struct test {
    struct dispatcher dispatcher;
    struct interner strings;
    struct seen seen[TAKERS];
};

static void begin(struct test *test, unsigned workers)
{
    static const unsigned of_takers[TAKERS] = {~0u, CATEGORY_BIT(CATEGORY_KERNEL), CATEGORY_BIT(CATEGORY_CUDA_SYNC),
                                               CATEGORY_BIT(CATEGORY_CUDA_RUNTIME) | CATEGORY_BIT(CATEGORY_MEMORY),
                                               CATEGORY_BIT(CATEGORY_PLUGIN)};
    *test = (struct test){0};
    dispatcher_init(&test->dispatcher, workers);
    for (int i = 0; i < TAKERS; i++) {
        test->seen[i] = (struct seen){.categories = of_takers[i], .most = SIZE_MAX, .strings = &test->strings};
        dispatcher_add(&test->dispatcher,
                       &(struct dispatcher_consumer){
                           .categories = of_takers[i], .take = see, .context = &test->seen[i], .what = "so much"});
    }
}

static void end(struct test *test)
{
    dispatcher_release(&test->dispatcher);
    for (int i = 0; i < TAKERS; i++)
        assert_false(test->seen[i].wrong);
    interner_release(&test->strings);
}

static enum category category_of(int64_t number)
{
    static const enum category often[] = {CATEGORY_KERNEL, CATEGORY_CUDA_RUNTIME, CATEGORY_MEMORY};
    return number % 20000 ? often[number % 3] : CATEGORY_CUDA_SYNC;
}

static uint32_t new_name(struct test *test, int64_t number)
{
    char name[32];
    int length = snprintf(name, sizeof(name), "name %lld", (long long)number);
    return intern(&test->strings, name, (size_t)length);
}

/* Hands out event NUMBER, from 1, with a text that is new. */
static int hand_out(struct test *test, int64_t number)
{
    struct event_fields own, *event = number % 3 ? dispatcher_place(&test->dispatcher) : &own;
    event_begin(event, category_of(number));
    event->start = number;
    event->name = new_name(test, number);
    return dispatcher_event(&test->dispatcher, event);
}

/* Hands out events from FIRST on in a batch, whose texts are numbered from its last event to its first. Some tell more
 * than others. */
static int hand_out_batch(struct test *test, int64_t first, size_t count)
{
    struct event_batch *batch = event_batches_take(&test->dispatcher.pool);
    assert_non_null(batch);
    assert_non_null(array_at(&batch->numbers, count - 1));
    for (size_t i = 0; i < count; i++) {
        struct event_fields *event = event_batch_place(batch);
        int64_t number = first + (int64_t)i;
        event_begin(event, category_of(number));
        event->start = number;
        event->name = (uint32_t)(count - 1 - i);
        event->stack = number % 5 ? FIELD_ABSENT : number;
        batch->numbers.items[event->name] = new_name(test, number);
        event_batch_add(batch);
    }
    return dispatcher_batch(&test->dispatcher, batch);
}

static const unsigned worker_counts[] = {1, 2, 3, 4, 16};

UNIT_TEST(each_taker_has_all_of_its_events_in_order)
{
    for (size_t i = 0; i < sizeof(worker_counts) / sizeof(*worker_counts); i++) {
        struct test test;
        size_t expected[TAKERS] = {0};
        begin(&test, worker_counts[i]);
        for (int64_t number = 1; number <= EVENTS; number++) {
            assert_int_equal(hand_out(&test, number), 0);
            for (int taker = 0; taker < TAKERS; taker++)
                expected[taker] += category_in(category_of(number), test.seen[taker].categories);
        }
        assert_int_equal(dispatcher_wait(&test.dispatcher), 0);
        for (int taker = 0; taker < TAKERS; taker++)
            assert_int_equal(test.seen[taker].count, expected[taker]);
        end(&test);
    }
}

/* A batch of each size up to some, then of many, with events of their own between them. */
UNIT_TEST(batches_are_taken_as_their_events_would_be)
{
    for (size_t i = 0; i < sizeof(worker_counts) / sizeof(*worker_counts); i++) {
        struct test test;
        int64_t number = 1;
        begin(&test, worker_counts[i]);
        for (size_t count = 1; number < EVENTS; count = count < 200 ? count + 1 : EVENT_BATCH_MOST) {
            assert_int_equal(hand_out_batch(&test, number, count), 0);
            number += (int64_t)count;
            for (int alone = 0; alone < (int)(count % 4); alone++)
                assert_int_equal(hand_out(&test, number++), 0);
        }
        assert_int_equal(dispatcher_wait(&test.dispatcher), 0);
        assert_int_equal(test.seen[0].count, number - 1);
        assert_true(test.seen[1].count > 0 && test.seen[1].count < EVENTS / 2);
        end(&test);
    }
}

UNIT_TEST(fields_that_a_batch_does_not_tell_are_as_if_never_reported)
{
    for (unsigned workers = 1; workers <= 16; workers += 5) {
        struct test test;
        begin(&test, workers);
        for (int i = 0; i < TAKERS; i++)
            test.seen[i].of_batches = true;
        for (int64_t number = 1; number < EVENTS; number += 997)
            assert_int_equal(hand_out_batch(&test, number, 997), 0);
        assert_int_equal(dispatcher_wait(&test.dispatcher), 0);
        assert_true(test.seen[0].count >= EVENTS);
        end(&test);
    }
}

UNIT_TEST(what_was_handed_out_is_taken_after_a_wait)
{
    for (unsigned workers = 1; workers <= 5; workers += 2) {
        struct test test;
        begin(&test, workers);
        for (int64_t number = 1; number <= 6000; number++) {
            assert_int_equal(hand_out(&test, number), 0);
            if (number % 1000 < 3) {
                assert_int_equal(dispatcher_wait(&test.dispatcher), 0);
                assert_int_equal(test.seen[0].last, number);
            }
        }
        assert_int_equal(dispatcher_wait(&test.dispatcher), 0);
        assert_int_equal(dispatcher_wait(&test.dispatcher), 0);
        assert_int_equal(test.seen[0].count, 6000);
        end(&test);
    }
}

UNIT_TEST(few_takers_are_given_events_at_once)
{
    struct test test = {0};
    dispatcher_init(&test.dispatcher, 16);
    test.seen[0] = (struct seen){.categories = ~0u, .most = SIZE_MAX, .strings = &test.strings};
    dispatcher_add(&test.dispatcher,
                   &(struct dispatcher_consumer){.categories = ~0u, .take = see, .context = &test.seen[0]});
    for (int64_t number = 1; number <= 5000; number++) {
        assert_int_equal(hand_out(&test, number), 0);
        assert_int_equal(test.seen[0].count, number);
    }
    assert_int_equal(dispatcher_wait(&test.dispatcher), 0);
    end(&test);
}

UNIT_TEST(a_taker_without_memory_ends_it)
{
    for (unsigned workers = 1; workers <= 5; workers += 2) {
        struct test test;
        int64_t number = 0;
        begin(&test, workers);
        test.seen[3].most = 30000;
        unit_stderr_begin();
        while (number < EVENTS && hand_out(&test, number + 1) == 0)
            number++;
        assert_string_equal(unit_stderr_end(), "gputrace: no memory for so much\n");
        /* of which two thirds were its own, and then what the packs hold */
        assert_in_range(number, 45000, 45001 + DISPATCHER_BATCHES * EVENT_BATCH_MOST);
        assert_int_equal(test.seen[3].count, 30001);
        end(&test);
    }
}

UNIT_TEST(what_is_not_waited_for_need_not_be_taken)
{
    struct test test;
    begin(&test, 16);
    for (int64_t number = 1; number <= 5000; number++)
        assert_int_equal(hand_out(&test, number), 0);
    end(&test);
    begin(&test, 16);
    end(&test);
}

UNIT_MAIN(NULL, NULL)
