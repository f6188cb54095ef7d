/*
 * One walk over the timeline finds the gaps of each GPU. The operation that ends a gap decides its cause: if it was
 * launched late, idle_host.h divides the gap; if it was queued, it waited for its stream, an event or something
 * unknown.
 */
#include "analysis/idle/idle_gaps.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"
#include "analysis/names/name_facts.h"

/* --- waits of streams for events, from records of waits or from API calls. Queries come in the order of the records
 * (calls), so one walk answers them --- */

struct record {
    struct trace_stream_id stream;
    int64_t time; /* of the call that made the stream wait, ns */
    int64_t waits_on;
};

static int stream_order(const struct trace_stream_id *a, const struct trace_stream_id *b)
{
    return ORDER(a->process, b->process) ?: ORDER(a->device, b->device) ?: ORDER(a->context, b->context)
           ?: ORDER(a->stream, b->stream);
}

ORDER_WITH(by_stream_and_time, struct record, stream_order(&a->stream, &b->stream) ?: ORDER(a->time, b->time)
           ?: ORDER(a->waits_on, b->waits_on))

/* --- the streams, in the order of the records --- */

static int by_stream_id(const void *left, const void *right, void *context)
{
    const uint32_t *a = left, *b = right;
    return stream_order(trace_stream_id(context, *a), trace_stream_id(context, *b));
}

static int rank_streams(struct idle_waits *waits)
{
    size_t count = waits->trace->streams.count;
    uint32_t *order = calloc(count + 1, sizeof(*order));
    free(waits->ranks);
    waits->ranks = calloc(count + 1, sizeof(*waits->ranks));
    bool made = order && waits->ranks;
    for (size_t i = 0; made && i < count; i++)
        order[i] = (uint32_t)i;
    if (made)
        qsort_r(order, count, sizeof(*order), by_stream_id, (void *)(uintptr_t)waits->trace);
    for (size_t i = 0; made && i < count; i++)
        waits->ranks[order[i]] = (uint32_t)i;
    free(order);
    return made ? 0 : -1;
}

/* --- records --- */

static void read_record(struct idle_waits *waits)
{
    const struct record *record = waits->next;
    const struct trace_stream_id last = record ? record->stream : (struct trace_stream_id){0};
    bool any = record;
    waits->next = record = sorter_next(&waits->walk);
    if (record && (!any || stream_order(&record->stream, &last) != 0)) {
        /* The key is EVENT_NO_TEXT if nothing ran on the stream. */
        uint32_t stream = dense_map_lookup(&waits->trace->stream_ids, &record->stream, sizeof(record->stream));
        waits->next_key = stream == DENSE_MAP_NONE ? EVENT_NO_TEXT : waits->ranks[stream];
    }
}

static const struct idle_wait *find_record(struct idle_waits *waits, const struct idle_launch *launch)
{
    if (waits->key != launch->key)
        waits->time = FIELD_ABSENT;
    waits->key = launch->key;
    for (const struct record *record; (record = waits->next); read_record(waits)) {
        bool is_own = waits->next_key == launch->key;
        if (waits->next_key != EVENT_NO_TEXT && waits->next_key >= launch->key &&
            !(is_own && record->time <= launch->called))
            break;
        if (is_own) {
            waits->time = record->time;
            waits->found.stream = record->waits_on;
        }
    }
    return waits->time != FIELD_ABSENT && waits->time > launch->called_before ? &waits->found : NULL;
}

/* --- calls --- */

static void read_launch(struct idle_waits *waits)
{
    const struct host_call *call;
    while ((waits->next = call = host_calls_next(&waits->calls))) {
        enum call_kind kind = (enum call_kind)call->kind;
        bool called = waits->called && waits->next_key == call->thread;
        waits->next_key = call->thread;
        waits->called = kind == CALL_WAIT_EVENT || (called && !call_kind_launches(kind));
        if (called && call_kind_launches(kind))
            return;
    }
}

