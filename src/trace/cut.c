/*
 * Passes on a part of a trace. The first reading finds times, flows, and what is selected. The second reading passes
 * what is in the part to the sink that writes.
 */
#include "trace/cut.h"

#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/cut_metadata.h"
#include "trace/json/text.h"

/* Whether a slice overlaps a window, or an instant (START equals END) lies in a window. */
static bool cut_touches(const struct cut *cut, uint64_t start, uint64_t end)
{
    const struct window *window = windows_next(&cut->windows, (int64_t)start);
    return window && ((int64_t)start >= window->start || (int64_t)end > window->start);
}

static void scan_process(struct sink *sink, const struct row_name *process)
{
    struct cut *cut = cut_of(sink);
    if (process->label)
        selection_add_label(&cut->selection, selection_id(process->row.pid), process->label);
}

/* Widens the trace's times by an event. Resets slice_selected, as only slices have flows. */
static void scan_time(struct cut *cut, uint64_t start, uint64_t end, bool program)
{
    cut->slice_selected = false;
    trace_times_widen(&cut->times, (int64_t)start, (int64_t)end);
    if (program)
        trace_times_widen(&cut->program, (int64_t)start, (int64_t)end);
}

/* --- the selection --- */

/* Records the call, the process and the row of an event in the first reading. HERE: the options select its GPU and its
 * process. */
static void scan_event(struct cut *cut, const struct slice *slice, bool here)
{
    struct selection *selection = &cut->selection;
    const struct event_fields *event = &cut->event;
    uint64_t *kept = map_put(&cut->rows, slice->row.pid, NULL);
    if (kept)
        *kept |= here;
    selection->no_memory |= !kept;
    if (event->phase == 'X' && category_in(event->category, CATEGORIES_API))
        selection_add_call(selection, event->process, selection_thread(event), event->correlation, event->start);
    if (event->category == CATEGORY_USER_ANNOTATION ||
        (event->phase == 'X' && category_in(event->category, CATEGORIES_HOST)))
        selection_add_host(selection, event->process);
}

/* Whether the options select a slice, instant or range, at any time. The first reading also records what the event
 * tells, and selects all GPU work that may be selected. */
static bool selects_event(struct cut *cut, char phase, const struct slice *slice)
{
    bool kernel = slice->category == CATEGORY_KERNEL || slice->category == CATEGORY_GPU_IN_FLIGHT;
    if (!cut->selects)
        return true;
    selection_read(&cut->event, phase, slice);
    enum selection_verdict verdict =
        selection_judge(&cut->selection, &cut->event,
                        kernel && selection_matches(&cut->selection, slice->name.text, slice->name.length));
    if (cut->selection.pending)
        scan_event(cut, slice, verdict != SELECTION_ELSEWHERE);
    return verdict == SELECTION_COUNTS;
}

/* --- events --- */

static void scan_slice(struct sink *sink, const struct slice *slice)
{
    struct cut *cut = cut_of(sink);
    cut->start = slice->start;
    cut->end = slice->end;
    scan_time(cut, slice->start, slice->end, category_is_program(slice->category, false));
    cut->slice_selected = selects_event(cut, 'X', slice);
}

static void scan_instant(struct sink *sink, const struct slice *instant)
{
    selects_event(cut_of(sink), 'i', instant); /* records which GPUs, threads and so on the trace has */
    scan_time(cut_of(sink), instant->start, instant->start, category_is_program(instant->category, true));
}

static void scan_async(struct sink *sink, const struct async_slice *slice)
{
    const struct slice begin = async_slice_begin(slice);
    selects_event(cut_of(sink), 'b', &begin);
    scan_time(cut_of(sink), slice->start, slice->end, true);
}

static void scan_counter(struct sink *sink, const struct counter *counter)
{
    if (cut_of(sink)->selects)
        selection_judge_counter(&cut_of(sink)->selection, selection_id(counter->pid));
    scan_time(cut_of(sink), counter->time, counter->time, true);
}

