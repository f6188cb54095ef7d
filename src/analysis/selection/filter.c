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
                int (*give)(void *context, const struct event_fields *event), void *context)
{
    *filter = (struct filter){.options = options,
                              .trace = trace,
                              .give = give,
                              .context = context,
                              .from = INT64_MIN,
                              .to = INT64_MAX,
                              .only_process = EVENT_NO_ID};
    if (options->kernel && filter_compile(options, &filter->kernel) < 0)
        return -1;
    filter->has_kernel = options->kernel != NULL;
    return 0;
}

static int free_event(void *context, uint64_t key, uint64_t *value)
{
    free((void *)(uintptr_t)*value);
    return 0;
}

void filter_release(struct filter *filter)
{
    if (filter->has_kernel)
        regfree(&filter->kernel);
    if (filter->trace->heap)
        filter->trace->heap->windows = NULL;
    windows_release(&filter->windows);
    windows_release(&filter->times);
    id_set_release(&filter->known);
    id_set_release(&filter->kept);
    array_release(&filter->gpu_rows);
    array_release(&filter->kernels);
    map_release(&filter->gpu_labels);
    filter_found_release(&filter->found);
    map_release(&filter->processes);
    map_release(&filter->open);
    map_each(&filter->early, free_event, NULL);
    map_release(&filter->early);
    dense_map_release(&filter->counter_ids);
    array_release(&filter->counters);
}

/* --- what an event has --- */

static const struct trace_gpu_row *gpu_row(const struct filter *filter, event_id row)
{
    for (size_t i = 0; i < filter->gpu_rows.count; i++)
        if (filter->gpu_rows.items[i].row == row)
            return &filter->gpu_rows.items[i];
    return NULL;
}

/* Whether PROCESS is the one, or of the rank, that is asked for. */
static bool selects(const struct filter *filter, event_id process)
{
    return !filter->by_process || map_get(&filter->processes, process);
}

/* Of an event of a GPU whose call is not looked at. */
static bool is_of_process(const struct filter *filter, const struct event_fields *event)
{
    const struct trace_gpu_row *row = gpu_row(filter, event->process);
    return selects(filter, event->process) || selects(filter, row ? row->process : filter->only_process);
}

static bool is_on_gpu(const struct filter *filter, int64_t device)
{
    return !filter->options->gpu.given || device == filter->options->gpu.number;
}

static bool is_on_stream(const struct filter *filter, const struct event_fields *event)
{
    return !filter->options->stream.given || trace_event_stream(event) == filter->options->stream.number;
}

/* Whether --gpu, --stream and --kernel hold for an event of a GPU. -1: no memory. */
static int is_selected_op(struct filter *filter, const struct event_fields *event, uint32_t full_name)
{
    if (!is_on_gpu(filter, trace_event_device(event)) || !is_on_stream(filter, event))
        return 0;
    if (!filter->has_kernel || !category_in(event->category, CATEGORIES_GPU_OPS | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT)))
        return 1;
    if (event->category != CATEGORY_KERNEL && event->category != CATEGORY_GPU_IN_FLIGHT)
        return 0;
    /* Whether the name of the kernel matches. */
    const struct interner *strings = &filter->trace->strings;
    if (full_name == EVENT_NO_TEXT)
        return 0;
    char *known = array_at(&filter->kernels, full_name);
    if (!known)
        return -1;
    if (*known == 0)
        *known = regexec(&filter->kernel, interned(strings, full_name), 0, NULL, 0) == 0 ||
                         regexec(&filter->kernel, interned(strings, event->name), 0, NULL, 0) == 0
                     ? 1
                     : 2;
    filter->found.kernel |= *known == 1;
    return *known == 1;
}

/* Its thread, where it is of one. */
static event_id thread_of(const struct event_fields *event)
{
    return event->of_thread != FIELD_ABSENT ? event_id_number(event->of_thread) : event->thread;
}

/* --- what there is, for options that select nothing --- */

static int note(struct filter *filter, enum filter_number what, int64_t number)
{
    return filter_found_note(&filter->found, filter->options, what, number);
}

static int note_process(struct filter *filter, const struct event_fields *event)
{
    return event_id_is_text(event->process) ? 0 : note(filter, FILTER_PROCESS, event_id_value(event->process));
}

