/*
 * The steps of a process's memory: attempts that failed and were repeated, and what a step holds.
 */
#include "tests/unit.h"

#include "common/spool_records.h"
#include "trace/meaning/memory/memory.h"

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

UNIT_TEST(an_attempt_that_its_call_repeated_is_not_a_failure)
{
    struct memory memory = {0};
    struct event attempt = allocation(118, FAILED), again = allocation(118, 0), failure = allocation(119, FAILED),
                 other = allocation(120, 0), nameless = allocation(0, FAILED), nameless_done = allocation(0, 0);
    const struct event *events[] = {&attempt, &again, &failure, &other, &nameless, &nameless_done};
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
        assert_int_equal(memory_collect(&memory, events[i]), 0);
    assert_int_equal(memory.steps.count, 6);
    assert_true(memory_was_tried_again(&memory, &memory.steps.items[0]));
    for (size_t i = 1; i < sizeof(events) / sizeof(*events); i++)
        assert_false(memory_was_tried_again(&memory, &memory.steps.items[i]));
    memory_release(&memory);
}

static void is_step_of(const struct memory_step *step, const struct event *event)
{
    assert_int_equal(step->time, event->start);
    assert_int_equal(step->device, event->device);
    assert_int_equal(step->context, event->context);
    assert_int_equal(step->thread, event->thread);
    assert_int_equal(step->ends_context, event->type == EVENT_CONTEXT);
}

/* The step holds everything that the trace says of the event. */
UNIT_TEST(a_step_holds_what_its_event_says)
{
    struct memory memory = {0};
    struct event call = allocation(7, FAILED), end = {.type = EVENT_CONTEXT, .context = 3, .device = 1};
    call.start = call.end = 1234;
    call.device = 1;
    call.context = 2;
    call.stream = 5;
    call.thread = 77;
    call.memory.address = ADDRESS;
    call.memory.pool = 0xabc;
    call.memory.stack = 9;
    end.start = end.end = 1200;
    end.thread = 78;
    end.stream = EVENT_NO_STREAM;
    end.object.destroyed = true;
    assert_int_equal(memory_collect(&memory, &call), 0);
    assert_int_equal(memory_collect(&memory, &end), 0);
    assert_int_equal(memory_sort(&memory), 0);
    const struct memory_step *first = &memory.steps.items[0], *second = &memory.steps.items[1];
    is_step_of(first, &end);
    is_step_of(second, &call);
    assert_int_equal(second->stream, call.stream);
    assert_int_equal(second->correlation, call.correlation);
    assert_int_equal(second->address, call.memory.address);
    assert_int_equal(second->size, call.memory.size);
    assert_int_equal(second->pool, call.memory.pool);
    assert_int_equal(second->result, call.memory.result);
    assert_int_equal(second->operation, call.memory.operation);
    assert_int_equal(second->kind, call.memory.kind);
    assert_int_equal(second->stack, call.memory.stack);
    memory_release(&memory);
}

UNIT_MAIN(NULL, NULL)
