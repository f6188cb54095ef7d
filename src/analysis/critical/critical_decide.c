/*
 * Of all operations that an operation may have waited for, the latest to end decided its start, if the start is soon
 * after that end and not soon after the launch. The operation that decided the end of a call follows from CUPTI's
 * record, or from what the function does.
 */
#include "analysis/critical/critical_decide.h"

#include <stddef.h>
#include <string.h>

#include "common/array.h"
#include "analysis/engine/timeline.h"
#include "common/memory.h"
#include "analysis/engine/trace_known.h"

/* --- what streams and calls waited for. Two joins by correlation id find the call that recorded the event, and the
 * call that waited --- */

enum sync_kind { SYNC_STREAM_WAITS, SYNC_OF_EVENT, SYNC_OF_STREAM, SYNC_OF_DEVICE };

struct sync_record {
    int64_t correlation, time;
    int64_t recorded; /* correlation id of the call that recorded the event; FIELD_ABSENT: not known */
    int64_t marked;   /* when the recording call began; FIELD_ABSENT: not known */
    int64_t on;       /* number of the awaited stream */
    struct trace_stream_id stream;
    enum sync_kind kind;
};

ORDER_BY(by_recorded, struct sync_record, recorded, time, correlation)
ORDER_BY(by_correlation, struct sync_record, correlation, time, recorded)
ORDER_BY(by_stream_and_time, struct critical_wait, stream, time, on, marked)
ORDER_BY(by_thread_and_time, struct critical_sync, thread, time, on, marked)

void critical_syncs_init(struct critical_syncs *syncs, struct sorter_space *space)
{
    sorter_init(&syncs->marked, space, sizeof(struct sync_record), by_recorded);
    sorter_init(&syncs->records, space, sizeof(struct sync_record), by_correlation);
}

void critical_syncs_release(struct critical_syncs *syncs)
{
    sorter_release(&syncs->marked);
    sorter_release(&syncs->records);
    file_vector_release(&syncs->waits);
    file_vector_release(&syncs->calls);
}

/* Returns FIELD_ABSENT for CUPTI's "none": -1 in 64 or 32 bits, or a correlation id less than LEAST. */
static int64_t known(int64_t number, int64_t least)
{
    return number >= least && number < UINT32_MAX ? number : FIELD_ABSENT;
}

int critical_syncs_event(struct critical_syncs *syncs, const struct trace *trace, const struct event_fields *event)
{
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    static const char *const names[] = {
        [SYNC_STREAM_WAITS] = "Stream Wait Event", [SYNC_OF_EVENT] = "Event Sync", [SYNC_OF_STREAM] = "Stream Sync"};
    enum sync_kind kind = 0;
    while (kind < SYNC_OF_DEVICE && strcmp(interned(&trace->strings, event->name), names[kind]) != 0)
        kind++;
    struct sync_record record = {
        .correlation = event->correlation,
        .time = event->start,
        .recorded = known(event_wait(event)->correlation, 1),
        .marked = FIELD_ABSENT,
        .on = known(event_wait(event)->stream, 0),
        .stream = {event->process, trace_event_device(event), event_gpu(event)->context, event_gpu(event)->stream},
        .kind = kind,
    };
    if (record.kind == SYNC_OF_STREAM)
        record.on = event_gpu(event)->stream;
    return sorter_add(record.recorded == FIELD_ABSENT ? &syncs->records : &syncs->marked, &record);
}

/* --- */

/* Returns the index of a stream with this NUMBER, or EVENT_NO_TEXT. Prefers a stream of the context of ID. A stream of
 * another process is not returned, if the processes are known. */
static uint32_t find_stream(const struct trace *trace, const struct trace_stream_id *id, int64_t number)
{
    const uint32_t owner = trace_gpu_row_owner(trace, id->process);
    uint32_t found = EVENT_NO_TEXT;
    for (size_t i = 0; number != FIELD_ABSENT && i < trace->streams.count; i++) {
        const struct trace_stream_id *one = trace_stream_id(trace, i);
        if (one->stream != number || (owner != CALLS_ANY_PROCESS && trace->stream_owners.items[i] != owner))
            continue;
        if (one->process == id->process && one->device == id->device && one->context == id->context)
            return (uint32_t)i;
        found = found == EVENT_NO_TEXT ? (uint32_t)i : found;
    }
    return found;
}