static int note_host(struct filter *filter, const struct event_fields *event)
{
    if (is_memory(filter, event) && note(filter, FILTER_GPU, event->device) < 0)
        return -1;
    if (note_process(filter, event) < 0)
        return -1;
    event_id thread = thread_of(event);
    return event_id_is_text(thread) ? 0 : note(filter, FILTER_THREAD, event_id_value(thread));
}

static int note_gpu(struct filter *filter, const struct event_fields *event, int64_t device)
{
    filter->found.found[FILTER_PROCESS] |= filter->options->process.given && is_of_process(filter, event);
    return note(filter, FILTER_GPU, device);
}

/* --- which events count --- */

static bool is_in_windows(const struct filter *filter, int64_t time)
{
    return !filter->ranged || windows_around(&filter->windows, time);
}

/* Whether an event of a GPU is the selected process's and thread's, and of the selected ranges. */
static bool is_launched(const struct filter *filter, const struct event_fields *event)
{
    bool correlated = event->correlation >= 0 && event->correlation <= UINT32_MAX;
    const struct trace_gpu_row *row = filter->by_process ? gpu_row(filter, event->process) : NULL;
    if (row && !selects(filter, row->process))
        return false;
    if (filter->by_call && correlated && id_set_has(&filter->known, (uint32_t)event->correlation))
        return id_set_has(&filter->kept, (uint32_t)event->correlation);
    return !filter->options->thread.given && is_of_process(filter, event) && is_in_windows(filter, event->start);
}

static bool is_on_thread(const struct filter *filter, const struct event_fields *event)
{
    const struct selected_number *thread = &filter->options->thread;
    return !thread->given || thread_of(event) == event_id_number(thread->number);
}

enum verdict { VERDICT_NO_MEMORY = -1, DROPPED, OUTSIDE, COUNTS };

/* Without regard to where it is cut. OUTSIDE: of another thread or range. */
static enum verdict judge(struct filter *filter, const struct event_fields *event, uint32_t full_name)
{
    if (category_in(event->category, CATEGORIES_ON_GPU)) {
        bool noted = note_gpu(filter, event, trace_event_device(event)) == 0 &&
                     note(filter, FILTER_STREAM, trace_event_stream(event)) == 0;
        int counts = noted ? is_selected_op(filter, event, full_name) : -1;
        return counts < 0 ? VERDICT_NO_MEMORY : counts && is_launched(filter, event) ? COUNTS : DROPPED;
    }
    if (note_host(filter, event) < 0)
        return VERDICT_NO_MEMORY;
    if (!selects(filter, event->process))
        return DROPPED;
    if (is_memory(filter, event) && event->device >= 0 && !is_on_gpu(filter, event->device))
        return DROPPED;
    return is_on_thread(filter, event) && is_in_windows(filter, event->start) ? COUNTS : OUTSIDE;
}

/* --- time --- */

/* Cuts a slice. False: nothing of the event is left. */
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

/* -1: no memory. */
static int is_selected_counter(struct filter *filter, const struct event_fields *event)
{
    const struct trace_gpu_row *row = gpu_row(filter, event->process);
    const uint64_t *label = map_get(&filter->gpu_labels, event->process);
    if (!row && !label)
        return note_process(filter, event) < 0 ? -1 : selects(filter, event->process);
    int64_t device = row ? row->device : (int64_t)*label;
    return note_gpu(filter, event, device) < 0 ? -1 : is_of_process(filter, event) && is_on_gpu(filter, device);
}

/* Gives what is held of a counter, at the start of the window behind it. */
static int give_held(struct filter *filter, struct filter_counter *counter)
{
    const struct window *window = counter->held ? windows_next(&filter->times, counter->event.start) : NULL;
    counter->held = false;
    if (!window || counter->given == window->start)
        return 0;
    counter->event.start = window->start;
    return filter->give(filter->context, &counter->event);
}

/* EVENT is a copy. */
static int hold(struct filter *filter, struct filter_counter *counter, const struct event_fields *event)
{
    const struct window *next = windows_next(&filter->times, event->start);
    bool same = counter->held && windows_next(&filter->times, counter->event.start) == next;
    if (!next || (same && event->start < counter->event.start)) /* behind the last; or earlier than what is held */
        return 0;
    if (!same && give_held(filter, counter) < 0)
        return -1;
    event_copy(&counter->event, event);
    counter->held = true;
    return 0;
}