static const struct idle_wait *find_launch(struct idle_waits *waits, const struct idle_launch *launch)
{
    const struct host_call *call;
    for (; (call = waits->next); read_launch(waits))
        if (waits->next_key > launch->key || (waits->next_key == launch->key && call->start >= launch->called))
            break;
    waits->found.stream = FIELD_ABSENT;
    bool found = call && waits->next_key == launch->key && call->start == launch->called;
    return found && launch->called_before != launch->called ? &waits->found
                                                            : NULL; /* of a graph, only the first operation waits */
}

/* --- */

/* Begins a series of queries, after trace_finish(), and sets `of`. If `of` is NONE, there are no waits, and find_wait()
 * may not be called. Returns 0, or -1: no memory. */
static int begin_waits(struct idle_waits *waits, const struct trace *trace)
{
    const struct call_kinds *kinds = &trace->call_kinds;
    waits->trace = trace;
    waits->of = waits->records.count > 0 ? IDLE_WAITS_RECORDS : IDLE_WAITS_NONE;
    for (size_t i = 0; waits->of == IDLE_WAITS_NONE && i < kinds->items.count; i++)
        waits->of = kinds->items.items[i] == CALL_WAIT_EVENT + 1 ? IDLE_WAITS_CALLS : IDLE_WAITS_NONE;
    int status = sorter_ready(&waits->records);
    if (status == 0 && waits->of == IDLE_WAITS_RECORDS)
        status = rank_streams(waits);
    if (status < 0)
        return status;
    sorter_walk_begin(&waits->walk, &waits->records);
    host_calls_walk_begin(&waits->calls, &trace->host_calls);
    if (waits->of == IDLE_WAITS_RECORDS)
        read_record(waits);
    else if (waits->of == IDLE_WAITS_CALLS)
        read_launch(waits);
    return 0;
}

/* Returns the wait of LAUNCH's stream between the launch before and this launch, or NULL. Queries come by key, then by
 * call. The result is valid until the next query. */
static const struct idle_wait *find_wait(struct idle_waits *waits, const struct idle_launch *launch)
{
    return waits->of == IDLE_WAITS_RECORDS ? find_record(waits, launch) : find_launch(waits, launch);
}

/* --- gaps --- */

struct thread_phase {
    event_id process;
    int64_t thread, start, end;
    uint32_t name;
};

struct gap {
    int64_t start, end;
    int64_t called, returned; /* of the launch of the operation that ends the gap; FIELD_ABSENT: not known */
    int64_t ended_before;     /* end of the operation before that one in its stream; FIELD_ABSENT: none */
    struct idle_launch launch;
    uint32_t device, thread, call;
    uint32_t last_stream; /* number of the stream of the operation before the gap */
    bool copied;          /* a copy of pageable memory, which the driver first copies itself, ends the gap */
};

ORDER_BY(by_thread, struct thread_phase, process, thread, start, end, name)
ORDER_BY(by_key_and_call, struct gap, launch.key, called, start)

/* Initialises the sorters that are filled after the last event. */
static void init_found(struct idle_gaps *gaps, struct sorter_space *space)
{
    sorter_init(&gaps->asked, space, sizeof(struct gap), by_key_and_call);
    idle_host_init(&gaps->host, space);
}

static void release_found(struct idle_gaps *gaps)
{
    sorter_release(&gaps->asked);
    idle_host_release(&gaps->host);
}

void idle_gaps_init(void *causes, const struct trace *trace)
{
    struct idle_gaps *gaps = &((struct idle_causes *)causes)->gaps;
    gaps->waits = (struct idle_waits){.time = FIELD_ABSENT};
    sorter_init(&gaps->waits.records, trace->space, sizeof(struct record), by_stream_and_time);
    sorter_init(&gaps->phases, trace->space, sizeof(struct thread_phase), by_thread);
    init_found(gaps, trace->space);
}

void idle_gaps_release(void *causes)
{
    struct idle_gaps *gaps = &((struct idle_causes *)causes)->gaps;
    idle_release(causes);
    sorter_release(&gaps->waits.records);
    free(gaps->waits.ranks);
    sorter_release(&gaps->phases);
    release_found(gaps);
}