/* Adds the record to syncs->records, with the time of the call that recorded the event. */
static int mark(struct critical_syncs *syncs, const struct trace *trace, const struct sync_record *record,
                const struct call *call)
{
    struct sync_record marked = *record;
    marked.marked = call ? call->start : FIELD_ABSENT;
    return sorter_add(&syncs->records, &marked);
}

static int add_record(struct critical_syncs *syncs, const struct trace *trace, const struct sync_record *record,
                      const struct call *call)
{
    if (record->kind == SYNC_STREAM_WAITS) {
        const struct critical_wait wait = {
            .time = call ? call->start : record->time,
            .marked = record->marked,
            .stream = find_stream(trace, &record->stream, record->stream.stream),
            .on = find_stream(trace, &record->stream, record->on),
        };
        bool known = wait.stream != EVENT_NO_TEXT && wait.on != EVENT_NO_TEXT;
        return !known || ADD(file_vector_push, &syncs->waits, wait) ? 0 : -1;
    }
    if (!call)
        return 0;
    const uint32_t on = find_stream(trace, &record->stream, record->on);
    if (record->kind == SYNC_OF_EVENT && on == EVENT_NO_TEXT)
        return 0;
    const struct critical_sync sync = {
        .time = call->start,
        .marked = record->marked,
        .thread = call->thread,
        .on = on,
        .device = record->stream.device,
        .nothing = record->kind == SYNC_OF_STREAM && on == EVENT_NO_TEXT,
    };
    return ADD(file_vector_push, &syncs->calls, sync) ? 0 : -1;
}

/* Joins the records of SORTER with calls of their processes by the correlation id at offset ID of a record, and calls
 * EACH for each record. */
static int join_records(struct critical_syncs *syncs, const struct trace *trace, struct sorter *sorter, size_t id,
                        int (*each)(struct critical_syncs *syncs, const struct trace *trace,
                                    const struct sync_record *record, const struct call *call))
{
    struct calls_join join;
    const struct sync_record *record;
    int status = sorter_ready(sorter);
    if (status < 0)
        return status;
    calls_join_begin(&join, &trace->calls);
    status = SORTER_EACH(sorter, record,
                         each(syncs, trace, record,
                              calls_join_find(&join, *(const int64_t *)((const char *)record + id), record->time,
                                              trace_gpu_row_owner(trace, record->stream.process))));
    int joined = calls_join_end(&join);
    return status ?: joined;
}

int critical_syncs_finish(struct critical_syncs *syncs, const struct trace *trace)
{
    syncs->waits.memory.directory = syncs->calls.memory.directory = temporary_directory();
    if (syncs->marked.count == 0 && syncs->records.count == 0)
        return 0;
    return join_records(syncs, trace, &syncs->marked, offsetof(struct sync_record, recorded), mark)
               ?: join_records(syncs, trace, &syncs->records, offsetof(struct sync_record, correlation), add_record)
               ?: file_vector_sort(&syncs->waits, by_stream_and_time)
               ?: file_vector_sort(&syncs->calls, by_thread_and_time);
}

/* --- decisions --- */

/* If an operation starts later than this without a recorded reason, something that is not recorded held it; ns. */
#define HELD_LONG 1000000
/* The largest difference between the clocks of host and GPU; ns. */
#define CLOCKS 20000
/* The time within which a thread that waited for an operation returns; ns. */
#define WAKE 100000

/* With more streams than this, pairs of streams are not compared. */
#define BARRIER_STREAMS 64

/* Indices of a legacy default stream and a stream of its context: each waits for the other. */
struct barrier {
    uint32_t legacy, stream;
};

struct deciding {
    struct critical_graph *graph;
    const struct critical_syncs *syncs;
    ARRAY(struct barrier) barriers;
    ARRAY(size_t) next_waits; /* by stream: index in syncs->waits */
    size_t next_within;       /* in graph->within */
    size_t next_sync;         /* in syncs->calls */
};

