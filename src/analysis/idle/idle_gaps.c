#include "analysis/idle/idle_gaps.h"

#include <string.h>

#include "common/lookup.h"
#include "analysis/engine/trace.h"
#include "analysis/names/name_facts.h"

struct thread_phase {
    event_id process;
    int64_t thread, start, end;
    uint32_t name;
};

struct gap {
    int64_t start, end;
    int64_t called, returned; /* of the operation that ends it; FIELD_ABSENT: not known */
    int64_t ended_before;     /* when the operation before it in its stream ended; FIELD_ABSENT: there is none */
    struct idle_launch launch;
    uint32_t device, thread, call;
    uint32_t last_stream; /* number of the stream whose operation the gap begins after */
    bool copied;          /* a copy of pageable memory ends it: the driver copies the memory first */
};

ORDER_BY(by_thread, struct thread_phase, process, thread, start, end, name)
ORDER_BY(by_key_and_call, struct gap, launch.key, called, start)

/* What is found after the last event. */
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

void idle_gaps_init(struct idle_gaps *gaps, struct sorter_space *space)
{
    idle_waits_init(&gaps->waits, space);
    sorter_init(&gaps->phases, space, sizeof(struct thread_phase), by_thread);
    init_found(gaps, space);
}

void idle_gaps_release(struct idle_gaps *gaps)
{
    idle_waits_release(&gaps->waits);
    sorter_release(&gaps->phases);
    release_found(gaps);
}

int idle_gaps_event(struct idle_gaps *gaps, const struct trace *trace, const struct event_fields *event)
{
    if (event->phase != 'X')
        return 0;
    if (event->category == CATEGORY_COMPILATION) {
        const struct thread_phase phase = {event->process, event->of_thread, event->start,
                                           event->start + event->duration, event->name};
        return event->of_thread == FIELD_ABSENT ? 0 : sorter_add(&gaps->phases, &phase);
    }
    return idle_waits_event(&gaps->waits, trace, event);
}

/* --- what a gap was spent with --- */

struct finding {
    struct idle_gaps *gaps;
    struct idle *idle;
    const struct trace *trace;
    int64_t from, to; /* what of gaps is in this time counts */
    /* Of the GPU that the walk is at */
    bool any;
    uint32_t device, last_thread;
    int64_t until; /* the end of all operations so far */
    struct idle_neighbour last;
    ARRAY(struct stream_last) streams;
    struct name_facts names;
};

/* The last operation of a stream. */
struct stream_last {
    bool any;
    int64_t called, end;
};

static int add_whole(struct finding *finding, const struct gap *gap, struct idle_what what)
{
    struct idle_gap *largest = idle_find(finding->idle, gap->device, gap->start, gap->end);
    return idle_add(finding->idle, &what, gap->start, gap->start, gap->end - gap->start, largest);
}

static uint32_t stream_number(int64_t stream)
{
    return stream >= 0 && stream < EVENT_NO_TEXT ? (uint32_t)stream : EVENT_NO_TEXT;
}

/* The operation was launched in the gap, or its launch had not returned when the gap began. */
static int add_launched(struct finding *finding, const struct gap *gap, const struct idle_wait *wait)
{
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
    return sorter_add(&finding->gaps->host.gaps, &host);
}

/* WAIT: what the stream waited for between the launches of the operation and of the one before. NULL: nothing. */
static int settle(struct finding *finding, const struct gap *gap, const struct idle_wait *wait)
{
    if (gap->thread == LAUNCHED_NO_THREAD)
        return add_whole(finding, gap, IDLE_WHAT(gap->device, IDLE_UNKNOWN));
    bool empty = gap->ended_before == FIELD_ABSENT || gap->ended_before <= gap->called; /* the stream, at the launch */
    if (gap->returned > gap->start || (empty && gap->end - gap->called <= IDLE_LATENCY))
        return add_launched(finding, gap, wait);
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
    return add_whole(finding, gap, what);
}

/* --- the walk over the operations --- */

/* Cuts GAP to the time that counts. Returns whether anything is left. */
static bool clip(const struct finding *finding, struct gap *gap)
{
    gap->start = gap->start > finding->from ? gap->start : finding->from;
    gap->end = gap->end < finding->to ? gap->end : finding->to;
    return gap->end > gap->start;
}

static void offer(struct finding *finding, const struct gap *gap, struct idle_neighbour after)
{
    const struct idle_gap one = {.start = gap->start,
                                 .end = gap->end,
                                 .device = gap->device,
                                 .thread = gap->thread,
                                 .before = finding->last,
                                 .after = after,
                                 .activity = EVENT_NO_TEXT};
    idle_offer(finding->idle, &one);
}

static int add_gap(struct finding *finding, const struct timeline_op *op, const struct stream_last *stream)
{
    const struct trace *trace = finding->trace;
    struct gap gap = {
        .start = finding->until,
        .end = op->start,
        .called = op->called,
        .returned = op->returned,
        .launch = {.called = op->called, .called_before = stream->any ? stream->called : FIELD_ABSENT},
        .ended_before = stream->any ? stream->end : FIELD_ABSENT,
        .device = op->device,
        .thread = op->thread,
        .call = op->call,
        .last_stream = stream_number(trace_stream_id(trace, finding->last.stream)->stream),
        .copied = op->category == CATEGORY_GPU_MEMCPY && op->called != FIELD_ABSENT &&
                  op->start - op->called > IDLE_LATENCY &&
                  name_facts_find(&finding->names, &trace->strings, op->name) & NAME_PAGEABLE,
    };
    if (!clip(finding, &gap))
        return 0;
    offer(finding, &gap, (struct idle_neighbour){op->name, op->stream});
    if (finding->gaps->waits.of == IDLE_WAITS_NONE || op->thread == LAUNCHED_NO_THREAD)
        return settle(finding, &gap, NULL);
    gap.launch.key = idle_waits_key(&finding->gaps->waits, op);
    return sorter_add(&finding->gaps->asked, &gap);
}