static int pass_counter(struct filter *filter, const struct event_fields *event)
{
    const struct counter_key key = {event->process, event->name};
    size_t before = filter->counters.count;
    int selected = is_selected_counter(filter, event);
    if (selected <= 0)
        return selected < 0 ? error_no_memory("counters") : 0;
    if (filter->times.items.count == 0)
        return filter->give(filter->context, event);
    struct filter_counter *counter = dense_map_item(&filter->counter_ids, &key, &filter->counters);
    if (!counter)
        return error_no_memory("counters");
    if (filter->counters.count > before)
        *counter = (struct filter_counter){.given = FIELD_ABSENT};
    struct event_fields incoming = *event; /* as what is held may be given in its place */
    const struct window *around = windows_around(&filter->times, incoming.start);
    if (!around)
        return hold(filter, counter, &incoming);
    counter->given = incoming.start == around->start ? incoming.start : counter->given;
    if (counter->held && windows_next(&filter->times, counter->event.start)->start <= incoming.start &&
        give_held(filter, counter) < 0)
        return -1;
    return filter->give(filter->context, &incoming);
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
    enum verdict verdict = judge(filter, event, event->name);
    if (verdict != COUNTS || event->start > filter->to)
        return verdict == VERDICT_NO_MEMORY ? error_no_memory("names") : 0;
    if (event->start < filter->from)
        return event->id != EVENT_NO_ID ? hold_early(filter, event) : 0;
    uint64_t *count = map_put(&filter->open, range_key(event), NULL);
    if (!count)
        return error_no_memory("ranges");
    ++*count;
    return filter->give(filter->context, event);
}

/* A range that began before `from`, and goes on there. */
static int give_early(void *context, uint64_t key, uint64_t *value)
{
    struct filter *filter = context;
    struct event_fields *event = (struct event_fields *)(uintptr_t)*value;
    event->start = filter->from;
    return filter->give(filter->context, event);
}

static int end_range(struct filter *filter, struct event_fields *event)
{
    uint64_t key = range_key(event), *early = map_get(&filter->early, key), *count = map_get(&filter->open, key);
    struct event_fields incoming = *event;
    incoming.start = event->start < filter->to ? event->start : filter->to;
    if (early) {
        int status = event->start > filter->from ? give_early(filter, key, early) : 0;
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
    return filter->give(filter->context, &incoming);
}

/* --- */

/* Which rows are GPUs', for counters. Kineto labels rows of GPUs that a trace has nothing of, too. */
static int read_label(struct filter *filter, const struct event_fields *event)
{
    const struct trace *trace = filter->trace;
    if (strcmp(trace_text(trace, event->name), "process_labels") != 0 ||
        strncmp(trace_text(trace, event->label), "GPU ", strlen("GPU ")) != 0)
        return 0;
    uint64_t *device = map_put(&filter->gpu_labels, event->process, NULL);
    if (!device)
        return error_no_memory("the trace's rows");
    *device = strtoull(trace_text(trace, event->label) + strlen("GPU "), NULL, 10);
    return 0;
}

int filter_event(struct filter *filter, struct event_fields *event, uint32_t full_name)
{
    if (filter->nothing && event->phase != 'M')
        return 0;
    switch (event->phase) {
    case 'M':
        if (read_label(filter, event) < 0)
            return -1;
        return filter->give(filter->context, event);
    case 's':
    case 'f': return filter->give(filter->context, event);
    case 'C': return pass_counter(filter, event);
    case 'b': return begin_range(filter, event);
    case 'e': return end_range(filter, event);
    default: break;
    }
    enum verdict verdict = judge(filter, event, full_name);
    if (verdict == VERDICT_NO_MEMORY)
        return error_no_memory("names");
    if (verdict == COUNTS && cut(filter, event))
        return filter->give(filter->context, event);
    if (verdict == DROPPED || !is_memory(filter, event) || !is_before_end(filter, event->start))
        return 0;
    event->phase = HEAP_OUTSIDE;
    return filter->give(filter->context, event);
}

int filter_finish(struct filter *filter, const char *path)
{
    if (filter->nothing)
        return 0;
    if (filter_found_check(&filter->found, filter->options, path, filter->trace->options->missed) < 0)
        return -1;
    for (size_t i = 0; i < filter->counters.count; i++)
        if (give_held(filter, &filter->counters.items[i]) < 0)
            return -1;
    return map_each(&filter->early, give_early, filter);
}
