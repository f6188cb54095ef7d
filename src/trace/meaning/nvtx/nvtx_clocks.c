/*
 * Clocks by which the program times events and counters, and how their times become the trace's; and NVTX's deferred
 * events, which have times of such clocks and are on the rows of the scopes they come from.
 */
#include "trace/meaning/nvtx/nvtx_clocks.h"

#include <math.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/nvtx/payload_view.h"

#define CHAIN_MAX 4                   /* pairs that lead from a clock to the trace's */
#define STEPS_MAX 1024                /* conversions that are tried for one time */
#define PAIRS_MAX 512                 /* pairs of clocks; a program has a few */
#define EVICT_SYNCS ((size_t)1 << 17) /* pages are evicted after so many syncs */

/* Values of NVTX_TIMESTAMP_TYPE_*. */
enum {
    TYPE_REALTIME = 12,
    TYPE_REALTIME_COARSE = 13,
    TYPE_BOOTTIME = 17,
    TYPE_TIME = 40, /* seconds */
    TYPE_TIMESPEC_GET = 42,
    TYPE_STEADY = 50,
    TYPE_HIGH_RESOLUTION = 51, /* the system clock in GNU's C++ library */
    TYPE_SYSTEM = 52,
};
enum { START_UNIX_EPOCH = 3 };

/* Whether two ids mean one clock: ids of the system's clocks mean the same in all domains. */
static bool same_clock(uint64_t a, uint32_t domain_a, uint64_t b, uint32_t domain_b)
{
    return a == b && (a < PAYLOAD_FIRST_SCHEMA || domain_a == domain_b);
}

static struct nvtx_clock_pair *pair_of(struct nvtx_clocks *clocks, uint32_t domain, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < clocks->pairs.count; i++) {
        struct nvtx_clock_pair *pair = &clocks->pairs.items[i];
        if (same_clock(pair->from, pair->domain, from, domain) && same_clock(pair->to, pair->domain, to, domain))
            return pair;
    }
    struct nvtx_clock_pair *pair = clocks->pairs.count < PAIRS_MAX ? array_push(&clocks->pairs) : NULL;
    if (pair)
        *pair = (struct nvtx_clock_pair){
            .from = from, .to = to, .domain = domain, .points.memory.directory = clocks->directory};
    return pair;
}

static int add_point(struct nvtx_clocks *clocks, const struct spool_nvtx_sync *sync, bool reversed)
{
    struct nvtx_clock_pair *pair = reversed ? pair_of(clocks, sync->domain, sync->target, sync->source)
                                            : pair_of(clocks, sync->domain, sync->source, sync->target);
    if (!pair && clocks->pairs.count >= PAIRS_MAX)
        return 0;
    bool known = sync->head.flags == SPOOL_NVTX_SYNC_SLOPE && isfinite(sync->slope) && sync->slope != 0;
    struct nvtx_sync_point point = {.from = reversed ? sync->target_time : sync->source_time,
                                    .to = reversed ? sync->source_time : sync->target_time,
                                    .slope = !known     ? 0
                                             : reversed ? 1 / sync->slope
                                                        : sync->slope};
    return pair && ADD(file_vector_push, &pair->points, point) ? 0 : error_no_memory("clocks");
}

ORDER_BY(by_time, struct nvtx_sync_point, from)

int nvtx_clocks_close(struct nvtx_clocks *clocks)
{
    for (size_t i = 0; i < clocks->syncs.count; i++) {
        if (add_point(clocks, clocks->syncs.items[i], false) != 0 ||
            add_point(clocks, clocks->syncs.items[i], true) != 0)
            return -1;
        for (size_t k = 0; k < clocks->pairs.count && i % EVICT_SYNCS == 0; k++)
            file_vector_evict(&clocks->pairs.items[k].points);
        if (i % EVICT_SYNCS == 0)
            file_vector_evict(&clocks->syncs);
    }
    file_vector_release(&clocks->syncs);
    for (size_t i = 0; i < clocks->pairs.count; i++)
        if (file_vector_sort(&clocks->pairs.items[i].points, by_time) != 0)
            return error_no_memory("clocks");
    return 0;
}

static const struct spool_nvtx_time_domain *time_domain(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t id)
{
    for (size_t i = clocks->domains.count; i > 0; i--)
        if (clocks->domains.items[i - 1]->id == id && clocks->domains.items[i - 1]->domain == domain)
            return clocks->domains.items[i - 1];
    return NULL;
}