static int add_edge(struct finding *finding, enum idle_cause cause, struct gap *gap, struct idle_neighbour after)
{
    if (!clip(finding, gap))
        return 0;
    offer(finding, gap, after);
    /* Before the first operation or after the last. */
    const struct idle_host_gap host = {.start = gap->start,
                                       .called = gap->end,
                                       .held = gap->end,
                                       .end = gap->end,
                                       .thread = gap->thread,
                                       .what = IDLE_WHAT(gap->device, cause)};
    if (gap->thread == LAUNCHED_NO_THREAD)
        return add_whole(finding, gap, host.what);
    return sorter_add(&finding->gaps->host.gaps, &host);
}

static int end_device(struct finding *finding)
{
    struct gap gap = {
        .start = finding->until, .end = finding->trace->end, .device = finding->device, .thread = finding->last_thread};
    return finding->any ? add_edge(finding, IDLE_AFTER, &gap, (struct idle_neighbour){EVENT_NO_TEXT, EVENT_NO_TEXT})
                        : 0;
}

static int begin_device(struct finding *finding, const struct timeline_op *op)
{
    struct gap gap = {.start = finding->trace->start, .end = op->start, .device = op->device, .thread = op->thread};
    int status = end_device(finding);
    finding->any = true;
    finding->device = op->device;
    finding->until = op->start;
    finding->last = (struct idle_neighbour){EVENT_NO_TEXT, EVENT_NO_TEXT};
    return status ? status : add_edge(finding, IDLE_BEFORE, &gap, (struct idle_neighbour){op->name, op->stream});
}

static int add_op(struct finding *finding, const struct timeline_op *op)
{
    if ((!finding->any || op->device != finding->device) && begin_device(finding, op) < 0)
        return -1;
    if (op->thread != LAUNCHED_NO_THREAD && op->start >= finding->from && op->start < finding->to &&
        idle_add_launched(finding->idle, op->device, op->end - op->start) < 0)
        return -1;
    struct stream_last *stream = array_at(&finding->streams, op->stream);
    if (!stream || (op->start > finding->until && add_gap(finding, op, stream) < 0))
        return -1;
    if (op->end >= finding->until) {
        finding->until = op->end;
        finding->last = (struct idle_neighbour){op->name, op->stream};
        finding->last_thread = op->thread;
    }
    if (!stream->any || op->end > stream->end)
        stream->end = op->end;
    if (!stream->any || op->called > stream->called)
        stream->called = op->called;
    stream->any = true;
    return 0;
}

static int settle_asked(struct finding *finding)
{
    struct idle_gaps *gaps = finding->gaps;
    const struct gap *gap;
    return sorter_ready(&gaps->asked)
               ?: SORTER_EACH(&gaps->asked, gap, settle(finding, gap, idle_waits_find(&gaps->waits, &gap->launch)));
}

/* --- phases --- */

static int pass_phases(struct finding *finding)
{
    const struct trace *trace = finding->trace;
    struct sorter_walk walk;
    const struct thread_phase *phase;
    struct thread_phase last = {.thread = FIELD_ABSENT};
    int64_t thread = FIELD_ABSENT;
    int status = sorter_ready(&finding->gaps->phases);
    if (status < 0)
        return status;
    sorter_walk_begin(&walk, &finding->gaps->phases);
    while (status == 0 && (phase = sorter_next(&walk))) {
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
            status = sorter_add(&finding->gaps->host.phases, &one);
    }
    return sorter_walk_end(&walk) ?: status;
}

static int find_gaps(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace, int64_t from, int64_t to)
{
    struct finding finding = {.gaps = gaps, .idle = idle, .trace = trace, .from = from, .to = to};
    idle->run = trace_span(trace);
    idle->gaps = gaps;
    int status = idle_waits_begin(&gaps->waits, trace);
    if (status < 0)
        return status;
    const struct timeline_op *op;
    status = SORTER_EACH(&trace->timeline, op, add_op(&finding, op)) ?: end_device(&finding) ?: settle_asked(&finding);
    int ended = idle_waits_end(&gaps->waits);
    status = status ?: ended ?: pass_phases(&finding);
    array_release(&finding.streams);
    array_release(&finding.names.items);
    return status ? status : idle_host_finish(&gaps->host, idle, trace);
}

int idle_gaps_finish(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace)
{
    if (trace->ranks.count > 0)
        idle_keep_pieces(idle, trace->space);
    int status = find_gaps(gaps, idle, trace, INT64_MIN, INT64_MAX);
    return status == 0 && idle->has_pieces ? sorter_ready(&idle->pieces) : status;
}

int idle_gaps_again(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace, int64_t from, int64_t to)
{
    release_found(gaps);
    init_found(gaps, trace->space);
    return find_gaps(gaps, idle, trace, from, to);
}
