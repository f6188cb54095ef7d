/* Works out the numbers of inner nodes from the copies that each instantiation reported. */
#include "trace/meaning/launches/inner_nodes.h"

#include "common/log.h"
#include "common/lookup.h"

/* A node that the call `correlation` made as a copy of another. */
struct copy {
    uint32_t correlation, change; /* index in graph_nodes.changes, which are in the order of nodes */
};

struct copies {
    FILE_VECTOR(struct copy) items;
};

static int no_memory(void)
{
    return error_no_memory("nodes of graphs within graphs");
}

static uint32_t graph_of(uint64_t node)
{
    return (uint32_t)(node >> 32);
}

ORDER_BY(by_call, struct copy, correlation, change)

/* Nodes that are copies from their beginning, not those that were made copies of other ones later. */
static int list_copies(struct copies *copies, const struct graph_nodes *nodes)
{
    for (size_t i = 0; i < nodes->changes.count; i++) {
        const struct graph_node_change *change = &nodes->changes.items[i];
        const struct copy copy = {change->correlation, (uint32_t)i};
        bool is_new = i == 0 || change[-1].node != change->node;
        if (is_new && change->original != 0 && change->correlation != 0 && !ADD(file_vector_push, &copies->items, copy))
            return no_memory();
    }
    return file_vector_sort(&copies->items, by_call) == 0 ? 0 : no_memory();
}

/* The first call that made nodes from that of change FIRST on, before node END, copies of another graph's than before.
 */
static uint32_t updated_by(const struct graph_nodes *nodes, size_t first, uint64_t end)
{
    const struct graph_node_change *changes = nodes->changes.items;
    uint32_t source = graph_of(changes[first].original), call = 0;
    for (size_t i = first; i < nodes->changes.count && changes[i].node < end; i++) {
        bool is_other = changes[i].original != 0 && graph_of(changes[i].original) != source;
        if (is_other && changes[i].correlation != 0 && (call == 0 || changes[i].correlation < call))
            call = changes[i].correlation;
    }
    return call;
}

/* What one call copied: the first graph is the outer one. Where not all of its nodes are known nothing can be said. */
static int add_call(struct inner_nodes *inner, const struct graph_nodes *nodes, const struct copy *copies, size_t count)
{
    const struct graph_node_change *changes = nodes->changes.items;
    uint64_t first = changes[copies[0].change].node, next = first;
    size_t own = 0;
    while (own < count && graph_of(changes[copies[own].change].node) == graph_of(first)) {
        if (changes[copies[own++].change].node != next++)
            return 0;
    }
    if (own == count)
        return 0;
    const struct inner_graph graph = {.updated = updated_by(nodes, copies[0].change, next)};
    if (!ADD(array_push, &inner->graphs, graph))
        return no_memory();
    for (size_t i = own; i < count; i++) {
        const struct inner_node node = {next++, changes[copies[i].change].node, (uint32_t)inner->graphs.count - 1};
        if (!ADD(file_vector_push, &inner->items, node))
            return no_memory();
    }
    return 0;
}

ORDER_BY(by_node, struct inner_node, node)

int inner_nodes_make(struct inner_nodes *inner, const struct graph_nodes *nodes)
{
    struct copies copies = {.items.memory.directory = nodes->changes.memory.directory};
    inner->items.memory.directory = nodes->changes.memory.directory;
    int result = list_copies(&copies, nodes);
    for (size_t i = 0, end; i < copies.items.count && result == 0; i = end) {
        const struct copy *first = &copies.items.items[i];
        for (end = i + 1; end < copies.items.count && copies.items.items[end].correlation == first->correlation;)
            end++;
        result = add_call(inner, nodes, first, end - i);
    }
    if (result == 0 && file_vector_sort(&inner->items, by_node) != 0)
        result = no_memory();
    file_vector_release(&copies.items);
    return result;
}

static const struct inner_node *look_up(const struct inner_nodes *inner, uint64_t node)
{
    const struct inner_node wanted = {.node = node};
    size_t place = array_before(inner->items.items, inner->items.count, sizeof(wanted), &wanted, by_node);
    bool found = place < inner->items.count && inner->items.items[place].node == node;
    return found ? &inner->items.items[place] : NULL;
}

uint64_t inner_nodes_find(const struct inner_nodes *inner, uint64_t node, uint32_t correlation)
{
    const struct inner_node *found = look_up(inner, node);
    const struct inner_graph *graph = found ? &inner->graphs.items[found->graph] : NULL;
    if (!graph || (graph->updated != 0 && correlation >= graph->updated))
        return 0;
    return __atomic_load_n(&graph->refuted, __ATOMIC_RELAXED) ? 0 : found->reported;
}

void inner_nodes_refute(const struct inner_nodes *inner, uint64_t node)
{
    const struct inner_node *found = look_up(inner, node);
    if (found)
        __atomic_store_n(&inner->graphs.items[found->graph].refuted, true, __ATOMIC_RELAXED);
}
