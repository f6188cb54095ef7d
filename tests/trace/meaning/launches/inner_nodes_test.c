#include "trace/meaning/launches/graphs.h"

#include "tests/unit.h"

static struct graph_nodes nodes;
static struct inner_nodes inner;
static uint64_t when;

static uint64_t number(uint32_t graph, uint32_t node)
{
    return (uint64_t)graph << 32 | node;
}

static void see(uint64_t node, uint64_t original, uint32_t correlation)
{
    struct event event = {.type = EVENT_GRAPH_NODE, .start = ++when, .correlation = correlation};
    event.graph_node.node = node;
    event.graph_node.original = original;
    assert_int_equal(graph_nodes_index(&nodes, &event), 0);
}

static void make(void)
{
    assert_int_equal(graph_nodes_order(&nodes), 0);
    assert_int_equal(inner_nodes_make(&inner, &nodes), 0);
}

static uint64_t find(uint32_t graph, uint32_t node)
{
    return inner_nodes_find(&inner, number(graph, node), 1000);
}

UNIT_FIXTURE(clear)
{
    file_vector_release(&nodes.changes);
    file_vector_release(&inner.items);
    array_release(&inner.graphs);
    nodes = (struct graph_nodes){0};
    inner = (struct inner_nodes){0};
    when = 0;
    return 0;
}

/* NVIDIA's graphConditionalNodes on an H200, CUDA 13.0: what CUPTI reported as copies while graphs were instantiated.
 */
static const struct {
    uint32_t correlation, graph, node, original_graph, original;
} reported[] = {
    {17, 3, 0, 1, 0},   {17, 4, 0, 2, 0},   {17, 3, 1, 1, 1},   {38, 10, 0, 8, 0},  {38, 10, 1, 8, 1},
    {38, 10, 2, 8, 2},  {38, 9, 0, 7, 0},   {62, 15, 0, 13, 0}, {62, 16, 0, 14, 0}, {62, 15, 1, 13, 1},
    {62, 15, 2, 13, 2}, {79, 22, 0, 19, 0}, {79, 23, 0, 20, 0}, {79, 24, 0, 21, 0}, {79, 22, 1, 19, 1},
    {98, 33, 0, 28, 0}, {98, 34, 0, 29, 0}, {98, 35, 0, 30, 0}, {98, 36, 0, 31, 0}, {98, 37, 0, 32, 0},
    {98, 33, 1, 28, 1},
};

/* Nodes in records of the bodies' kernels, and which copy launches the kernel that ran there. */
static const struct {
    uint32_t graph, node, copy_graph, copy;
} recorded[] = {
    {3, 2, 4, 0},   /* one body: ifGraphKernelC */
    {9, 1, 10, 0},  /* doWhileEmptyKernel */
    {9, 2, 10, 1},  /* doWhileEmptyKernel */
    {9, 3, 10, 2},  /* doWhileLoopKernel */
    {15, 3, 16, 0}, /* capturedWhileKernel */
    {22, 2, 23, 0}, /* two bodies: ifGraphKernelC */
    {22, 3, 24, 0}, /* ifGraphKernelD */
    {33, 2, 34, 0}, /* four: switchGraphKernelC */
    {33, 3, 35, 0}, /* … D */
    {33, 4, 36, 0}, /* … E */
    {33, 5, 37, 0}, /* … F */
};

UNIT_TEST_WITH(nodes_of_bodies_are_found_by_the_numbers_of_an_h200_s_records, NULL, clear)
{
    for (size_t i = 0; i < sizeof(reported) / sizeof(*reported); i++)
        see(number(reported[i].graph, reported[i].node), number(reported[i].original_graph, reported[i].original),
            reported[i].correlation);
    make();
    for (size_t i = 0; i < sizeof(recorded) / sizeof(*recorded); i++)
        assert_int_equal(find(recorded[i].graph, recorded[i].node), number(recorded[i].copy_graph, recorded[i].copy));
    assert_int_equal(find(3, 0), 0); /* its own */
    assert_int_equal(find(3, 3), 0); /* behind all */
    assert_int_equal(find(22, 4), 0);
}

UNIT_TEST_WITH(a_graph_without_graphs_within_has_no_inner_nodes, NULL, clear)
{
    see(number(1, 0), 0, 1);
    see(number(2, 0), number(1, 0), 5);
    see(number(2, 1), number(1, 0), 5);
    make();
    assert_int_equal(find(2, 2), 0);
    assert_int_equal(find(1, 1), 0);
}

UNIT_TEST_WITH(copies_of_different_calls_and_of_no_known_call_are_not_put_together, NULL, clear)
{
    see(number(2, 0), number(1, 0), 5);
    see(number(3, 0), number(1, 0), 6);
    see(number(4, 0), number(1, 0), 0);
    see(number(5, 0), number(1, 0), 0);
    make();
    assert_int_equal(find(2, 1), 0);
    assert_int_equal(find(4, 1), 0);
}

UNIT_TEST_WITH(an_executable_graph_of_which_a_node_was_not_reported_has_none, NULL, clear)
{
    see(number(2, 0), number(1, 0), 5);
    see(number(2, 2), number(1, 2), 5);
    see(number(3, 0), number(1, 7), 5);
    make();
    assert_int_equal(find(2, 3), 0);
}

UNIT_TEST_WITH(nodes_that_an_update_makes_copies_of_others_are_not_new, NULL, clear)
{
    see(number(2, 0), number(1, 0), 5);
    see(number(3, 0), number(1, 7), 6);
    see(number(2, 0), number(4, 0), 9);
    see(number(3, 0), number(4, 1), 9);
    make();
    assert_int_equal(find(2, 1), 0);
}

UNIT_TEST_WITH(after_an_update_from_another_graph_nothing_is_known, NULL, clear)
{
    see(number(2, 0), number(1, 0), 5);
    see(number(2, 1), number(1, 1), 5);
    see(number(3, 0), number(1, 7), 5);
    see(number(2, 1), number(1, 1), 7); /* set: it is a copy of the same */
    see(number(2, 1), number(6, 1), 9);
    make();
    assert_int_equal(inner_nodes_find(&inner, number(2, 2), 5), number(3, 0));
    assert_int_equal(inner_nodes_find(&inner, number(2, 2), 8), number(3, 0));
    assert_int_equal(inner_nodes_find(&inner, number(2, 2), 9), 0);
}

UNIT_TEST_WITH(numbers_that_a_record_contradicts_are_not_known_any_more, NULL, clear)
{
    see(number(2, 0), number(1, 0), 5);
    see(number(3, 0), number(1, 7), 5);
    see(number(3, 1), number(1, 8), 5);
    see(number(4, 0), number(1, 0), 6);
    see(number(5, 0), number(1, 7), 6);
    make();
    assert_int_equal(find(2, 2), number(3, 1));
    inner_nodes_refute(&inner, number(2, 1));
    assert_int_equal(find(2, 1), 0);
    assert_int_equal(find(2, 2), 0);
    assert_int_equal(find(4, 1), number(5, 0)); /* of another graph */
}

UNIT_MAIN(NULL, NULL)
