/*
 * Follows copies of nodes back to the node that the program made, finds by times the launch that an operation in a
 * conditional body belongs to, computes the numbers of inner nodes from the copies that each instantiation reported,
 * and shows streams that one graph alone ran on as further lanes of the launch's stream.
 */
#include "trace/meaning/launches/graphs.h"

#include "common/log.h"
#include "common/settings.h"
#include "trace/meaning/base/process.h"

/* How many copies of copies are followed: a damaged spool may have cycles. */
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
    /* How many changes precede those of NODE that calls after CORRELATION made. */
    const struct graph_node_change last = {.node = node, .correlation = correlation, .time = UINT64_MAX};
    size_t index = COUNT_BEFORE(nodes->changes.count, i, compare_changes(&nodes->changes.items[i], &last) < 0);
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

void conditional_launches_init(struct conditional_launches *launches, const char *directory)
{
    *launches = (struct conditional_launches){.lock = PTHREAD_MUTEX_INITIALIZER, .items.memory.directory = directory};
}

int conditional_launches_index(struct conditional_launches *launches, const struct event *event)
{
    const struct conditional_launch launch = {
        .called = event->start,
        .first = UINT64_MAX,
        .graph = event->graph.graph,
        .correlation = event->correlation,
    };
    return ADD(file_vector_push, &launches->items, launch) ? 0 : error_no_memory("the table of graph launches");
}

ORDER_BY(compare_launches, struct conditional_launch, graph, correlation)

int conditional_launches_order(struct conditional_launches *launches)
{
    return file_vector_sort(&launches->items, compare_launches) == 0 ? 0
                                                                     : error_no_memory("the table of graph launches");
}

/* Returns the index of the first launch of GRAPH with CORRELATION or a higher id, or where it would be. */
static size_t position(const struct conditional_launches *launches, uint32_t graph, uint32_t correlation)
{
    const struct conditional_launch wanted = {.graph = graph, .correlation = correlation};
    return COUNT_BEFORE(launches->items.count, i, compare_launches(&launches->items.items[i], &wanted) < 0);
}

/* Returns the number of the executable graph that launched a GPU operation, or 0 if none did. */
static uint32_t gpu_op_graph(const struct event *event)
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

int conditional_launches_scan(struct conditional_launches *launches, const struct event *event)
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
    } else if (event->correlation == 0 && event->start >= launch->called) { /* earlier: its launch was not recorded */
        bool is_new;
        uint64_t *earliest = map_put(&launches->bodies, gpu_op_node(event), &is_new);
        if (earliest && (is_new || event->start < *earliest))
            *earliest = event->start;
        result = earliest ? 0 : error_no_memory("the table of graph launches");
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
    bool early = earliest && *earliest < items[low].since; /* the node ran before any own operation of the graph */
    size_t begun = COUNT_BEFORE_BETWEEN(low, high, i, (early ? items[i].early_since : items[i].since) <= event->start);
    return begun > low ? items[begun - 1].correlation : 0;
}

/* A node that the call `correlation` made as a copy of another. */
struct copy {
    uint32_t correlation, change; /* change: index in graph_nodes.changes, which are sorted by node */
};

struct copies {
    FILE_VECTOR(struct copy) items;
};

static uint32_t graph_of(uint64_t node)
{
    return (uint32_t)(node >> 32);
}

ORDER_BY(by_call, struct copy, correlation, change)

/* Lists nodes that were created as copies, not those that an update made copies of other nodes later. */
static int list_copies(struct copies *copies, const struct graph_nodes *nodes)
{
    for (size_t i = 0; i < nodes->changes.count; i++) {
        const struct graph_node_change *change = &nodes->changes.items[i];
        const struct copy copy = {change->correlation, (uint32_t)i};
        bool is_new = i == 0 || change[-1].node != change->node;
        if (is_new && change->original != 0 && change->correlation != 0 && !ADD(file_vector_push, &copies->items, copy))
            return error_no_memory("nodes of graphs within graphs");
    }
    return file_vector_sort(&copies->items, by_call) == 0 ? 0 : error_no_memory("nodes of graphs within graphs");
}

/* Returns the first call that made nodes, from that of change FIRST on and before node END, copies of another graph
 * than before; 0 if there is none. */
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

/* Adds the inner nodes that one call copied; its first graph is the outer one. Adds none if outer nodes are missing. */
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
        return error_no_memory("nodes of graphs within graphs");
    for (size_t i = own; i < count; i++) {
        const struct inner_node node = {next++, changes[copies[i].change].node, (uint32_t)inner->graphs.count - 1};
        if (!ADD(file_vector_push, &inner->items, node))
            return error_no_memory("nodes of graphs within graphs");
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
        result = error_no_memory("nodes of graphs within graphs");
    file_vector_release(&copies.items);
    return result;
}

static const struct inner_node *find_inner(const struct inner_nodes *inner, uint64_t node)
{
    size_t place = COUNT_BEFORE(inner->items.count, i, inner->items.items[i].node < node);
    bool found = place < inner->items.count && inner->items.items[place].node == node;
    return found ? &inner->items.items[place] : NULL;
}

