#include "trace/meaning/launches/graphs.h"

#include "tests/unit.h"

static struct graph_nodes nodes;
static uint64_t when;

static void see(uint64_t node, uint64_t original, uint64_t function, uint32_t correlation)
{
    struct event event = {.type = EVENT_GRAPH_NODE, .start = ++when, .correlation = correlation};
    event.graph_node.node = node;
    event.graph_node.original = original;
    event.graph_node.function = function;
    assert_int_equal(graph_nodes_index(&nodes, &event), 0);
}

static uint64_t find(uint64_t node, uint32_t correlation)
{
    uint64_t time;
    assert_int_equal(graph_nodes_order(&nodes), 0);
    return graph_nodes_find(&nodes, node, correlation, &time);
}

UNIT_FIXTURE(clear)
{
    file_vector_release(&nodes.changes);
    nodes = (struct graph_nodes){0};
    when = 0;
    return 0;
}

UNIT_TEST_WITH(what_was_not_reported_is_not_known, NULL, clear)
{
    assert_int_equal(find(1, 9), 0);
    see(2, 0, 0xf2, 1);
    assert_int_equal(find(1, 9), 0);
    assert_int_equal(find(3, 9), 0);
    assert_int_equal(find(2, 0), 0); /* before it was */
}

UNIT_TEST_WITH(copies_launch_what_their_originals_do, NULL, clear)
{
    see(30, 20, 0, 3); /* in no order */
    see(10, 0, 0xf1, 1);
    see(20, 10, 0, 2);
    assert_int_equal(find(10, 9), 0xf1);
    assert_int_equal(find(20, 9), 0xf1);
    assert_int_equal(find(30, 9), 0xf1);
}

UNIT_TEST_WITH(a_copy_stays_what_it_was_when_its_original_changes, NULL, clear)
{
    see(10, 0, 0xf1, 1);
    see(20, 10, 0, 2);
    see(10, 0, 0xf2, 3);
    see(30, 10, 0, 4);
    assert_int_equal(find(10, 9), 0xf2);
    assert_int_equal(find(20, 9), 0xf1);
    assert_int_equal(find(30, 9), 0xf2);
}

UNIT_TEST_WITH(earlier_launches_are_of_what_was_before, NULL, clear)
{
    see(10, 0, 0xf1, 1);
    see(20, 10, 0, 2);
    see(20, 0, 0xf2, 5);
    assert_int_equal(find(20, 4), 0xf1);
    assert_int_equal(find(20, 5), 0xf2);
}

/* One call reports that the node is a copy, then what it launches. */
UNIT_TEST_WITH(the_last_word_of_a_call_counts, NULL, clear)
{
    see(10, 0, 0xf1, 1);
    see(20, 10, 0, 2);
    see(20, 0, 0xf2, 2);
    assert_int_equal(find(20, 2), 0xf2);
}

UNIT_TEST_WITH(the_time_is_when_the_function_was_reported, NULL, clear)
{
    uint64_t time = 0;
    see(10, 0, 0xf1, 1);
    see(20, 10, 0, 2);
    assert_int_equal(graph_nodes_order(&nodes), 0);
    assert_int_equal(graph_nodes_find(&nodes, 20, 9, &time), 0xf1);
    assert_int_equal(time, 1);
}

UNIT_TEST_WITH(a_ring_of_copies_ends, NULL, clear)
{
    see(10, 20, 0, 1);
    see(20, 10, 0, 1);
    see(30, 30, 0, 1);
    assert_int_equal(find(10, 9), 0);
    assert_int_equal(find(30, 9), 0);
}

/* The time at which what NODE does in the graph launched by CORRELATION was made; 0: it is not known. */
static uint64_t made(uint64_t node, uint32_t correlation)
{
    assert_int_equal(graph_nodes_order(&nodes), 0);
    const struct graph_node_change *origin = graph_nodes_origin(&nodes, graph_nodes_change(&nodes, node, correlation));
    return origin ? origin->time : 0;
}

UNIT_TEST_WITH(copies_were_made_when_their_originals_were, NULL, clear)
{
    see(10, 0, 0xf1, 1);
    see(20, 10, 0, 2);
    see(30, 20, 0, 3);
    assert_int_equal(made(10, 9), 1);
    assert_int_equal(made(20, 9), 1);
    assert_int_equal(made(30, 9), 1);
    assert_int_equal(made(30, 2), 0);
    assert_int_equal(made(40, 9), 0);
}

UNIT_TEST_WITH(a_node_that_launches_something_else_was_made_before, NULL, clear)
{
    see(10, 0, 0xf1, 1);
    see(10, 0, 0xf2, 2);
    see(20, 10, 0, 3);
    see(20, 0, 0xf3, 4);
    assert_int_equal(made(10, 9), 1);
    assert_int_equal(made(20, 9), 1);
}

UNIT_TEST_WITH(an_updated_node_was_made_as_what_it_is_a_copy_of_at_the_launch, NULL, clear)
{
    see(10, 0, 0xf1, 1);
    see(11, 0, 0xf1, 2);
    see(20, 10, 0, 3);
    see(20, 11, 0, 6);
    assert_int_equal(made(20, 5), 1);
    assert_int_equal(made(20, 6), 2);
}

/* The call that copied it had no callback. */
UNIT_TEST_WITH(a_copy_by_an_unknown_call_is_one_all_the_same, NULL, clear)
{
    see(10, 0, 0xf1, 7);
    see(20, 10, 0, 0);
    assert_int_equal(made(20, 9), 1);
}

UNIT_TEST_WITH(what_is_in_a_ring_of_copies_was_never_made, NULL, clear)
{
    see(10, 20, 0, 1);
    see(20, 10, 0, 1);
    assert_int_equal(made(10, 9), 0);
}

UNIT_MAIN(NULL, NULL)
