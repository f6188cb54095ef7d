/*
 * The filter decides about each event at once. It holds back only the last value of each counter before a window, and
 * asynchronous ranges that began before --from and may end after it.
 */
#include "analysis/selection/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "analysis/engine/heap.h"
#include "analysis/engine/ranges.h"
#include "analysis/engine/trace_known.h"
#include "common/text.h"
#include "analysis/steps/steps.h"

/* --- options --- */

bool filter_reads_twice(const struct filter_options *options)
{
    return options->from.text || options->to.text || options->range || options->step.given || options->rank.given ||
           options->process.given || options->thread.given;
}

int filter_init(struct filter *filter, const struct filter_options *options, struct trace *trace,
                int (*receive)(void *context, const struct event_fields *event), void *context)
{
    *filter =
        (struct filter){.trace = trace, .receive = receive, .context = context, .from = INT64_MIN, .to = INT64_MAX};
    return selection_init(&filter->selection, options);
}

static int free_event(void *context, uint64_t key, uint64_t *value)
{
    free((void *)(uintptr_t)*value);
    return 0;
}

void filter_release(struct filter *filter)
{
    if (filter->trace->heap)
        filter->trace->heap->windows = NULL;
    windows_release(&filter->windows);
    windows_release(&filter->times);
    selection_release(&filter->selection);
    map_release(&filter->open);
    map_each(&filter->early, free_event, NULL);
    map_release(&filter->early);
    dense_map_release(&filter->counter_ids);
    array_release(&filter->counters);
}

/* --- whether an event is selected --- */

static enum selection_verdict judge(struct filter *filter, const struct event_fields *event, uint32_t full_name)
{
    struct selection *selection = &filter->selection;
    bool kernel = event->category == CATEGORY_KERNEL || event->category == CATEGORY_GPU_IN_FLIGHT;
    if (!selection->has_kernel || !kernel || full_name == EVENT_NO_TEXT)
        return selection_judge(selection, event, false);
    const char *full = trace_text(filter->trace, full_name), *name = trace_text(filter->trace, event->name);
    return selection_judge(selection, event,
                           selection_matches(selection, full, strlen(full)) ||
                               (name != full && selection_matches(selection, name, strlen(name))));
}

/* --- time --- */

/* Cuts a slice to the time from filter->from to filter->to. Returns false if nothing of the event is left. */
static bool cut(const struct filter *filter, struct event_fields *event)
{
    int64_t end = event->start + event->duration;
    if (!filter->cuts)
        return true;
    if (event->phase != 'X' || event->duration == 0)
        return event->start >= filter->from && event->start <= filter->to;
    if (end <= filter->from || event->start >= filter->to)
        return false;
    event->start = event->start > filter->from ? event->start : filter->from;
    event->duration = (end < filter->to ? end : filter->to) - event->start;
    return true;
}

/* --- counters --- */

struct counter_key {
    event_id row;
    uint64_t name;
};

/* Passes on the held value of a counter, if any, with the start of the next window as its time. */
static int publish_held(struct filter *filter, struct filter_counter *counter)
{
    const struct window *window = counter->held ? windows_next(&filter->times, counter->event.start) : NULL;
    counter->held = false;
    if (!window || counter->valued == window->start)
        return 0;
    counter->event.start = window->start;
    return filter->receive(filter->context, &counter->event);
}