/* --- operations --- */

/* The dependency of an operation that ended last, of those considered so far. */
struct latest {
    uint32_t op; /* CRITICAL_NONE: there is none */
    int64_t end;
};

static void consider(const struct critical_graph *graph, struct latest *latest, uint32_t candidate, uint32_t op)
{
    if (candidate == CRITICAL_NONE || !critical_is_before(graph, candidate, op))
        return;
    int64_t end = graph->ops.items[candidate].end, start = graph->ops.items[op].start;
    end = end < start ? end : start;
    if (latest->op == CRITICAL_NONE || end > latest->end)
        *latest = (struct latest){candidate, end};
}

static int add_edge(struct critical_graph *graph, uint32_t from, uint32_t to)
{
    struct critical_op *op = &graph->ops.items[to];
    if (!ADD(file_vector_push, &graph->edges, (struct critical_edge){from, op->edges}) ||
        graph->edges.count >= CRITICAL_NONE)
        return -1;
    op->edges = (uint32_t)(graph->edges.count - 1);
    return 0;
}

/* Considers the events for which the stream of operation NUMBER was made to wait since the operation before it. Returns
 * 0, or -1: no memory. */
static int consider_waits(struct deciding *deciding, struct latest *latest, uint32_t number)
{
    struct critical_graph *graph = deciding->graph;
    const struct critical_op *op = &graph->ops.items[number];
    const int64_t launched = op->thread == LAUNCHED_NO_THREAD ? op->start : op->called;
    size_t *next = &deciding->next_waits.items[op->stream];
    for (; *next < deciding->syncs->waits.count; ++*next) {
        const struct critical_wait *wait = &deciding->syncs->waits.items[*next];
        if (wait->stream != op->stream || wait->time > launched)
            break;
        if (wait->on == wait->stream || wait->on >= graph->streams.count)
            continue;
        uint32_t other =
            critical_launched_by(graph, wait->on, wait->marked != FIELD_ABSENT ? wait->marked : wait->time);
        if (other == CRITICAL_NONE || graph->ops.items[other].end > op->start + CRITICAL_HELD_AFTER)
            continue;
        consider(graph, latest, other, number);
        if (add_edge(graph, other, number) < 0)
            return -1;
    }
    return 0;
}

/* Considers the last operations of streams that operation NUMBER waits for, because the legacy default stream and the
 * other streams of its context wait for each other. Returns 0, or -1: no memory. */
static int consider_barriers(struct deciding *deciding, struct latest *latest, uint32_t number)
{
    struct critical_graph *graph = deciding->graph;
    const struct critical_op *op = &graph->ops.items[number];
    for (size_t i = 0; i < deciding->barriers.count; i++) {
        const struct barrier *barrier = &deciding->barriers.items[i];
        if (barrier->legacy != op->stream && barrier->stream != op->stream)
            continue;
        uint32_t stream = barrier->legacy == op->stream ? barrier->stream : barrier->legacy;
        uint32_t other = critical_launched_by(graph, stream, op->called);
        if (other == CRITICAL_NONE || graph->ops.items[other].end > op->start + CRITICAL_HELD_AFTER ||
            (op->previous != CRITICAL_NONE && graph->ops.items[other].called <= graph->ops.items[op->previous].called))
            continue;
        consider(graph, latest, other, number);
        if (add_edge(graph, other, number) < 0)
            return -1;
    }
    return 0;
}

/* Lists the pairs of streams that wait for each other. With more than BARRIER_STREAMS streams there are none, and only
 * times decide. */
static int find_barriers(struct deciding *deciding)
{
    const struct critical_graph *graph = deciding->graph;
    for (uint32_t a = 0; graph->streams.count <= BARRIER_STREAMS && a < graph->streams.count; a++)
        for (uint32_t b = 0; b < graph->streams.count; b++) {
            bool used = graph->streams.items[a].ops.count > 0 && graph->streams.items[b].ops.count > 0;
            if (used && !graph->streams.items[b].beside && critical_is_legacy_of(graph, a, b) &&
                !ADD(array_push, &deciding->barriers, (struct barrier){a, b}))
                return -1;
        }
    return 0;
}

