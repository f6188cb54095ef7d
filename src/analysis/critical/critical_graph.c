/* Joins operations and calls, and finds the operation before each operation on its stream and on its GPU. */
#include "analysis/critical/critical_graph.h"

#include "common/memory.h"
#include "analysis/engine/timeline.h"

/* The number of operations that ended last on a GPU, among which dependencies within a graph are searched. */
#define RECENT 64

void critical_graph_release(struct critical_graph *graph)
{
    file_vector_release(&graph->ops);
    file_vector_release(&graph->calls);
    file_vector_release(&graph->edges);
    file_vector_release(&graph->within);
    for (size_t i = 0; i < graph->streams.count; i++)
        file_vector_release(&graph->streams.items[i].ops);
    array_release(&graph->streams);
    array_release(&graph->threads);
    array_release(&graph->devices);
    histogram_release(&graph->latencies);
}

void critical_graph_evict(const struct critical_graph *graph, size_t count)
{
    if (count % CRITICAL_EVICTED_AFTER != 0)
        return;
    file_vector_evict(&graph->ops);
    file_vector_evict(&graph->calls);
    file_vector_evict(&graph->edges);
    file_vector_evict(&graph->within);
    for (size_t i = 0; i < graph->streams.count; i++)
        file_vector_evict(&graph->streams.items[i].ops);
}

/* --- */

static bool is_less(const struct critical_heap_item *a, const struct critical_heap_item *b)
{
    return a->key != b->key ? a->key < b->key : a->order < b->order;
}

int critical_heap_push(struct critical_heap *heap, struct critical_heap_item item)
{
    if (!array_push(&heap->items))
        return -1;
    struct critical_heap_item *items = heap->items.items;
    size_t at = heap->items.count - 1;
    for (; at > 0 && is_less(&item, &items[(at - 1) / 2]); at = (at - 1) / 2)
        items[at] = items[(at - 1) / 2];
    items[at] = item;
    return 0;
}

struct critical_heap_item critical_heap_pop(struct critical_heap *heap)
{
    struct critical_heap_item *items = heap->items.items, least = items[0];
    size_t count = --heap->items.count, at = 0;
    const struct critical_heap_item last = items[count];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_less(&items[child + 1], &items[child]);
        if (!is_less(&items[child], &last))
            break;
        items[at] = items[child];
    }
    items[at] = last;
    return least;
}

/* --- calls --- */

uint32_t critical_call_before(struct critical_graph *graph, uint32_t number, int64_t time)
{
    if (number >= graph->threads.count || graph->threads.items[number].count == 0)
        return CRITICAL_NONE;
    struct critical_thread *thread = &graph->threads.items[number];
    const struct critical_call *calls = &graph->calls.items[thread->first];
    thread->recent = COUNT_BEFORE_NEAR(thread->recent, thread->count, i, calls[i].start < time);
    return thread->recent == 0 ? CRITICAL_NONE : (uint32_t)(thread->first + thread->recent - 1);
}

uint32_t critical_launched_by(const struct critical_graph *graph, uint32_t number, int64_t time)
{
    const struct critical_stream *stream = &graph->streams.items[number];
    size_t count = COUNT_BEFORE(stream->ops.count, i, graph->ops.items[stream->ops.items[i]].called <= time);
    return count ? stream->ops.items[count - 1] : CRITICAL_NONE;
}

/* --- operations --- */

struct loading {
    struct critical_graph *graph;
    struct critical_heap running; /* the GPU's operations that may still run, by their ends */
    uint32_t recent[RECENT];      /* a ring of the operations that ended last */
    size_t ended;                 /* the number of operations that ended so far */
    uint32_t before;              /* the operation that ended last; CRITICAL_NONE: none */
};

/* Records the operations of OP's graph on which OP may depend: the last that ended before OP, and earlier ones that no
 * operation has followed. Returns 0, or -1: no memory. */
static int find_within(struct loading *loading, const struct critical_op *op, uint32_t number)
{
    struct critical_graph *graph = loading->graph;
    size_t count = loading->ended < RECENT ? loading->ended : RECENT;
    bool any = false;
    for (size_t i = 1; i <= count; i++) {
        uint32_t other = loading->recent[(loading->ended - i) % RECENT];
        struct critical_op *ended = &graph->ops.items[other];
        if (!ended->graph || !op->graph || ended->call != op->call || op->call == CRITICAL_NONE)
            continue;
        if (any && ended->followed)
            break;
        any = ended->followed = true;
        if (!ADD(file_vector_push, &graph->within, (struct critical_within){other, number}))
            return -1;
    }
    return 0;
}

bool critical_is_legacy_of(const struct critical_graph *graph, uint32_t a, uint32_t b)
{
    const struct trace_stream_id *one = trace_stream_id(graph->trace, a), *other = trace_stream_id(graph->trace, b);
    return one->stream == CRITICAL_LEGACY_STREAM && other->stream != one->stream && one->process == other->process &&
           one->device == other->device && one->context == other->context;
}

static struct critical_stream *find_stream(struct critical_graph *graph, const struct timeline_op *op)
{
    while (graph->streams.count <= op->stream) {
        struct critical_stream *added = array_push(&graph->streams);
        if (!added)
            return NULL;
        added->ops.memory.directory = temporary_directory();
        added->device = added->process = CRITICAL_NONE;
    }
    struct critical_stream *stream = &graph->streams.items[op->stream];
    stream->device = op->device;
    if (stream->process == CRITICAL_NONE && op->thread != LAUNCHED_NO_THREAD)
        stream->process = graph->trace->threads.items[op->thread].process;
    return stream;
}