static int pass_counter(struct filter *filter, const struct event_fields *event)
{
    const struct counter_key key = {event->process, event->name};
    size_t before = filter->counters.count;
    for (; filter->rows < filter->trace->gpu_rows.count; filter->rows++)
        selection_add_row(&filter->selection, &filter->trace->gpu_rows.items[filter->rows]);
    if (!selection_judge_counter(&filter->selection, event->process))
        return 0;
    filter->any = true;
    if (filter->times.items.count == 0)
        return filter->receive(filter->context, event);
    struct filter_counter *counter = dense_map_item(&filter->counter_ids, &key, &filter->counters);
    if (!counter)
        return error_no_memory("counters");
    if (filter->counters.count > before)
        *counter = (struct filter_counter){.valued = FIELD_ABSENT};
    struct event_fields incoming = *event; /* a copy, because passing on the held value may overwrite *EVENT */
    const struct window *around = windows_around(&filter->times, incoming.start);
    if (!around) {
        const struct window *next = windows_next(&filter->times, incoming.start);
        bool same = counter->held && windows_next(&filter->times, counter->event.start) == next;
        if (!next ||
            (same && incoming.start < counter->event.start)) /* after the last window, or before the held value */
            return 0;
        if (!same && publish_held(filter, counter) < 0)
            return -1;
        event_copy(&counter->event, &incoming);
        counter->held = true;
        return 0;
    }
    counter->valued = incoming.start == around->start ? incoming.start : counter->valued;
    if (counter->held && windows_next(&filter->times, counter->event.start)->start <= incoming.start &&
        publish_held(filter, counter) < 0)
        return -1;
    return filter->receive(filter->context, &incoming);
}

/* --- asynchronous ranges, whose begin and end are separate events --- */

static int begin_range(struct filter *filter, const struct event_fields *event)
{
    enum selection_verdict verdict = judge(filter, event, event->name);
    if (verdict != SELECTION_COUNTS || event->start > filter->to)
        return 0;
    if (event->start < filter->from) {
        if (event->id == EVENT_NO_ID)
            return 0;
        uint64_t *place = map_put(&filter->early, range_key(event), NULL);
        struct event_fields *kept = place ? malloc(sizeof(*kept)) : NULL;
        if (!kept)
            return error_no_memory("ranges");
        event_copy(kept, event);
        free((void *)(uintptr_t)*place);
        *place = (uint64_t)(uintptr_t)kept;
        return 0;
    }
    uint64_t *count = map_put(&filter->open, range_key(event), NULL);
    if (!count)
        return error_no_memory("ranges");
    ++*count;
    filter->any = true;
    return filter->receive(filter->context, event);
}

/* Passes on the begin of a range that is open at filter->from, with that time. */
static int publish_early(void *context, uint64_t key, uint64_t *value)
{
    struct filter *filter = context;
    struct event_fields *event = (struct event_fields *)(uintptr_t)*value;
    event->start = filter->from;
    return filter->receive(filter->context, event);
}

static int end_range(struct filter *filter, struct event_fields *event)
{
    uint64_t key = range_key(event), *early = map_get(&filter->early, key), *count = map_get(&filter->open, key);
    struct event_fields incoming = *event;
    incoming.start = event->start < filter->to ? event->start : filter->to;
    if (early) {
        int status = event->start > filter->from ? publish_early(filter, key, early) : 0;
        free_event(NULL, key, early);
        map_remove(&filter->early, key);
        if (status < 0 || event->start <= filter->from)
            return status;
    } else if (count && *count > 0) {
        if (--*count == 0)
            map_remove(&filter->open, key);
    } else {
        return 0;
    }
    return filter->receive(filter->context, &incoming);
}

/* --- */

int filter_event(struct filter *filter, struct event_fields *event, uint32_t full_name)
{
    if (filter->nothing && event->phase != 'M')
        return 0;
    switch (event->phase) {
    case 'M':
        if (strcmp(trace_text(filter->trace, event->name), "process_labels") == 0)
            selection_add_label(&filter->selection, event->process, trace_text(filter->trace, event->label));
        return filter->receive(filter->context, event);
    case 's':
    case 'f': return filter->receive(filter->context, event);
    case 'C': return pass_counter(filter, event);
    case 'b': return begin_range(filter, event);
    case 'e': return end_range(filter, event);
    default: break;
    }
    enum selection_verdict verdict = judge(filter, event, full_name);
    if (verdict == SELECTION_COUNTS && cut(filter, event)) {
        filter->any = true;
        return filter->receive(filter->context, event);
    }
    bool memory = (event->phase == 'i' || event->phase == 'I') &&
                  (event->category == CATEGORY_MEMORY || heap_is_pytorch(&filter->trace->strings, event));
    bool ended = filter->times.items.count > 0 && !windows_next(&filter->times, event->start);
    if (verdict == SELECTION_ELSEWHERE || !memory || ended)
        return 0;
    event->phase = HEAP_OUTSIDE;
    return filter->receive(filter->context, event);
}