int idle_gaps_event(void *causes, const struct trace *trace, const struct event_fields *event)
{
    struct idle_gaps *gaps = &((struct idle_causes *)causes)->gaps;
    if (event->phase != 'X')
        return 0;
    if (event->category == CATEGORY_COMPILATION) {
        const struct thread_phase phase = {event->process, event->of_thread, event->start,
                                           event->start + event->duration, event->name};
        return event->of_thread == FIELD_ABSENT ? 0 : sorter_add(&gaps->phases, &phase);
    }
    /* The event is a record of CUDA_SYNC. */
    if (event->name == EVENT_NO_TEXT || strcmp(interned(&trace->strings, event->name), "Stream Wait Event") != 0)
        return 0;
    const struct record record = {
        {event->process, trace_event_device(event), event_gpu(event)->context, event_gpu(event)->stream},
        event->start,
        event_wait(event)->stream};
    return sorter_add(&gaps->waits.records, &record);
}

/* --- causes of gaps --- */

/* The walk over the operations. */
struct gap_walk {
    struct idle_gaps *gaps;
    struct idle *idle;
    const struct trace *trace;
    int64_t from, to; /* only gaps from `from` to `to` count */
    /* State of the walk on the current GPU: */
    bool any;
    uint32_t device, last_thread;
    int64_t until; /* the latest end of the operations so far */
    struct idle_neighbour last;
    ARRAY(struct stream_last) streams;
    struct name_facts names;
};

/* The last operation of a stream. */
struct stream_last {
    bool any;
    int64_t called, end;
};

static int add_whole(struct gap_walk *walk, const struct gap *gap, struct idle_what what)
{
    struct idle_gap *largest = idle_find(walk->idle, gap->device, gap->start, gap->end);
    return idle_add(walk->idle, &what, gap->start, gap->start, gap->end - gap->start, largest);
}

static uint32_t stream_number(int64_t stream)
{
    return stream >= 0 && stream < EVENT_NO_TEXT ? (uint32_t)stream : EVENT_NO_TEXT;
}

/* Decides the causes of a gap. WAIT is the wait of the stream between the launches of the operation that ends the gap
 * and of the operation before that in its stream; NULL: none. Returns 0, or -1: no memory. */
static int decide(struct gap_walk *walk, const struct gap *gap, const struct idle_wait *wait)
{
    if (gap->thread == LAUNCHED_NO_THREAD)
        return add_whole(walk, gap, IDLE_WHAT(gap->device, IDLE_UNKNOWN));
    bool empty =
        gap->ended_before == FIELD_ABSENT || gap->ended_before <= gap->called; /* the stream was empty at the launch */
    if (gap->returned > gap->start || (empty && gap->end - gap->called <= IDLE_LATENCY)) {
        /* The operation was launched in the gap, or its launch had not returned when the gap began. */
        struct idle_host_gap host = {.start = gap->start,
                                     .called = gap->called > gap->start ? gap->called : gap->start,
                                     .held = gap->end,
                                     .end = gap->end,
                                     .thread = gap->thread,
                                     .launch = gap->copied ? IDLE_COPY : IDLE_LAUNCH,
                                     .what = IDLE_WHAT(gap->device, IDLE_LAUNCH)};
        host.called = host.called < gap->end ? host.called : gap->end;
        host.what.call = gap->call;
        int64_t waited = gap->end - gap->returned;
        bool held = wait ? waited > 0 && gap->end - gap->called > IDLE_LATENCY : waited > IDLE_HELD_AFTER;
        if (held) {
            host.held = gap->returned > host.called ? gap->returned : host.called;
            host.what.cause = wait ? IDLE_EVENT : IDLE_HELD;
            host.what.stream = wait ? stream_number(wait->stream) : EVENT_NO_TEXT;
        }
        return sorter_add(&walk->gaps->host.gaps, &host);
    }
    struct idle_what what = IDLE_WHAT(gap->device, IDLE_BETWEEN);
    if (wait) {
        what.cause = IDLE_EVENT;
        what.stream = stream_number(wait->stream);
    } else if (gap->end - gap->start > IDLE_HELD_AFTER) {
        what.cause = IDLE_HELD;
    } else if (gap->ended_before != gap->start) {
        what.cause = IDLE_STREAM;
        what.stream = gap->last_stream;
    }
    return add_whole(walk, gap, what);
}