/* Whether OP started within CRITICAL_HELD_AFTER after EARLIEST. */
static bool soon(const struct critical_op *op, int64_t earliest)
{
    return op->start <= earliest + CRITICAL_HELD_AFTER;
}

static int decide_ops(struct deciding *deciding)
{
    struct critical_graph *graph = deciding->graph;
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        struct critical_op *op = &graph->ops.items[i];
        const struct critical_op *previous = op->previous == CRITICAL_NONE ? NULL : &graph->ops.items[op->previous];
        struct latest latest = {CRITICAL_NONE, 0};
        /* An operation waits for the operation before it in its stream, except that branches of a graph overlap. */
        if (previous && !(op->graph && previous->end > op->start))
            consider(graph, &latest, op->previous, i);
        if (consider_waits(deciding, &latest, i) < 0)
            return -1;
        for (; deciding->next_within < graph->within.count && graph->within.items[deciding->next_within].next == i;
             deciding->next_within++) {
            uint32_t other = graph->within.items[deciding->next_within].op;
            consider(graph, &latest, other, i);
            if (add_edge(graph, other, i) < 0)
                return -1;
        }
        if (consider_barriers(deciding, &latest, i) < 0)
            return -1;
        uint32_t before = op->decider;
        bool any = latest.op != CRITICAL_NONE;
        op->decider = CRITICAL_NONE;
        if (any && latest.end >= op->called + graph->latency && soon(op, latest.end))
            op->decider = latest.op;
        else if (op->thread == LAUNCHED_NO_THREAD || !soon(op, critical_returned(graph, op))) {
            /* Neither LATEST nor the launch explains the late start: the operation that ended last on the GPU may have
             * held it. */
            int64_t returned = critical_returned(graph, op);
            bool launched = latest.op == CRITICAL_NONE || latest.end <= returned;
            int64_t ready = launched ? returned : latest.end;
            op->decider = launched ? CRITICAL_NONE : latest.op;
            if (before != CRITICAL_NONE && critical_is_before(graph, before, i) &&
                graph->ops.items[before].end > ready && soon(op, graph->ops.items[before].end))
                op->decider = before;
            else
                op->held = op->start - ready > HELD_LONG;
        }
        critical_graph_evict(graph, i + (size_t)1);
    }
    return 0;
}

/* --- calls --- */

/* Returns the last operation to end of those that PROCESS launched on DEVICE (FIELD_ABSENT: any device) before CALL, or
 * CRITICAL_NONE. */
static uint32_t last_of_device(const struct critical_graph *graph, int64_t device, uint32_t process,
                               const struct critical_call *call)
{
    uint32_t found = CRITICAL_NONE;
    for (uint32_t i = 0; i < graph->streams.count; i++) {
        const struct critical_stream *stream = &graph->streams.items[i];
        if (stream->ops.count == 0 || (stream->process != process && stream->process != CRITICAL_NONE) ||
            (device != FIELD_ABSENT && trace_device_id(graph->trace, stream->device) != device))
            continue;
        uint32_t last = critical_launched_by(graph, i, call->start);
        if (last != CRITICAL_NONE && graph->ops.items[last].end <= call->end + CLOCKS &&
            (found == CRITICAL_NONE || graph->ops.items[last].end > graph->ops.items[found].end))
            found = last;
    }
    return found;
}

/* Returns CUPTI's record of what CALL waited for, or NULL. */
static const struct critical_sync *find_sync(struct deciding *deciding, uint32_t thread,
                                             const struct critical_call *call)
{
    const struct critical_syncs *syncs = deciding->syncs;
    for (; deciding->next_sync < syncs->calls.count; deciding->next_sync++) {
        const struct critical_sync *sync = &syncs->calls.items[deciding->next_sync];
        if (sync->thread > thread || (sync->thread == thread && sync->time > call->end))
            return NULL;
        if (sync->thread == thread && sync->time >= call->start)
            return sync;
    }
    return NULL;
}