/* Whether OPTIONS select by more than time. Only then it is an error if nothing is selected. */
static bool selects_things(const struct filter_options *options)
{
    bool some = options->kernel != NULL;
#define SELECTS(word, ...) some |= options->word.given;
    FILTER_NUMBERS(SELECTS)
#undef SELECTS
    return some;
}

int filter_finish(struct filter *filter, const char *path)
{
    if (filter->nothing)
        return 0;
    if (filter->selection.no_memory)
        return error_no_memory("the trace's events");
    const struct filter_options *options = filter->selection.options;
    struct filter_missed *missed = filter->trace->options->missed;
    int status = filter_found_check(&filter->selection.found, options, path, missed);
    if (status == 0 && !filter->any && map_count(&filter->early) == 0 && selects_things(options))
        status = filter_missing(missed, "'%s' has nothing that all of these options select", path);
    if (status < 0)
        return -1;
    for (size_t i = 0; i < filter->counters.count; i++)
        if (publish_held(filter, &filter->counters.items[i]) < 0)
            return -1;
    return map_each(&filter->early, publish_early, filter);
}

/* --- the scan: the selected ranges (by name, and by their number on a thread, from 1 on) or steps (of steps_gather())
 * become windows, which are clipped to --from and --to --- */

void filter_scan_want(const struct filter_options *options, struct trace *first)
{
    bool steps = options->step.given;
    first->wanted.ranges = options->range || steps;
    first->wanted.calls =
        first->wanted.ranges || options->rank.given || options->process.given || options->thread.given;
    first->wanted.gpu_ops = first->wanted.launched_ops = first->wanted.host_calls = steps;
}

/* --- processes --- */

/* Whether OPTIONS select the process of this id. */
static bool selects(const struct filter_options *options, const struct trace *first, event_id process)
{
    const struct trace_rank *rank = options->rank.given ? trace_rank_of(first, process) : NULL;
    return (!options->process.given || process == event_id_number(options->process.number)) &&
           (!options->rank.given || (rank && rank->rank == options->rank.number));
}

/* --- windows --- */

struct gathering {
    const struct filter_options *options;
    const struct trace *first;
    const char *path;
    struct filter_missed *missed;
    struct windows *windows;
    int64_t wanted;      /* number of the occurrence or step */
    int64_t least, most; /* the smallest and the largest number so far */
    bool any, all;
};

static int add_window(struct gathering *gathering, int64_t number, int64_t start, int64_t end)
{
    if (!gathering->any || number < gathering->least)
        gathering->least = number;
    if (!gathering->any || number > gathering->most)
        gathering->most = number;
    gathering->any = true;
    if (!gathering->all && number != gathering->wanted)
        return 0;
    return windows_add(gathering->windows, start, end);
}

/* Adds the ranges called NAME (LENGTH bytes), of any domain and depth, as windows; they are counted from 1 on each
 * thread. Returns 0, or -1: no memory, or after error(). */