/* --- the walk over the operations --- */

/* Cuts GAP to the time from walk->from to walk->to. Returns whether anything is left. */
static bool clip(const struct gap_walk *walk, struct gap *gap)
{
    gap->start = gap->start > walk->from ? gap->start : walk->from;
    gap->end = gap->end < walk->to ? gap->end : walk->to;
    return gap->end > gap->start;
}

static void offer(struct gap_walk *walk, const struct gap *gap, struct idle_neighbour after)
{
    const struct idle_gap one = {.start = gap->start,
                                 .end = gap->end,
                                 .device = gap->device,
                                 .thread = gap->thread,
                                 .before = walk->last,
                                 .after = after,
                                 .activity = EVENT_NO_TEXT};
    idle_offer(walk->idle, &one);
}

static int add_gap(struct gap_walk *walk, const struct timeline_op *op, const struct stream_last *stream)
{
    const struct trace *trace = walk->trace;
    struct gap gap = {
        .start = walk->until,
        .end = op->start,
        .called = op->called,
        .returned = op->returned,
        .launch = {.called = op->called, .called_before = stream->any ? stream->called : FIELD_ABSENT},
        .ended_before = stream->any ? stream->end : FIELD_ABSENT,
        .device = op->device,
        .thread = op->thread,
        .call = op->call,
        .last_stream = stream_number(trace_stream_id(trace, walk->last.stream)->stream),
        .copied = op->category == CATEGORY_GPU_MEMCPY && op->called != FIELD_ABSENT &&
                  op->start - op->called > IDLE_LATENCY &&
                  name_facts_find(&walk->names, &trace->strings, op->name) & NAME_PAGEABLE,
    };
    if (!clip(walk, &gap))
        return 0;
    offer(walk, &gap, (struct idle_neighbour){op->name, op->stream});
    if (walk->gaps->waits.of == IDLE_WAITS_NONE || op->thread == LAUNCHED_NO_THREAD)
        return decide(walk, &gap, NULL);
    const struct idle_waits *waits = &walk->gaps->waits;
    gap.launch.key = waits->of == IDLE_WAITS_RECORDS ? waits->ranks[op->stream] : op->thread;
    return sorter_add(&walk->gaps->asked, &gap);
}

/* Adds the time before the first or after the last operation of a GPU. Returns 0, or -1: no memory. */
static int add_edge(struct gap_walk *walk, enum idle_cause cause, struct gap *gap, struct idle_neighbour after)
{
    if (!clip(walk, gap))
        return 0;
    offer(walk, gap, after);
    const struct idle_host_gap host = {.start = gap->start,
                                       .called = gap->end,
                                       .held = gap->end,
                                       .end = gap->end,
                                       .thread = gap->thread,
                                       .what = IDLE_WHAT(gap->device, cause)};
    if (gap->thread == LAUNCHED_NO_THREAD)
        return add_whole(walk, gap, host.what);
    return sorter_add(&walk->gaps->host.gaps, &host);
}

static int end_device(struct gap_walk *walk)
{
    struct gap gap = {
        .start = walk->until, .end = walk->trace->end, .device = walk->device, .thread = walk->last_thread};
    return walk->any ? add_edge(walk, IDLE_AFTER, &gap, (struct idle_neighbour){EVENT_NO_TEXT, EVENT_NO_TEXT}) : 0;
}

