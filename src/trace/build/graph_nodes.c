#include "trace/build/graph_nodes.h"

#include "common/log.h"

/* Copies of copies that are followed: a spool may hold rings of them. */
#define DEPTH 64u

void graph_nodes_release(struct graph_nodes *nodes)
{
    big_array_release(&nodes->changes);
}

int graph_nodes_see(struct graph_nodes *nodes, const struct event *event)
{
    struct graph_node_change *change = big_array_push(&nodes->changes);
    if (!change)
        return error_no_memory("nodes of graphs");
    *change = (struct graph_node_change){
        .node = event->graph_node.node,
        .original = event->graph_node.original,
        .function = event->graph_node.function,
        .time = event->start,
        .correlation = event->correlation,
    };
    return 0;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_changes(const void *left, const void *right)
{
    const struct graph_node_change *a = left, *b = right;
    int by_node = compare(a->node, b->node), by_call = compare(a->correlation, b->correlation);
    return by_node != 0 ? by_node : by_call != 0 ? by_call : compare(a->time, b->time);
}

int graph_nodes_order(struct graph_nodes *nodes)
{
    return big_array_sort(&nodes->changes, compare_changes) == 0 ? 0 : error_no_memory("nodes of graphs");
}

/* How many changes come before those of NODE that are of later calls than CORRELATION. */
static size_t changes_until(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation)
{
    size_t low = 0, high = nodes->changes.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct graph_node_change *change = &nodes->changes.items[middle];
        if (change->node < node || (change->node == node && change->correlation <= correlation))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t graph_nodes_find(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation, uint64_t *time)
{
    for (unsigned depth = 0; depth < DEPTH; depth++) {
        size_t index = changes_until(nodes, node, correlation);
        const struct graph_node_change *last = index > 0 ? &nodes->changes.items[index - 1] : NULL;
        if (!last || last->node != node)
            return 0;
        *time = last->time;
        if (last->original == 0)
            return last->function;
        node = last->original;
        correlation = last->correlation;
    }
    return 0;
}