/* Joins OP, whose index is NUMBER, with its call. */
static void find_call(struct critical_graph *graph, struct critical_op *op, int64_t returned, uint32_t number)
{
    if (op->thread == LAUNCHED_NO_THREAD)
        return;
    op->call = critical_call_before(graph, op->thread, op->called + 1);
    if (op->call == CRITICAL_NONE || graph->calls.items[op->call].end < returned) {
        op->call = CRITICAL_NONE;
        op->thread = LAUNCHED_NO_THREAD;
        return;
    }
    struct critical_call *call = &graph->calls.items[op->call];
    op->called = call->start;
    if (call->op == CRITICAL_NONE || op->end > graph->ops.items[call->op].end)
        call->op = number;
}

static int add_op(struct loading *loading, const struct timeline_op *from)
{
    struct critical_graph *graph = loading->graph;
    struct critical_stream *stream = find_stream(graph, from);
    struct critical_op *op = stream ? file_vector_push(&graph->ops) : NULL;
    uint32_t *last = op ? file_vector_push(&stream->ops) : NULL;
    if (!last || graph->ops.count >= CRITICAL_NONE)
        return -1;
    uint32_t number = (uint32_t)(graph->ops.count - 1);
    bool known = from->thread != LAUNCHED_NO_THREAD;
    uint32_t previous = stream->ops.count > 1 ? last[-1] : CRITICAL_NONE;
    int64_t earliest = previous == CRITICAL_NONE ? graph->trace->start : graph->ops.items[previous].called;
    *last = number;
    *op = (struct critical_op){
        .start = from->start,
        .end = from->end,
        .called = known ? from->called : earliest,
        .thread = from->thread,
        .stream = from->stream,
        .name = from->name,
        .previous = previous,
        .decider = CRITICAL_NONE,
        .call = CRITICAL_NONE,
        .edges = CRITICAL_NONE,
        .category = from->category,
        .graph = from->kind == CALL_GRAPH_LAUNCH,
    };
    find_call(graph, op, from->returned, number);
    /* Remove the operations that ended before OP started. */
    while (loading->running.items.count > 0 && loading->running.items.items[0].key <= op->start) {
        loading->before = critical_heap_pop(&loading->running).value;
        loading->recent[loading->ended++ % RECENT] = loading->before;
    }
    /* Mark streams that run at the same time as the legacy default stream of their context. */
    for (size_t i = 0; i < loading->running.items.count && i < RECENT; i++) {
        uint32_t other = graph->ops.items[loading->running.items.items[i].value].stream;
        if (critical_is_legacy_of(graph, other, op->stream))
            graph->streams.items[op->stream].beside = true;
        else if (critical_is_legacy_of(graph, op->stream, other))
            graph->streams.items[other].beside = true;
    }
    op->decider = loading->before; /* for critical_graph_decide() */
    if (op->graph && find_within(loading, op, number) < 0)
        return -1;
    int64_t emptied = op->previous == CRITICAL_NONE ? INT64_MIN : graph->ops.items[op->previous].end;
    if (known && emptied <= op->called && op->start >= op->called &&
        histogram_add(&graph->latencies, op->start - op->called) < 0)
        return -1;
    return critical_heap_push(&loading->running, (struct critical_heap_item){.key = op->end, .value = number});
}

static int load_op(struct loading *loading, const struct timeline_op *op)
{
    struct critical_graph *graph = loading->graph;
    size_t count = graph->devices.count;
    if (count == 0 || graph->devices.items[count - 1].device != op->device) {
        const struct critical_device added = {.first = graph->ops.count, .device = op->device};
        if (!ADD(array_push, &graph->devices, added))
            return -1;
        loading->running.items.count = 0;
        loading->ended = 0;
        loading->before = CRITICAL_NONE;
    }
    graph->devices.items[graph->devices.count - 1].count++;
    int status = add_op(loading, op);
    critical_graph_evict(graph, graph->ops.count);
    return status;
}

static int load_call(struct critical_graph *graph, const struct host_call *call)
{
    const struct critical_call added = {.start = call->start,
                                        .end = call->end,
                                        .name = call->name,
                                        .op = CRITICAL_NONE,
                                        .waited = CRITICAL_NONE,
                                        .kind = call->kind};
    struct critical_thread *thread = array_at(&graph->threads, call->thread);
    if (!thread || !ADD(file_vector_push, &graph->calls, added))
        return -1;
    critical_graph_evict(graph, graph->calls.count);
    if (thread->count++ == 0)
        thread->first = graph->calls.count - 1;
    return 0;
}

int critical_graph_load(struct critical_graph *graph, const struct trace *trace)
{
    graph->trace = trace;
    graph->ops.memory.directory = graph->calls.memory.directory = temporary_directory();
    graph->edges.memory.directory = graph->within.memory.directory = temporary_directory();
    struct loading loading = {.graph = graph};
    const struct host_call *call;
    const struct timeline_op *op;
    int status = HOST_CALLS_EACH(&trace->host_calls, call, load_call(graph, call))
                     ?: SORTER_EACH(&trace->timeline, op, load_op(&loading, op));
    array_release(&loading.running.items);
    graph->latency =
        graph->latencies.total ? histogram_rank(&graph->latencies, graph->latencies.total / 2) : CRITICAL_HELD_AFTER;
    graph->latency = graph->latency < CRITICAL_HELD_AFTER ? graph->latency : CRITICAL_HELD_AFTER;
    return status;
}