static void scan_flow(struct sink *sink, const struct flow *flow)
{
    struct cut *cut = cut_of(sink);
    const struct cut_flow end = {flow->id, flow->ends, cut->start, cut->end};
    if (cut->slice_selected && flow->category != CATEGORY_FWDBWD && sorter_add(&cut->flows, &end) < 0)
        cut->selection.no_memory = true;
}

static const struct sink_format scanner = {
    .name = "the part",
    .piece_scale = 1,
    .metadata = cut_scan_metadata,
    .begin = sink_set_base,
    .process = scan_process,
    .thread = sink_pass_row,
    .slice = scan_slice,
    .instant = scan_instant,
    .async = scan_async,
    .counter = scan_counter,
    .flow = scan_flow,
    .finish = sink_pass_end,
};

/* --- between the readings --- */

ORDER_BY(by_id, struct cut_flow, id)

static int find_flows(struct cut *cut)
{
    struct sorter_walk walk;
    const struct cut_flow *end;
    uint32_t id = 0;
    bool seen[2] = {false, false};
    if (sorter_ready(&cut->flows) < 0)
        return error_no_memory("flows");
    sorter_walk_begin(&walk, &cut->flows);
    while ((end = sorter_next(&walk))) {
        if (end->id != id)
            seen[0] = seen[1] = false;
        id = end->id;
        seen[end->is_end] |= cut_touches(cut, end->start, end->end);
        if (seen[0] && seen[1] && id_set_add(&cut->kept, id) < 0)
            cut->selection.no_memory = true;
    }
    if (sorter_walk_end(&walk) < 0 || cut->selection.no_memory)
        return error_no_memory("flows");
    sorter_release(&cut->flows);
    return 0;
}

/* Sets the windows of the part and the flows in it. Returns 0, 1 if the part is empty, or -1 after error(). */
static int find_part(struct cut *cut)
{
    const struct filter_options *options = cut->options;
    int64_t times[2] = {0, 0}, base = (int64_t)cut->sink.base;
    if (cut->selection.no_memory)
        return error_no_memory("the trace's events");
    if (!cut->times.any)
        return 1;
    if (cut->times.first < 0 || cut->times.last > INT64_MAX / 2)
        return error("'%s' has times beyond all clocks", cut->path);
    if (!cut->program.any)
        cut->program = cut->times;
    if (time_bounds_resolve(&options->from, &options->to, cut->path, NULL, cut->program.first, cut->program.last,
                            times) < 0)
        return -1;
    cut->selection.pending = false;
    cut->from = options->from.text ? times[0] : cut->times.first;
    cut->to = times[1] >= cut->program.last ? cut->times.last : times[1];
    /* Windows exclude their end: 1 ns more includes the trace's end. */
    if (windows_clip(&cut->windows, cut->only, base, cut->from, cut->to + (cut->to == cut->times.last)) < 0)
        return error_no_memory("ranges");
    return cut->windows.items.count == 0 ? 1 : find_flows(cut);
}

int cut_scanned(struct cut *cut, struct filter_missed *missed)
{
    if (!cut->times.any)
        return filter_missing(missed, "'%s' has no events: there is nothing to cut out", cut->path);
    int result = filter_found_check(&cut->selection.found, cut->options, cut->path, missed);
    if (result == 0 && (result = find_part(cut)) > 0)
        result = filter_missing(missed, "'%s' has nothing between --from and --to%s", cut->path,
                                cut->only ? " in that range" : "");
    return result;
}

int cut_scanned_within(struct cut *cut, const struct trace_times *times, const struct trace_times *program)
{
    cut->times = *times;
    cut->program = *program;
    return find_part(cut);
}

/* --- a cut --- */

struct cut *cut_new(const struct filter_options *options, const struct windows *times, const char *path)
{
    struct cut *cut = calloc(1, sizeof(*cut));
    if (!cut)
        error_no_memory("the trace's events");
    if (!cut || selection_init(&cut->selection, options) < 0) {
        free(cut);
        return NULL;
    }
    cut->options = options;
    cut->selection.pending = true;
    event_begin(&cut->event, CATEGORY_OTHER);
    cut->selects = options->kernel != NULL;
#define SELECTS(word, ...) cut->selects |= options->word.given;
    FILTER_NUMBERS(SELECTS)
#undef SELECTS
    cut->only = times;
    cut->path = path;
    cut->space = sorter_space_usual();
    buffer_init_memory(&cut->nothing);
    sorter_init(&cut->flows, &cut->space, sizeof(struct cut_flow), by_id);
    return cut;
}