/* Returns how many ticks a clock makes in a second, or 0 if that is unknown. */
static double rate(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock)
{
    const struct spool_nvtx_time_domain *said = time_domain(clocks, domain, clock);
    if (said && said->resolution > 0)
        return (double)said->resolution;
    uint64_t type = said ? said->type : clock;
    bool counts_ns =
        (type >= TYPE_REALTIME && type <= TYPE_BOOTTIME) || type == TYPE_STEADY || type == NVTX_CLOCKS_OURS;
    return counts_ns ? (double)NS_PER_S : 0;
}

static bool shift(const struct nvtx_sync_point *point, double slope, int64_t ticks, int64_t *result)
{
    double difference = (double)((__int128)ticks - point->from) * slope, value = (double)point->to + difference;
    if (!(fabs(value) < 9e18))
        return false;
    *result = point->to + (int64_t)llround(difference);
    return true;
}

static bool step(const struct nvtx_clocks *clocks, const struct nvtx_clock_pair *pair, int64_t ticks, int64_t *result)
{
    const struct nvtx_sync_point *points = pair->points.items;
    size_t count = pair->points.count;
    const struct nvtx_sync_point *last = &points[count - 1];
    if (count > 1 && points[0].from != last->from) {
        /* Between two points, the slope between them; outside of all, the slope over all points. */
        bool within = ticks >= points[0].from && ticks <= last->from;
        size_t before = COUNT_BEFORE(count, i, points[i].from <= ticks), low = before > 0 ? before - 1 : 0;
        if (low + 2 > count)
            low = count - 2;
        const struct nvtx_sync_point *near = &points[within ? low : 0], *next = near + 1;
        if (!within)
            near = ticks < points[0].from ? &points[0] : last;
        double run = within ? (double)(next->from - near->from) : (double)(last->from - points[0].from);
        double rise = within ? (double)(next->to - near->to) : (double)(last->to - points[0].to);
        if (run > 0)
            return shift(near, rise / run, ticks, result);
    }
    double from = rate(clocks, pair->domain, pair->from), to = rate(clocks, pair->domain, pair->to);
    double slope = last->slope != 0 ? last->slope : from > 0 && to > 0 ? to / from : 0;
    return slope != 0 && shift(last, slope, ticks, result);
}

/* --- chains --- */

/* Sets *TIME to a time in ns since 1970 if the clock counts from then. Returns false if not. */
static bool from_epoch(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks, int64_t *time)
{
    const struct spool_nvtx_time_domain *said = time_domain(clocks, domain, clock);
    switch (said ? said->type : clock) {
    case NVTX_CLOCKS_OURS:
    case TYPE_REALTIME:
    case TYPE_REALTIME_COARSE:
    case TYPE_TIMESPEC_GET:
    case TYPE_HIGH_RESOLUTION:
    case TYPE_SYSTEM: *time = ticks; break;
    case TYPE_TIME: *time = (int64_t)((double)ticks * (double)NS_PER_S); break;
    default:
        if (!said || said->start != START_UNIX_EPOCH || said->resolution <= 0)
            return false;
        *time = ticks;
    }
    if (said && said->resolution > 0 && (uint64_t)said->resolution != NS_PER_S)
        *time = (int64_t)((__int128)ticks * (__int128)NS_PER_S / said->resolution);
    return true;
}

struct chain {
    const struct nvtx_clocks *clocks;
    uint32_t domain;
    unsigned steps; /* how many conversions may still be tried */
};

static bool follow(struct chain *chain, uint64_t clock, int64_t ticks, unsigned left, int64_t *time)
{
    const struct nvtx_clocks *clocks = chain->clocks;
    uint32_t domain = chain->domain;
    for (size_t i = 0; i < clocks->pairs.count && left > 0 && chain->steps > 0; i++) {
        const struct nvtx_clock_pair *pair = &clocks->pairs.items[i];
        int64_t there;
        if (!same_clock(pair->from, pair->domain, clock, domain))
            continue;
        chain->steps--;
        if (step(clocks, pair, ticks, &there) &&
            (from_epoch(clocks, domain, pair->to, there, time) || follow(chain, pair->to, there, left - 1, time)))
            return true;
    }
    return false;
}

