#include "agent/dispatch/registry.h"
#include "agent/spool/stacks.h"
#include "common/settings.h"
#include "tests/agent/spool/test_spool.h"

#define EVERY 10

UNIT_FIXTURE(open_spool)
{
    return open_test_spool(TRACE_DEFAULT);
}

static uint32_t correlation;

static struct gputrace_call next_call(void)
{
    return (struct gputrace_call){.start = 100 + correlation, .end = 300, .correlation = ++correlation};
}

static void launch(uint64_t kernel, uint32_t grid)
{
    registry_kernel_launch_publish(
        &(struct gputrace_kernel_launch){.call = next_call(), .kernel = kernel, .grid = {grid, 1, 1}});
}

static void copy(bool waits)
{
    registry_memcpy_publish(
        &(struct gputrace_memcpy){.call = next_call(), .bytes = 8, .stream_given = !waits, .count = 1});
}

static void call_begins(enum spool_call_object what)
{
    registry_open_call_publish(&(struct gputrace_open_call){.start = 100, .what = what, .correlation = ++correlation});
}

static unsigned count_stacks(void)
{
    struct reading reading = read_spool(directory, getpid());
    return count_records(&reading, SPOOL_RECORD_CALL_STACK);
}

/* How many records there are more since this was last asked. */
static unsigned new_stacks(void)
{
    static unsigned before;
    unsigned now = count_stacks(), added = now - before;
    before = now;
    return added;
}

/* The first test: what is wanted of the registry before and after. */
UNIT_TEST(nothing_is_listened_to_unless_stacks_are_wanted_and_recording_is_on)
{
    recorder_switch(true, 3, "start");
    call_stacks_switch(true);
    assert_false(registry_kernel_launch_wanted() || registry_memcpy_wanted() || registry_open_call_wanted());
    assert_false(registry_graph_node_wanted());
    recorder_switch(false, 4, "stop");
    call_stacks_switch(false);
    call_stacks_init(STACKS_LAUNCH | STACKS_SYNC, EVERY, true);
    assert_false(registry_kernel_launch_wanted() || registry_memcpy_wanted() || registry_open_call_wanted());
    recorder_switch(true, 5, "start");
    call_stacks_switch(true);
    assert_true(registry_kernel_launch_wanted() && registry_graph_launch_wanted() && registry_memset_wanted());
    assert_true(registry_memcpy_wanted() && registry_open_call_wanted() && registry_graph_node_wanted());
    recorder_switch(false, 6, "stop");
    call_stacks_switch(false);
    assert_false(registry_kernel_launch_wanted() || registry_memcpy_wanted() || registry_open_call_wanted());
    launch(7, 1);
    assert_int_equal(new_stacks(), 0);
    recorder_switch(true, 7, "start");
    call_stacks_switch(true);
}

UNIT_TEST(a_record_ties_a_stack_to_the_call)
{
    launch(1, 1);
    assert_int_equal(new_stacks(), 1);
    struct reading reading = read_spool(directory, getpid());
    const struct spool_call_stack *record = find_record(&reading, SPOOL_RECORD_CALL_STACK, 0);
    assert_int_equal(record->correlation, correlation);
    assert_int_equal(record->head.time, 100 + correlation - 1);
    const struct spool_stack *stack = find_record(&reading, SPOOL_RECORD_STACK, 0);
    assert_int_equal(record->stack, stack->stack);
}

UNIT_TEST(the_first_launch_of_each_kernel_and_grid_has_a_stack)
{
    for (uint32_t i = 0; i < 20; i++)
        launch(100 + i, 1);
    assert_int_equal(new_stacks(), 20);
    for (uint32_t grid = 2; grid < 12; grid++)
        launch(100, grid);
    assert_int_equal(new_stacks(), 10);
    launch(100, 1); /* once more: it may be due, but hardly every time */
    unsigned again = new_stacks();
    for (uint32_t i = 1; i < 20; i++)
        launch(100 + i, 1);
    assert_in_range(again + new_stacks(), 0, 10);
}

