/*
 * Ranges are compared by name, and counted from 1 on each thread; steps come from steps_gather(). Both become windows,
 * which are clipped to --from and --to.
 */
#include "analysis/selection/filter_scan.h"

#include <inttypes.h>
#include <string.h>

#include "common/log.h"
#include "common/map.h"
#include "common/text.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/heap.h"
#include "analysis/steps/steps.h"

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
    int64_t wanted;      /* the occurrence or step */
    int64_t least, most; /* the smallest and largest number in the trace */
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

/* Adds the ranges called NAME (LENGTH bytes) of any domain, inner ones included. They are counted from 1 on each
 * thread.
 */
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
    struct sorter_walk walk;
    const struct range *range;
    sorter_walk_begin(&walk, &gathering->first->ranges.sorter);
    while ((range = sorter_next(&walk)))
        suggestion_consider(&nearest, trace_text(gathering->first, range->name));
    if (sorter_walk_end(&walk) < 0)
        return error_no_memory("ranges");
    return filter_missing(gathering->missed, "'%s' has no range '%s'%s%s%s", gathering->path, wanted,
                          nearest.word ? ": did you mean '" : "", nearest.word ? nearest.word : "",
                          nearest.word ? "'?" : "");
}

/* Adds the ranges of exactly the name in --range. If there are none, the name is NAME/OCCURRENCE, and that occurrence
 * of NAME is added. */
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
    /* The step of that number in each process. */
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

/* Sets `times` to the parts of the windows between `from` and `to`, both included. */
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
                             filter->from); /* GPU work that the range launched may still run at this time */
    }
    return status < 0 ? error_no_memory("ranges") : 0;
}

/* Sets the begin and end of the report's trace to those of the windows. */
static void set_window(struct filter *filter)
{
    struct trace *trace = filter->trace;
    const struct windows *times = &filter->times;
    if (times->items.count == 0)
        return;
    trace->window = (struct trace_times){
        .first = times->items.items[0].start, .last = times->items.items[times->items.count - 1].end, .any = true};
    if (trace->window.last > filter->to)
        trace->window.last = filter->to;
    if (trace->heap)
        trace->heap->windows = times;
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
    if (options->rank.given && !selection->found.found[FILTER_RANK]) /* filter_finish() says so */
        return 0;
    int status = filter->cuts
                     ? time_bounds_resolve(&options->from, &options->to, path, missed, first->start, first->end, times)
                     : 0;
    filter->from = times[0];
    filter->to = times[1];
    status = status ?: filter_scan_windows(options, first, path, missed, &filter->windows) ?: find_times(filter, path);
    if (status == 0 && first->wanted.calls)
        status = find_calls(selection, first);
    if (status == 0)
        set_window(filter);
    filter->nothing = status > 0;
    return status < 0 ? -1 : 0;
}
