/*
 * Memory in use: what calls that failed have to do with it.
 */
#include "tests/unit.h"

#include "tool/model/memory.h"
#include "wire/spool.h"

enum { FAILED = 201, ADDRESS = 0x1000, BYTES = 4096 };

static struct event allocation(uint32_t correlation, int result)
{
    struct event event = {.type = EVENT_MEMORY, .correlation = correlation};
    event.memory.operation = SPOOL_MEMORY_ALLOCATE;
    event.memory.kind = SPOOL_MEMORY_POOL;
    event.memory.size = BYTES;
    event.memory.result = result;
    event.memory.address = result == 0 ? ADDRESS : 0;
    return event;
}

static void an_attempt_that_its_call_made_up_for_is_told_from_a_failure(void **state)
{
    (void)state;
    struct memory memory = {0};
    struct event attempt = allocation(118, FAILED), again = allocation(118, 0), failure = allocation(119, FAILED),
                 other = allocation(120, 0), nameless = allocation(0, FAILED), nameless_done = allocation(0, 0);
    const struct event *events[] = {&attempt, &again, &failure, &other, &nameless, &nameless_done};
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
        assert_int_equal(memory_collect(&memory, events[i]), 0);
    assert_int_equal(memory.steps.count, 6);
    assert_true(memory_was_tried_again(&memory, &attempt));
    for (size_t i = 1; i < sizeof(events) / sizeof(*events); i++)
        assert_false(memory_was_tried_again(&memory, events[i]));
    memory_release(&memory);
}

static void a_failure_holds_nothing(void **state)
{
    (void)state;
    struct memory memory = {0};
    struct allocation about;
    struct event failure = allocation(1, FAILED), done = allocation(2, 0);
    assert_int_equal(memory_apply(&memory, &failure, &about), 0);
    assert_int_equal(memory_held(&memory, 0, SPOOL_MEMORY_POOL), 0);
    assert_int_equal(memory_apply(&memory, &done, &about), 0);
    assert_int_equal(memory_held(&memory, 0, SPOOL_MEMORY_POOL), BYTES);
    memory_release(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_that_its_call_made_up_for_is_told_from_a_failure),
        cmocka_unit_test(a_failure_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