UNIT_TEST(later_launches_have_one_in_so_many_at_changing_distances)
{
    enum { LAUNCHES = 20000 };
    struct reading reading;
    uint32_t first = correlation + 1, place[EVERY] = {0};
    for (unsigned i = 0; i < LAUNCHES; i++)
        launch(5, 5);
    unsigned count = count_stacks(), added = new_stacks();
    assert_in_range(added, LAUNCHES / EVERY * 9 / 10, LAUNCHES / EVERY * 11 / 10);
    reading = read_spool(directory, getpid());
    for (unsigned i = count - added; i < count; i++) {
        const struct spool_call_stack *record = find_record(&reading, SPOOL_RECORD_CALL_STACK, i);
        place[(record->correlation - first) % EVERY]++;
    }
    for (unsigned i = 0; i < EVERY; i++) /* programs launch in loops of so many */
        assert_in_range(place[i], added / EVERY / 2, added / EVERY * 2);
}

UNIT_TEST(each_wait_has_a_stack_and_other_calls_have_none)
{
    for (unsigned i = 0; i < 3; i++) {
        call_begins(SPOOL_CALL_OF_STREAM);
        call_begins(SPOOL_CALL_OF_EVENT);
        call_begins(SPOOL_CALL_OF_CONTEXT);
        call_begins(SPOOL_CALL_OF_NOTHING);
    }
    assert_int_equal(new_stacks(), 9);
    registry_open_call_publish(
        &(struct gputrace_open_call){.returned = true, .what = SPOOL_CALL_OF_STREAM, .correlation = correlation});
    assert_int_equal(new_stacks(), 0);
}

UNIT_TEST(a_copy_that_waits_has_one_each_time_and_another_as_a_launch)
{
    for (unsigned i = 0; i < 100; i++)
        copy(true);
    assert_int_equal(new_stacks(), 100);
    for (unsigned i = 0; i < 100; i++)
        copy(false);
    assert_in_range(new_stacks(), 1, 50);
    registry_memcpy_publish(
        &(struct gputrace_memcpy){.call = next_call(), .bytes = 8, .index = 1, .count = 2}); /* of a batch */
    assert_int_equal(new_stacks(), 0);
}

static void node(uint64_t number, uint32_t of_call, bool made)
{
    registry_graph_node_publish(&(struct gputrace_graph_node){.node = number, .correlation = of_call, .made = made});
}

static unsigned new_node_stacks(void)
{
    static unsigned before;
    struct reading reading = read_spool(directory, getpid());
    unsigned now = count_records(&reading, SPOOL_RECORD_GRAPH_NODE_STACK), added = now - before;
    before = now;
    return added;
}

/* Launches of other kernels and of grids that were launched before, so that none is due by itself. */
UNIT_TEST(a_captured_launch_has_the_stack_of_its_node)
{
    struct reading reading;
    new_stacks();
    for (uint64_t i = 1; i <= 30; i++) {
        node(i, correlation + 1, true);
        launch(100, 1);
        assert_int_equal(new_stacks(), 1);
    }
    assert_int_equal(new_node_stacks(), 30);
    reading = read_spool(directory, getpid());
    const struct spool_graph_node_stack *of_node = find_record(&reading, SPOOL_RECORD_GRAPH_NODE_STACK, 29);
    const struct spool_call_stack *of_call = find_record(&reading, SPOOL_RECORD_CALL_STACK, count_stacks() - 1);
    assert_int_equal(of_node->node, 30);
    assert_int_not_equal(of_node->stack, 0);
    assert_int_equal(of_call->stack, of_node->stack);
    assert_int_equal(of_call->correlation, correlation);
}

UNIT_TEST(nodes_that_are_copied_or_changed_have_none)
{
    node(50, 90000, false);
    node(51, 0, true);
    assert_int_equal(new_node_stacks(), 1);
    assert_int_equal(new_stacks(), 0);
}

UNIT_TEST(every_launch_has_one_when_that_is_asked_for)
{
    call_stacks_init(STACKS_LAUNCH | STACKS_SYNC, 1, true);
    for (unsigned i = 0; i < 50; i++)
        launch(6, 6);
    assert_int_equal(new_stacks(), 50);
}

UNIT_MAIN(open_spool, remove_spool)