static int add_named(struct gathering *gathering, const char *name, size_t length)
{
    const struct trace *first = gathering->first;
    struct sorter_walk walk;
    const struct range *range;
    int64_t count = 0;
    uint32_t thread = 0;
    int status = 0;
    sorter_walk_begin(&walk, &first->ranges.sorter);
    while (status == 0 && (range = sorter_next(&walk))) {
        const char *text = trace_text(first, range->name);
        const struct trace_thread_id *ids = dense_map_row(&first->thread_ids, range->thread);
        count = range->thread == thread ? count : 0;
        thread = range->thread;
        if (strncmp(text, name, length) == 0 && text[length] == '\0' &&
            selects(gathering->options, first, ids->process))
            status = add_window(gathering, ++count, range->start, range->end);
    }
    return sorter_walk_end(&walk) ?: status;
}

static int no_range(const struct gathering *gathering)
{
    const char *wanted = gathering->options->range;
    struct suggestion nearest = suggestion_for(wanted, strlen(wanted));
    const struct range *range;
    if (SORTER_EACH(&gathering->first->ranges.sorter, range,
                    ((void)suggestion_consider(&nearest, trace_text(gathering->first, range->name)), 0)) < 0)
        return error_no_memory("ranges");
    return filter_missing(gathering->missed, "'%s' has no range '%s'%s%s%s", gathering->path, wanted,
                          nearest.word ? ": did you mean '" : "", nearest.word ? nearest.word : "",
                          nearest.word ? "'?" : "");
}

/* Adds the ranges with exactly the name in --range. If there are none, the name may be NAME/OCCURRENCE, and that
 * occurrence of NAME is added. */
static int find_range(struct gathering *gathering)
{
    const char *wanted = gathering->options->range;
    uint64_t occurrence;
    gathering->all = true;
    if (add_named(gathering, wanted, strlen(wanted)) < 0)
        return error_no_memory("ranges");
    size_t length = gathering->any ? 0 : range_name_split(wanted, &occurrence);
    if (length == 0)
        return gathering->any ? 0 : no_range(gathering);
    gathering->all = false;
    gathering->wanted = occurrence <= INT64_MAX ? (int64_t)occurrence : INT64_MAX;
    if (add_named(gathering, wanted, length) < 0)
        return error_no_memory("ranges");
    if (!gathering->any)
        return no_range(gathering);
    if (gathering->wanted > gathering->most)
        return filter_missing(gathering->missed, "--range=%s: '%s' has the range only %" PRId64 " time%s", wanted,
                              gathering->path, gathering->most, gathering->most == 1 ? "" : "s");
    return 0;
}

static int no_step(const struct steps *steps, const struct gathering *gathering)
{
    if (!gathering->any)
        return filter_missing(gathering->missed,
                              "'%s' has no steps: neither ranges 'ProfilerStep#N' nor anything that repeats",
                              gathering->path);
    const struct steps_process *process = &steps->processes.items[0];
    const char *name = process->name == EVENT_NO_TEXT ? STEPS_OF_OPERATIONS : interned(&steps->names, process->name);
    return filter_missing(gathering->missed, "'%s' has no step %" PRId64 ": its steps, %s, are %" PRId64 " to %" PRId64,
                          gathering->path, gathering->wanted, name, gathering->least, gathering->most);
}

static int find_step(struct gathering *gathering)
{
    const struct trace *first = gathering->first;
    struct steps steps = {0};
    int status = steps_gather(&steps, first);
    gathering->wanted = gathering->options->step.number;
    /* Add the step with that number of each process. */
    for (size_t i = 0; i < steps.processes.count && status == 0; i++) {
        const struct steps_process *process = &steps.processes.items[i];
        const event_id *id = dense_map_row(&first->process_ids, process->process);
        for (size_t k = 0; k < process->items.count && status == 0 && selects(gathering->options, first, *id); k++) {
            const struct step *step = &process->items.items[k];
            status = add_window(gathering, step->number, step->from, step->to);
        }
    }
    if (status < 0)
        status = error_no_memory("ranges");
    else if (gathering->windows->items.count == 0)
        status = no_step(&steps, gathering);
    steps_release(&steps);
    return status;
}

