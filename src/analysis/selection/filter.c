/*
 * The filter decides about each event as it comes, and holds back only the last value of each counter before a window,
 * and ranges that began before --from and may end after it.
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

static bool is_memory(const struct filter *filter, const struct event_fields *event)
{
    return (event->phase == 'i' || event->phase == 'I') &&
           (event->category == CATEGORY_MEMORY || heap_is_pytorch(&filter->trace->strings, event));
}

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

/* --- which events count --- */

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

/* Cuts a slice to the time from `from` to `to`. Returns false if nothing of the event is left. */
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

/* Whether what is allocated at TIME may still be in a window. */
static bool is_before_end(const struct filter *filter, int64_t time)
{
    return filter->times.items.count == 0 || windows_next(&filter->times, time);
}

/* --- counters --- */

struct counter_key {
    event_id row;
    uint64_t name;
};

/* Passes the held value of a counter on, at the start of the window that follows it. */
static int publish_held(struct filter *filter, struct filter_counter *counter)
{
    const struct window *window = counter->held ? windows_next(&filter->times, counter->event.start) : NULL;
    counter->held = false;
    if (!window || counter->valued == window->start)
        return 0;
    counter->event.start = window->start;
    return filter->receive(filter->context, &counter->event);
}

/* Holds a value until the next window begins, unless a later one is held for that window. EVENT is a copy. */
static int hold(struct filter *filter, struct filter_counter *counter, const struct event_fields *event)
{
    const struct window *next = windows_next(&filter->times, event->start);
    bool same = counter->held && windows_next(&filter->times, counter->event.start) == next;
    if (!next ||
        (same && event->start < counter->event.start)) /* after the last window; or earlier than the held value */
        return 0;
    if (!same && publish_held(filter, counter) < 0)
        return -1;
    event_copy(&counter->event, event);
    counter->held = true;
    return 0;
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
    struct event_fields incoming = *event; /* a copy, as passing the held value on may overwrite *EVENT */
    const struct window *around = windows_around(&filter->times, incoming.start);
    if (!around)
        return hold(filter, counter, &incoming);
    counter->valued = incoming.start == around->start ? incoming.start : counter->valued;
    if (counter->held && windows_next(&filter->times, counter->event.start)->start <= incoming.start &&
        publish_held(filter, counter) < 0)
        return -1;
    return filter->receive(filter->context, &incoming);
}

/* --- ranges that are begun and ended apart --- */

static int hold_early(struct filter *filter, const struct event_fields *event)
{
    uint64_t *place = map_put(&filter->early, range_key(event), NULL);
    struct event_fields *kept = place ? malloc(sizeof(*kept)) : NULL;
    if (!kept)
        return error_no_memory("ranges");
    event_copy(kept, event);
    free((void *)(uintptr_t)*place);
    *place = (uint64_t)(uintptr_t)kept;
    return 0;
}

static int begin_range(struct filter *filter, const struct event_fields *event)
{
    enum selection_verdict verdict = judge(filter, event, event->name);
    if (verdict != SELECTION_COUNTS || event->start > filter->to)
        return 0;
    if (event->start < filter->from)
        return event->id != EVENT_NO_ID ? hold_early(filter, event) : 0;
    uint64_t *count = map_put(&filter->open, range_key(event), NULL);
    if (!count)
        return error_no_memory("ranges");
    ++*count;
    filter->any = true;
    return filter->receive(filter->context, event);
}

/* Passes the begin of a range that is open at `from` on, with that time. */
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
    if (verdict == SELECTION_ELSEWHERE || !is_memory(filter, event) || !is_before_end(filter, event->start))
        return 0;
    event->phase = HEAP_OUTSIDE;
    return filter->receive(filter->context, event);
}

/* Whether OPTIONS select by more than time: a time in which nothing happened may be asked for. */
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