static bool convert(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks, int64_t *time)
{
    struct chain chain = {clocks, domain, STEPS_MAX};
    if (clock < PAYLOAD_FIRST_SCHEMA && from_epoch(clocks, domain, clock, ticks, time))
        return true;
    return follow(&chain, clock, ticks, CHAIN_MAX, time);
}

bool nvtx_clocks_convert(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks,
                         uint64_t *time)
{
    int64_t found;
    const struct spool_nvtx_time_domain *said = time_domain(clocks, domain, clock);
    uint64_t type = said ? said->type : clock; /* the type that the program declared for its clock */
    bool known = convert(clocks, domain, clock, ticks, &found) || from_epoch(clocks, domain, clock, ticks, &found) ||
                 (type != clock && convert(clocks, domain, type, ticks, &found));
    if (known && found > 0)
        *time = (uint64_t)found;
    return known && found > 0;
}

uint64_t nvtx_clocks_of_scope(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t scope)
{
    for (size_t i = clocks->domains.count; i > 0 && scope != 0; i--)
        if (clocks->domains.items[i - 1]->scope == scope && clocks->domains.items[i - 1]->domain == domain)
            return clocks->domains.items[i - 1]->id;
    return NVTX_CLOCKS_OURS;
}

/* --- resolve pass --- */

static bool time_of(const struct process *process, uint32_t domain, const struct payload_facts *facts,
                    const struct payload_time *said, uint64_t *time)
{
    const struct nvtx_clocks *clocks = &process->nvtx->clocks;
    uint64_t clock = said->clock ? said->clock : nvtx_clocks_of_scope(clocks, domain, facts->scope);
    return said->known && nvtx_clocks_convert(clocks, domain, clock, said->ticks, time) &&
           process_knows_time(process, *time);
}

/* Sets kind and times of a deferred event. Returns false if a time cannot be converted. */
static bool place_event(struct nvtx_deferred_event *event, const struct process *process,
                        const struct payload_facts *facts)
{
    uint32_t domain = event->record->domain;
    bool is_mark = facts->role == PAYLOAD_SCHEMA_MARK || (facts->role == 0 && !facts->end.known);
    if (is_mark) {
        event->kind = NVTX_DEFERRED_MARK;
        if (!time_of(process, domain, facts, facts->mark.known ? &facts->mark : &facts->begin, &event->start))
            return false;
        event->end = event->start;
        return true;
    }
    event->kind = facts->role == PAYLOAD_SCHEMA_STARTEND ? NVTX_DEFERRED_STARTED : NVTX_DEFERRED_NESTED;
    return time_of(process, domain, facts, &facts->begin, &event->start) &&
           time_of(process, domain, facts, &facts->end, &event->end) && event->end >= event->start;
}

static int add_event(struct process *process, struct nvtx_deferred_event made, const struct payload_facts *facts)
{
    struct nvtx_deferred *deferred = &process->nvtx->deferred;
    struct track *track = NULL;
    if (!place_event(&made, process, facts)) {
        process->losses.unplaced++;
        return 0;
    }
    if (!capture_intervals_hold(process->capture_intervals, made.start))
        return 0;
    uint64_t scope =
        facts->scope_rank <= PAYLOAD_SCOPE_BY_BATCH && made.record->scope ? made.record->scope : facts->scope;
    /* Events of the submitting thread are on its row; all others have rows by scope. */
    if (scope == NVTX_SCOPES_THREAD || scope == NVTX_SCOPES_INNERMOST) {
        track = process_thread(process, TRACK_THREAD, made.thread);
    } else {
        uint32_t domain = made.record->domain;
        struct nvtx_deferred_row *row = PUT_ITEM(&deferred->rows, &deferred->row_of, payload_key(domain, scope));
        if (!row)
            return error_no_memory("deferred events");
        *row = (struct nvtx_deferred_row){.scope = scope, .domain = domain};
        made.row = (uint32_t)(row - deferred->rows.items) + 1;
        track = process_thread(process, TRACK_DEFERRED, made.row);
    }
    if (!track || !ADD(file_vector_push, &deferred->events, made))
        return error_no_memory("deferred events");
    widen_process_time(process, made.start, made.end);
    deferred->started += made.kind == NVTX_DEFERRED_STARTED;
    if (made.kind != NVTX_DEFERRED_NESTED)
        return 0;
    if (made.row == 0)
        lanes_must_collect(&track->lanes);
    return lanes_collect(&track->lanes, made.start, made.end);
}