int filter_scan_windows(const struct filter_options *options, const struct trace *first, const char *path,
                        struct filter_missed *missed, struct windows *windows)
{
    struct gathering gathering = {
        .options = options, .first = first, .path = path, .missed = missed, .windows = windows};
    int status = options->range ? find_range(&gathering) : options->step.given ? find_step(&gathering) : 0;
    return status == 0 && windows_finish(windows) < 0 ? error_no_memory("ranges") : status;
}

/* Sets filter->times to the parts of the windows from filter->from to filter->to, inclusive. */
static int find_times(struct filter *filter, const char *path)
{
    const struct windows *windows = filter->selection.windows;
    int64_t to = filter->to < INT64_MAX ? filter->to + 1 : filter->to;
    int status = windows || filter->cuts ? windows_clip(&filter->times, windows, 0, filter->from, to) : 0;
    if (status == 0 && windows && filter->times.items.count == 0) {
        if (windows->items.items[0].start > filter->to)
            return filter_missing(filter->trace->options->missed, "'%s' has the range only after --to=%s", path,
                                  filter->selection.options->to.text);
        status = windows_add(&filter->times, filter->from,
                             filter->from); /* GPU work that the range launched may still run then */
    }
    return status < 0 ? error_no_memory("ranges") : 0;
}

/* --- calls --- */

static int find_calls(struct selection *selection, const struct trace *first)
{
    struct calls_walk walk;
    const struct call *call;
    calls_walk_begin(&walk, &first->calls);
    while ((call = calls_next(&walk))) {
        const struct trace_thread_id *thread = dense_map_row(&first->thread_ids, call->thread);
        selection_add_call(selection, thread->process, thread->thread, call->correlation, call->start);
    }
    return sorter_walk_end(&walk.walk) < 0 || selection->no_memory ? error_no_memory("calls") : 0;
}

int filter_scan_apply(struct filter *filter, const struct trace *first, const char *path)
{
    struct selection *selection = &filter->selection;
    const struct filter_options *options = selection->options;
    struct filter_missed *missed = filter->trace->options->missed;
    int64_t times[2] = {INT64_MIN, INT64_MAX};
    filter->cuts = first->any && (options->from.text || options->to.text);
    selection->windows = options->range || options->step.given ? &filter->windows : NULL;
    filter->trace->only_rank = &options->rank;
    for (size_t i = 0; i < first->ranks.count; i++)
        selection_add_rank(selection, first->ranks.items[i].process, first->ranks.items[i].rank);
    for (size_t i = 0; i < first->gpu_rows.count; i++)
        selection_add_row(selection, &first->gpu_rows.items[i]);
    for (size_t i = 0; i < first->processes.count; i++) {
        const event_id process = *(const event_id *)dense_map_row(&first->process_ids, i);
        selection_add_label(selection, process, trace_text(first, first->processes.items[i].label));
        if (first->processes.items[i].host)
            selection_add_host(selection, process);
    }
    if (options->rank.given && !selection->found.found[FILTER_RANK]) /* filter_finish() prints the error */
        return 0;
    int status = filter->cuts
                     ? time_bounds_resolve(&options->from, &options->to, path, missed, first->start, first->end, times)
                     : 0;
    filter->from = times[0];
    filter->to = times[1];
    status = status ?: filter_scan_windows(options, first, path, missed, &filter->windows) ?: find_times(filter, path);
    if (status == 0 && first->wanted.calls)
        status = find_calls(selection, first);
    /* The report's trace begins and ends with the windows. */
    const struct windows *parts = &filter->times;
    struct trace *trace = filter->trace;
    if (status == 0 && parts->items.count > 0) {
        int64_t last = parts->items.items[parts->items.count - 1].end;
        trace->window = (struct trace_times){
            .first = parts->items.items[0].start, .last = last < filter->to ? last : filter->to, .any = true};
        if (trace->heap)
            trace->heap->windows = parts;
    }
    filter->nothing = status > 0;
    return status < 0 ? -1 : 0;
}
