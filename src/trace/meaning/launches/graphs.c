/*
 * Follows copies of nodes to the node that the program made, and finds the launch that an operation in a conditional
 * body belongs to, by times.
 */
#include "trace/meaning/launches/graphs.h"

#include "common/array.h"
#include "common/log.h"
#include "common/lookup.h"

/* Copies of copies that are followed: a spool may hold rings of them. */
#define DEPTH 64u

int graph_nodes_index(struct graph_nodes *nodes, const struct event *event)
{
    const struct graph_node_change change = {
        .node = event->graph_node.node,
        .original = event->graph_node.original,
        .function = event->graph_node.function,
        .time = event->start,
        .thread = event->thread,
        .capturer = event->graph_node.capturer,
        .correlation = event->correlation,
    };
    return ADD(file_vector_push, &nodes->changes, change) ? 0 : error_no_memory("nodes of graphs");
}

ORDER_BY(compare_changes, struct graph_node_change, node, correlation, time)

int graph_nodes_order(struct graph_nodes *nodes)
{
    struct graph_node_change *items = nodes->changes.items;
    if (file_vector_sort(&nodes->changes, compare_changes) != 0)
        return error_no_memory("nodes of graphs");
    for (size_t i = 0; i < nodes->changes.count; i++) {
        bool is_made = items[i].original != 0 || i == 0 || items[i].node != items[i - 1].node;
        items[i].made = is_made ? (uint32_t)i : items[i - 1].made;
    }
    return 0;
}

size_t graph_nodes_change(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation)
{
    /* How many changes come before those of NODE that are of later calls than CORRELATION. */
    const struct graph_node_change last = {.node = node, .correlation = correlation, .time = UINT64_MAX};
    size_t index = array_before(nodes->changes.items, nodes->changes.count, sizeof(last), &last, compare_changes);
    return index > 0 && nodes->changes.items[index - 1].node == node ? index - 1 : SIZE_MAX;
}

const struct graph_node_change *graph_nodes_origin(const struct graph_nodes *nodes, size_t change)
{
    for (unsigned depth = 0; depth < DEPTH && change < nodes->changes.count; depth++) {
        const struct graph_node_change *made = &nodes->changes.items[nodes->changes.items[change].made];
        if (made->original == 0)
            return made;
        change = graph_nodes_change(nodes, made->original, made->correlation ? made->correlation : UINT32_MAX);
    }
    return NULL;
}

uint64_t graph_nodes_find(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation, uint64_t *time)
{
    for (unsigned depth = 0; depth < DEPTH; depth++) {
        size_t index = graph_nodes_change(nodes, node, correlation);
        const struct graph_node_change *last = index != SIZE_MAX ? &nodes->changes.items[index] : NULL;
        if (!last)
            return 0;
        *time = last->time;
        if (last->original == 0)
            return last->function;
        node = last->original;
        correlation = last->correlation;
    }
    return 0;
}

void conditional_launches_init(struct conditional_launches *launches)
{
    *launches = (struct conditional_launches){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static int no_memory(void)
{
    return error_no_memory("the table of graph launches");
}

int conditional_launches_index(struct conditional_launches *launches, const struct event *event)
{
    const struct conditional_launch launch = {
        .called = event->start,
        .first = UINT64_MAX,
        .graph = event->graph.graph,
        .correlation = event->correlation,
    };
    return ADD(file_vector_push, &launches->items, launch) ? 0 : no_memory();
}

ORDER_BY(compare_launches, struct conditional_launch, graph, correlation)

int conditional_launches_order(struct conditional_launches *launches)
{
    return file_vector_sort(&launches->items, compare_launches) == 0 ? 0 : no_memory();
}

/* The first launch of GRAPH with CORRELATION or a higher one; else where it would be. */
static size_t position(const struct conditional_launches *launches, uint32_t graph, uint32_t correlation)
{
    const struct conditional_launch wanted = {.graph = graph, .correlation = correlation};
    return array_before(launches->items.items, launches->items.count, sizeof(wanted), &wanted, compare_launches);
}

uint32_t gpu_op_graph(const struct event *event)
{
    switch (event->type) {
    case EVENT_KERNEL: return event->kernel.graph;
    case EVENT_MEMCPY: return event->memcpy.graph;
    case EVENT_MEMSET: return event->memset.graph;
    default: return 0;
    }
}

uint64_t gpu_op_node(const struct event *event)
{
    switch (event->type) {
    case EVENT_KERNEL: return event->kernel.graph_node;
    case EVENT_MEMCPY: return event->memcpy.graph_node;
    case EVENT_MEMSET: return event->memset.graph_node;
    default: return 0;
    }
}

static int look_at_body(struct conditional_launches *launches, const struct event *event)
{
    bool is_new;
    uint64_t *earliest = map_put(&launches->bodies, gpu_op_node(event), &is_new);
    if (!earliest)
        return no_memory();
    if (is_new || event->start < *earliest)
        *earliest = event->start;
    return 0;
}

int conditional_launches_look(struct conditional_launches *launches, const struct event *event)
{
    uint32_t graph = gpu_op_graph(event);
    size_t index = graph != 0 ? position(launches, graph, event->correlation) : launches->items.count;
    struct conditional_launch *launch = &launches->items.items[index];
    if (index == launches->items.count || launch->graph != graph || event->start == 0)
        return 0;
    int result = 0;
    pthread_mutex_lock(&launches->lock);
    if (event->correlation == launch->correlation) {
        launch->first = event->start < launch->first ? event->start : launch->first;
        launch->last = event->end > launch->last ? event->end : launch->last;
    } else if (event->correlation == 0 && event->start >= launch->called) { /* not of one that was not recorded */
        result = look_at_body(launches, event);
    }
    pthread_mutex_unlock(&launches->lock);
    return result;
}

void conditional_launches_finish(struct conditional_launches *launches)
{
    struct conditional_launch *items = launches->items.items;
    size_t count = launches->items.count;
    uint64_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || items[i].graph != items[i - 1].graph)
            ended = 0;
        items[i].early_since = items[i].called > ended ? items[i].called : ended;
        ended = items[i].last > items[i].early_since ? items[i].last : items[i].early_since;
    }
    for (size_t i = count; i-- > 0;) {
        bool is_last = i + 1 == count || items[i + 1].graph != items[i].graph;
        items[i].since = items[i].last > 0 ? items[i].first : items[i].called;
        if (!is_last && items[i + 1].since < items[i].since)
            items[i].since = items[i + 1].since;
    }
    launches->finished = true;
}

uint32_t conditional_launches_find(const struct conditional_launches *launches, const struct event *event)
{
    uint32_t graph = gpu_op_graph(event);
    if (graph == 0 || !launches->finished)
        return 0;
    size_t low = position(launches, graph, 0), high = position(launches, graph, UINT32_MAX);
    if (low == high)
        return 0;
    const struct conditional_launch *items = launches->items.items;
    const uint64_t *earliest = map_get(&launches->bodies, gpu_op_node(event));
    bool early = earliest && *earliest < items[low].since; /* before any own work of the graph */
    size_t begun = COUNT_BEFORE_BETWEEN(low, high, i, (early ? items[i].early_since : items[i].since) <= event->start);
    return begun > low ? items[begun - 1].correlation : 0;
}