ORDER_OUTER_FIRST(outer_first, struct nvtx_deferred_event, record, index)

int resolve_deferred(struct process *process)
{
    struct nvtx_deferred *deferred = &process->nvtx->deferred;
    struct payload_view view;
    struct payload_facts facts;
    int result = 0;
    for (size_t i = 0; i < deferred->submissions.count && result == 0; i++) {
        struct nvtx_deferred_event event = {.record = deferred->submissions.items[i].record,
                                            .thread = deferred->submissions.items[i].thread};
        payload_view_open(&view, process->nvtx, event.record->domain, event.record->number);
        for (; result == 0 && payload_facts_read(&facts, &view, event.record->stride, event.index); event.index++)
            result = add_event(process, event, &facts);
        process_passed(process, i);
    }
    if (result == 0 && file_vector_sort(&deferred->events, outer_first) != 0)
        result = error_no_memory("deferred events");
    return result;
}

/* --- write pass --- */

char *deferred_row_name(const struct process *process, uint32_t number)
{
    const struct nvtx_deferred_row *row = &process->nvtx->deferred.rows.items[number - 1];
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, row->domain);
    struct buffer name;
    buffer_init_memory(&name);
    buffer_text(&name, "NVTX");
    if (domain.text)
        buffer_format(&name, " %.*s", (int)domain.length, domain.text);
    buffer_text(&name, row->scope == NVTX_SCOPES_NONE ? " deferred" : ": ");
    nvtx_scopes_put(&process->nvtx->scopes, &name, row->domain, row->scope);
    buffer_char(&name, '\0');
    if (buffer_finish(&name) != 0) {
        error_no_memory("names of rows");
        buffer_release(&name);
        return NULL;
    }
    return name.data; /* the caller frees it */
}

static void write_event(struct piece_writer *out, struct process *process, const struct nvtx_deferred_event *event,
                        const struct payload_facts *facts, uint64_t *last_async)
{
    const struct spool_nvtx_deferred *record = event->record;
    struct track *track = event->row ? tracks_get(&process->tracks, TRACK_DEFERRED, 0, 0, event->row)
                                     : tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    struct args args = {0};
    if (!track)
        return;
    describe_nvtx_domain(&args, process->nvtx, record->domain);
    if (facts->has_category)
        describe_nvtx_category(&args, process->nvtx, record->domain, facts->category, true);
    if (facts->has_color)
        args_add(&args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = facts->color;
    describe_nvtx_payload(
        &args, process->nvtx, ARG_PAYLOAD,
        &(struct arg_json){
            .number = record->number, .domain = record->domain, .stride = record->stride, .index = event->index});
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = nvtx_message_name(facts->message),
                          .row = {track->pid, track->tids[0]},
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    if (event->kind == NVTX_DEFERRED_MARK) {
        out->sink.format->instant(&out->sink, &slice);
    } else if (event->kind == NVTX_DEFERRED_STARTED) {
        out->sink.format->async(&out->sink, &(struct async_slice){.category = slice.category,
                                                                  .name = slice.name,
                                                                  .begin = slice.row,
                                                                  .end_row = slice.row,
                                                                  .start = event->start,
                                                                  .end = event->end,
                                                                  .id = ++*last_async,
                                                                  .args = &args});
    } else {
        slice.row = track_row(track, event->start, event->end);
        out->sink.format->slice(&out->sink, &slice);
    }
}

int write_deferred(struct piece_writer *out, struct process *process)
{
    const struct nvtx *nvtx = process->nvtx;
    struct payload_view view;
    struct payload_facts facts;
    uint64_t last_async = process->async_before + nvtx->started.count + nvtx->syncs.holds.count;
    for (size_t i = 0; i < nvtx->deferred.events.count; i++) {
        const struct nvtx_deferred_event *event = &nvtx->deferred.events.items[i];
        payload_view_open(&view, nvtx, event->record->domain, event->record->number);
        if (payload_facts_read(&facts, &view, event->record->stride, event->index))
            write_event(out, process, event, &facts, &last_async);
        piece_writer_passed(out, process);
    }
    return 0;
}