void cut_free(struct cut *cut)
{
    if (!cut)
        return;
    for (size_t i = 0; i < cut->counters.count; i++) {
        free(cut->counters.items[i].texts);
        free(cut->counters.items[i].values);
    }
    array_release(&cut->counters);
    map_release(&cut->counter_of_name);
    map_release(&cut->rows);
    selection_release(&cut->selection);
    sorter_release(&cut->flows);
    windows_release(&cut->windows);
    id_set_release(&cut->kept);
    buffer_release(&cut->nothing);
    free(cut);
}

struct sink *cut_scanner(struct cut *cut)
{
    cut->format = scanner;
    sink_init(&cut->sink, &cut->format, &cut->nothing);
    return &cut->sink;
}

/*
 * The second reading: passes what is in the part to the sink that writes.
 */

void cut_describe(const struct filter_options *options, int64_t from, int64_t to, uint64_t length, struct buffer *out)
{
    struct json_out json;
    json_out_init(&json, out, false);
    json_begin_object(&json);
    json_put_i64(&json, "from_ns", from);
    json_put_i64(&json, "to_ns", to);
    json_put_u64(&json, "of_ns", length);
    if (options->range)
        json_put_text(&json, "range", options->range);
#define PUT(word, ...)       \
    if (options->word.given) \
        json_put_i64(&json, #word, options->word.number);
    FILTER_NUMBERS(PUT)
#undef PUT
    if (options->kernel)
        json_put_text(&json, "kernel", options->kernel);
    json_end(&json);
}

static void write_begin(struct sink *sink, uint64_t base)
{
    struct cut *cut = cut_of(sink);
    struct buffer text;
    buffer_init_memory(&text);
    int64_t first = cut->program.first, last = cut->program.last;
    cut_describe(cut->options, cut->from > first ? cut->from - first : 0, (cut->to < last ? cut->to : last) - first,
                 (uint64_t)(last - first), &text);
    cut->selection.no_memory |= text.failure != 0;
    if (!text.failure)
        cut->whole->format->metadata(cut->whole, CUT_KEY, text.data, text.length);
    buffer_release(&text);
    sink->base = base;
    cut->whole->format->begin(cut->whole, base);
}

/* Whether the part has a row's name: an event of the row is of a selected process and GPU or, without events, the row
 * is selected. */
static bool has_name(const struct cut *cut, uint32_t pid)
{
    const uint64_t *kept = map_get(&cut->rows, pid);
    return kept ? *kept : selection_has_row(&cut->selection, selection_id(pid));
}

static void write_process(struct sink *sink, const struct row_name *process)
{
    struct sink *whole = cut_of(sink)->whole;
    if (has_name(cut_of(sink), process->row.pid))
        whole->format->process(whole, process);
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    struct sink *whole = cut_of(sink)->whole;
    if (has_name(cut_of(sink), thread->row.pid))
        whole->format->thread(whole, thread);
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    struct cut *cut = cut_of(sink);
    cut->slice_kept = selects_event(cut, 'X', slice) && cut_touches(cut, slice->start, slice->end);
    if (cut->slice_kept)
        cut->whole->format->slice(cut->whole, slice);
}

static void write_instant(struct sink *sink, const struct slice *instant)
{
    struct cut *cut = cut_of(sink);
    cut->slice_kept = false;
    if (selects_event(cut, 'i', instant) && cut_touches(cut, instant->start, instant->start))
        cut->whole->format->instant(cut->whole, instant);
}

static void write_async(struct sink *sink, const struct async_slice *slice)
{
    struct cut *cut = cut_of(sink);
    cut->slice_kept = false;
    const struct slice begin = async_slice_begin(slice);
    if (selects_event(cut, 'b', &begin) && cut_touches(cut, slice->start, slice->end))
        cut->whole->format->async(cut->whole, slice);
}

static void write_flow(struct sink *sink, const struct flow *flow)
{
    struct cut *cut = cut_of(sink);
    if (cut->slice_kept && flow->category != CATEGORY_FWDBWD && id_set_has(&cut->kept, flow->id))
        cut->whole->format->flow(cut->whole, flow);
}

/* --- counters --- */

/* Keeps a copy of COUNTER, with its name and values. */
static void keep(struct cut *cut, struct cut_counter *kept, const struct counter *counter)
{
    size_t size = counter->name.length + 1;
    for (size_t i = 0; i < counter->value_count; i++)
        size += counter->values[i].length;
    char *texts = realloc(kept->texts, size), *at = texts;
    kept->texts = texts ? texts : kept->texts;
    struct counter_value *values = realloc(kept->values, (counter->value_count + 1) * sizeof(*values));
    kept->values = values ? values : kept->values;
    if (!texts || !values) {
        cut->selection.no_memory = true;
        return;
    }
    kept->counter = *counter;
    kept->counter.name = name_passing(at, counter->name.length);
    at = mempcpy(at, counter->name.text, counter->name.length);
    for (size_t i = 0; i < counter->value_count; i++) {
        values[i] = counter->values[i];
        values[i].name = at;
        at = mempcpy(at, counter->values[i].name, counter->values[i].length);
    }
    kept->counter.values = values;
    kept->held = true;
}

static void write_kept(struct cut *cut, struct cut_counter *kept)
{
    const struct window *window = kept->held ? windows_next(&cut->windows, (int64_t)kept->counter.time) : NULL;
    kept->held = false;
    if (!window || kept->given == (uint64_t)window->start)
        return;
    kept->counter.time = (uint64_t)window->start;
    cut->whole->format->counter(cut->whole, &kept->counter);
}

static void write_counter(struct sink *sink, const struct counter *counter)
{
    struct cut *cut = cut_of(sink);
    cut->slice_kept = false;
    const struct window *next = windows_next(&cut->windows, (int64_t)counter->time);
    if (!next || !selection_has_row(&cut->selection, selection_id(counter->pid)))
        return;
    uint64_t key[] = {counter->pid, hash_bytes(counter->name.text, counter->name.length)};
    struct cut_counter *kept = PUT_ITEM(&cut->counters, &cut->counter_of_name, hash_bytes(key, sizeof(key)));
    if (!kept) {
        cut->selection.no_memory = true;
        return;
    }
    bool inside = (int64_t)counter->time >= next->start;
    bool same = kept->held && windows_next(&cut->windows, (int64_t)kept->counter.time) == next;
    if (inside) {
        kept->given = (int64_t)counter->time == next->start ? counter->time : kept->given;
        write_kept(cut, kept);
        cut->whole->format->counter(cut->whole, counter);
    } else if (!same || counter->time >= kept->counter.time) {
        if (!same)
            write_kept(cut, kept);
        keep(cut, kept, counter);
    }
}

void cut_write_rest(struct cut *cut)
{
    for (size_t i = 0; i < cut->counters.count; i++)
        write_kept(cut, &cut->counters.items[i]);
}

static void write_finish(struct sink *sink)
{
    struct cut *cut = cut_of(sink);
    cut_write_rest(cut);
    cut->whole->format->finish(cut->whole);
}

static const struct sink_format writer = {
    .piece_scale = 1,
    .metadata = cut_write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow = write_flow,
    .finish = write_finish,
};

struct sink *cut_writer(struct cut *cut, struct sink *whole)
{
    cut->format = writer;
    cut->format.name = whole->format->name;
    cut->whole = whole;
    sink_init(&cut->sink, &cut->format, whole->buffer);
    return &cut->sink;
}

int cut_written(const struct cut *cut)
{
    return cut->selection.no_memory ? error_no_memory("the trace's events") : 0;
}