static int add_op(struct gap_walk *walk, const struct timeline_op *op)
{
    if (!walk->any || op->device != walk->device) {
        struct gap gap = {.start = walk->trace->start, .end = op->start, .device = op->device, .thread = op->thread};
        if (end_device(walk) < 0)
            return -1;
        walk->any = true;
        walk->device = op->device;
        walk->until = op->start;
        walk->last = (struct idle_neighbour){EVENT_NO_TEXT, EVENT_NO_TEXT};
        if (add_edge(walk, IDLE_BEFORE, &gap, (struct idle_neighbour){op->name, op->stream}) < 0)
            return -1;
    }
    if (op->thread != LAUNCHED_NO_THREAD && op->start >= walk->from && op->start < walk->to &&
        idle_add_launched(walk->idle, op->device, op->end - op->start) < 0)
        return -1;
    struct stream_last *stream = array_at(&walk->streams, op->stream);
    if (!stream || (op->start > walk->until && add_gap(walk, op, stream) < 0))
        return -1;
    if (op->end >= walk->until) {
        walk->until = op->end;
        walk->last = (struct idle_neighbour){op->name, op->stream};
        walk->last_thread = op->thread;
    }
    if (!stream->any || op->end > stream->end)
        stream->end = op->end;
    if (!stream->any || op->called > stream->called)
        stream->called = op->called;
    stream->any = true;
    return 0;
}

/* --- phases --- */

static int pass_phases(struct gap_walk *walk)
{
    const struct trace *trace = walk->trace;
    struct sorter_walk phases;
    const struct thread_phase *phase;
    struct thread_phase last = {.thread = FIELD_ABSENT};
    int64_t thread = FIELD_ABSENT;
    int status = sorter_ready(&walk->gaps->phases);
    if (status < 0)
        return status;
    sorter_walk_begin(&phases, &walk->gaps->phases);
    while (status == 0 && (phase = sorter_next(&phases))) {
        if (phase->process != last.process || phase->thread != last.thread)
            thread = trace_find_thread(trace, phase->process, phase->thread);
        last = *phase;
        const struct idle_host_phase one = {
            .start = phase->start,
            .end = phase->end,
            .thread = (uint32_t)thread,
            .cause =
                strncmp(trace_text(trace, phase->name), "Graph", strlen("Graph")) == 0 ? IDLE_GRAPH : IDLE_COMPILATION,
            .name = phase->name};
        if (thread != FIELD_ABSENT)
            status = sorter_add(&walk->gaps->host.phases, &one);
    }
    return sorter_walk_end(&phases) ?: status;
}

static int find_gaps(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace, int64_t from, int64_t to)
{
    struct gap_walk walk = {.gaps = gaps, .idle = idle, .trace = trace, .from = from, .to = to};
    idle->run = trace_span(trace);
    idle->gaps = gaps;
    int status = begin_waits(&gaps->waits, trace);
    if (status < 0)
        return status;
    const struct timeline_op *op;
    const struct gap *gap;
    status = SORTER_EACH(&trace->timeline, op, add_op(&walk, op)) ?: end_device(&walk);
    status = status ?: sorter_ready(&gaps->asked);
    status = status ?: SORTER_EACH(&gaps->asked, gap, decide(&walk, gap, find_wait(&gaps->waits, &gap->launch)));
    int walked = sorter_walk_end(&gaps->waits.walk), called = host_calls_walk_end(&gaps->waits.calls);
    status = status ?: walked ?: called ?: pass_phases(&walk);
    array_release(&walk.streams);
    array_release(&walk.names.items);
    return status ? status : idle_host_finish(&gaps->host, idle, trace);
}

int idle_gaps_gather(void *causes, const struct trace *trace)
{
    struct idle *idle = causes;
    if (trace->ranks.count > 0)
        idle_record_intervals(idle, trace->space);
    int status = find_gaps(&((struct idle_causes *)causes)->gaps, idle, trace, INT64_MIN, INT64_MAX);
    return status == 0 && idle->has_intervals ? sorter_ready(&idle->intervals) : status;
}

int idle_gaps_again(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace, int64_t from, int64_t to)
{
    release_found(gaps);
    init_found(gaps, trace->space);
    return find_gaps(gaps, idle, trace, from, to);
}