/* Returns the operation that CALL waited for, by SYNC (may be NULL) or the kind of the call, or CRITICAL_NONE. */
static uint32_t find_waited(struct deciding *deciding, uint32_t process, struct critical_call *call,
                            const struct critical_sync *sync)
{
    struct critical_graph *graph = deciding->graph;
    /* A call that copies pageable memory returns when its copy is done, which may be the last node of a graph. */
    bool copies = call->op != CRITICAL_NONE && (call->kind == CALL_COPY_ASYNC || call->kind == CALL_GRAPH_LAUNCH) &&
                  strstr(trace_text(graph->trace, graph->ops.items[call->op].name), "Pageable");
    if (copies || (call->op != CRITICAL_NONE && call->kind == CALL_COPY))
        return call->op;
    if (sync && sync->nothing)
        return CRITICAL_NONE;
    if (sync && sync->on != EVENT_NO_TEXT)
        return sync->on < graph->streams.count
                   ? critical_launched_by(graph, sync->on, sync->marked != FIELD_ABSENT ? sync->marked : call->start)
                   : CRITICAL_NONE;
    /* Without a record, only some kinds of calls may have waited, for all work of a GPU. */
    enum call_kind kind = (enum call_kind)call->kind;
    if (!sync && !call_kind_waits(kind) && kind != CALL_FREE && kind != CALL_FREE_HOST && kind != CALL_CONTEXT)
        return CRITICAL_NONE;
    uint32_t found = last_of_device(graph, sync ? sync->device : FIELD_ABSENT, process, call);
    call->all = found != CRITICAL_NONE && (sync || call->kind == CALL_SYNC_DEVICE);
    return found;
}

/* Whether the call can have waited for operation WAITED, which must have started and ended before the call returned. */
static bool fits(const struct critical_graph *graph, const struct critical_call *call, uint32_t waited)
{
    const struct critical_op *op = waited == CRITICAL_NONE ? NULL : &graph->ops.items[waited];
    return op && op->start < call->end && op->end <= call->end + CLOCKS;
}

static void decide_call(struct deciding *deciding, uint32_t thread, struct critical_call *call)
{
    struct critical_graph *graph = deciding->graph;
    const uint32_t process = graph->trace->threads.items[thread].process;
    const struct critical_sync *sync = find_sync(deciding, thread, call);
    uint32_t waited = find_waited(deciding, process, call, sync);
    if (fits(graph, call, waited))
        call->waited = waited;
    /* An event of the legacy default stream waits for the work of all other streams. */
    int64_t known = critical_waited_until(graph, call);
    if (!sync || sync->on == EVENT_NO_TEXT || call->end - known <= CRITICAL_HELD_AFTER)
        return;
    waited = last_of_device(graph, FIELD_ABSENT, process, call);
    if (fits(graph, call, waited) && graph->ops.items[waited].end > known &&
        call->end - graph->ops.items[waited].end <= WAKE)
        call->waited = waited;
}

int critical_graph_decide(struct critical_graph *graph, const struct critical_syncs *syncs)
{
    struct deciding deciding = {.graph = graph, .syncs = syncs};
    int status = 0;
    /* Find the first wait of each stream. */
    for (size_t i = 0, at = 0; i < graph->streams.count && status == 0; i++) {
        while (at < syncs->waits.count && syncs->waits.items[at].stream < i)
            at++;
        status = ADD(array_push, &deciding.next_waits, at) ? 0 : -1;
    }
    status = status ? status : find_barriers(&deciding);
    status = status ? status : decide_ops(&deciding);
    array_release(&deciding.barriers);
    array_release(&deciding.next_waits);
    for (uint32_t thread = 0; thread < graph->threads.count && status == 0; thread++) {
        const struct critical_thread *one = &graph->threads.items[thread];
        for (size_t i = one->first; i < one->first + one->count; i++) {
            decide_call(&deciding, thread, &graph->calls.items[i]);
            critical_graph_evict(graph, i + 1);
        }
    }
    return status;
}