uint64_t inner_nodes_find(const struct inner_nodes *inner, uint64_t node, uint32_t correlation)
{
    const struct inner_node *found = find_inner(inner, node);
    const struct inner_graph *graph = found ? &inner->graphs.items[found->graph] : NULL;
    if (!graph || (graph->updated != 0 && correlation >= graph->updated))
        return 0;
    return __atomic_load_n(&graph->refuted, __ATOMIC_RELAXED) ? 0 : found->reported;
}

void inner_nodes_refute(const struct inner_nodes *inner, uint64_t node)
{
    const struct inner_node *found = find_inner(inner, node);
    if (found)
        __atomic_store_n(&inner->graphs.items[found->graph].refuted, true, __ATOMIC_RELAXED);
}

void graph_streams_release(struct graph_streams *streams)
{
    map_release(&streams->pairs);
    map_release(&streams->made);
}

static int add_pair(struct graph_streams *streams, uint32_t graph, const struct track *track)
{
    return map_put(&streams->pairs, (uint64_t)graph << 32 | track->index, NULL) ? 0
                                                                                : error_no_memory("streams of graphs");
}

/* Notes which graph ran on the stream: the stream is a branch's if only one graph ever ran there. */
static void note(struct track *track, uint32_t graph)
{
    if (track->graph == 0)
        track->graph = graph;
    track->has_others |= graph == 0 || track->graph != graph;
}

int graph_streams_index(struct graph_streams *found, struct track *track, const struct event *event)
{
    uint32_t graph = gpu_op_graph(event);
    bool is_known = graph == 0 || graph == track->last_graph;
    note(track, graph);
    track->last_graph = graph;
    return is_known ? 0 : add_pair(found, graph, track);
}

struct taking {
    struct process *process;
    const struct tracks *tracks;
};

static struct track *stream_like(const struct process *process, const struct track *other)
{
    return tracks_get(&process->tracks, TRACK_STREAM, other->device, other->context, other->number);
}

static int join_pair(void *context, uint64_t key, uint64_t *unused)
{
    const struct taking *taking = context;
    const struct track *track = stream_like(taking->process, taking->tracks->items.items[(uint32_t)key]);
    (void)unused;
    return track ? add_pair(taking->process->graph_streams, (uint32_t)(key >> 32), track) : 0;
}

int graph_streams_join(struct process *process, struct graph_streams *found, const struct tracks *tracks)
{
    struct taking taking = {process, tracks};
    for (size_t i = 0; i < tracks->items.count; i++) {
        const struct track *seen = tracks->items.items[i];
        struct track *track = seen->kind == TRACK_STREAM ? stream_like(process, seen) : NULL;
        if (!track)
            continue;
        if (seen->graph != 0)
            note(track, seen->graph);
        track->has_others |= seen->has_others;
    }
    return map_each(&found->pairs, join_pair, &taking);
}

struct folding {
    struct process *process;
    struct map base; /* base_key() of a graph -> index + 1 of the track of its launches' stream */
};

static bool is_of_branch(const struct folding *folding, const struct track *track)
{
    return track->graph != 0 && !track->has_others && !map_get(&folding->process->graph_streams->made, track->number);
}

static uint64_t base_key(uint32_t graph, const struct track *track)
{
    return (uint64_t)graph << 32 | (track->device & 0xffff) << 16 | (track->context & 0xffff);
}

static int find_base(void *context, uint64_t key, uint64_t *unused)
{
    struct folding *folding = context;
    struct track *const *tracks = folding->process->tracks.items.items;
    const struct track *track = tracks[(uint32_t)key];
    uint64_t *base = map_put(&folding->base, base_key((uint32_t)(key >> 32), track), NULL);
    (void)unused;
    if (!base)
        return error_no_memory("streams of graphs");
    /* Prefers a stream that is not a branch's, then the lowest number: the default stream has the lowest. */
    const struct track *known = *base != 0 ? tracks[*base - 1] : NULL;
    bool is_branch = is_of_branch(folding, track), was_branch = known && is_of_branch(folding, known);
    if (!known || (is_branch != was_branch ? was_branch : track->number < known->number))
        *base = (uint64_t)track->index + 1;
    return 0;
}

static void fold(const struct folding *folding)
{
    const struct tracks *tracks = &folding->process->tracks;
    for (size_t i = 0; i < tracks->items.count; i++) {
        struct track *track = tracks->items.items[i];
        bool is_branch = track->kind == TRACK_STREAM && is_of_branch(folding, track);
        const uint64_t *index = is_branch ? map_get(&folding->base, base_key(track->graph, track)) : NULL;
        struct track *base = index ? tracks->items.items[*index - 1] : track;
        if (base == track || base->device != track->device || base->context != track->context)
            continue;
        track->stands_in = base;
        lanes_must_collect(&base->lanes);
    }
}

int graph_streams_fold(struct process *process)
{
    struct folding folding = {.process = process};
    if (map_count(&process->graph_streams->pairs) == 0 || !process_was_to_record(process, TRACE_STREAM))
        return 0; /* without that record, streams that the program made look like those of branches */
    int result = map_each(&process->graph_streams->pairs, find_base, &folding);
    if (result == 0)
        fold(&folding);
    process->tracks.recent = (struct tracks_recent){0};
    map_release(&folding.base);
    return result;
}
