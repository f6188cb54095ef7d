/*
 * The first reading: what must be known before a part can be written.
 */
#include "trace/cut_parts.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/lookup.h"
#include "trace/json/text.h"

/* --- rows --- */

struct cut_row *cut_row_put(struct cut *cut, uint32_t pid)
{
    struct cut_row *row = PUT_ITEM(&cut->rows, &cut->row_of_pid, pid);
    cut->no_memory |= !row;
    return row;
}

static void look_at_process(struct sink *sink, const struct row_name *process)
{
    static const char label[] = "GPU ";
    struct cut_row *row = cut_row_put(cut_of(sink), process->row.pid);
    if (!row || row->gpu || !process->label || strncmp(process->label, label, strlen(label)) != 0)
        return;
    row->gpu = true;
    row->device = strtoll(process->label + strlen(label), NULL, 10);
}

/* --- the first reading --- */

/* Of each event; none but a slice has flows behind it. */
static void look_at_time(struct cut *cut, uint64_t start, uint64_t end)
{
    cut->slice_selected = false;
    cut->first = !cut->any || start < cut->first ? start : cut->first;
    cut->last = !cut->any || end > cut->last ? end : cut->last;
    cut->any = true;
}

static void look_at_program(struct cut *cut, uint64_t start, uint64_t end)
{
    look_at_time(cut, start, end);
    cut->program_first = !cut->any_program || start < cut->program_first ? start : cut->program_first;
    cut->program_last = !cut->any_program || end > cut->program_last ? end : cut->program_last;
    cut->any_program = true;
}

/* --- what is selected --- */

/* Sets *NUMBER to an argument, if it is there and not negative. */
static bool find_number(const struct arg *args, size_t count, enum arg_key key, uint64_t *number)
{
    bool found = false;
    for (const struct arg *arg = args; arg < args + count && !found; arg++) {
        if (arg->type == ARG_TYPE_LIST) {
            found = find_number(arg->list->items, arg->list->count, key, number);
        } else if (arg->type == ARG_TYPE_MEMBERS) {
            found = json_find_integer(arg->text, arg->length, arg_words[key].text, number);
        } else if (arg->key == key && (arg->type == ARG_TYPE_U64 || (arg->type == ARG_TYPE_I64 && arg->i64 >= 0))) {
            *number = arg->u64;
            found = true;
        }
    }
    return found;
}

static bool number_of(const struct slice *event, enum arg_key key, uint64_t *number)
{
    return event->args && find_number(event->args->items, event->args->count, key, number);
}

static void note(struct cut *cut, enum filter_number what, uint64_t number)
{
    if (number < JSON_WORD_ROWS)
        cut->no_memory |= filter_found_note(&cut->found, cut->options, what, (int64_t)number) < 0;
}

static bool matches(struct cut *cut, const struct name *name)
{
    regmatch_t all = {.rm_eo = (regoff_t)name->length};
    bool does = regexec(&cut->kernel, name->text, 1, &all, REG_STARTEND) == 0;
    cut->found.kernel |= does;
    return does;
}

/* Of an event of a GPU. What a thread launched is known after the first reading. */
static bool selects_operation(struct cut *cut, const struct slice *event)
{
    const struct filter_options *options = cut->options;
    uint64_t stream = event->row.tid, correlation = UINT64_MAX;
    if (options->stream.given) {
        number_of(event, ARG_STREAM, &stream);
        note(cut, FILTER_STREAM, stream);
        if (stream != (uint64_t)options->stream.number)
            return false;
    }
    bool kernel = event->category == CATEGORY_KERNEL || event->category == CATEGORY_GPU_IN_FLIGHT;
    if (options->kernel && (kernel ? !matches(cut, &event->name) : category_in(event->category, CATEGORIES_GPU_OPS)))
        return false;
    return !options->thread.given || !cut->looked ||
           (number_of(event, ARG_CORRELATION, &correlation) && correlation <= UINT32_MAX &&
            id_set_has(&cut->launched, (uint32_t)correlation));
}

bool cut_selects_event(struct cut *cut, const struct slice *event)
{
    const struct filter_options *options = cut->options;
    uint64_t thread = event->row.tid, device = 0, correlation;
    if (!cut_selects(cut, event->row.pid))
        return false;
    if (category_in(event->category, CATEGORIES_ON_GPU))
        return selects_operation(cut, event);
    if (options->gpu.given && event->category == CATEGORY_MEMORY && number_of(event, ARG_DEVICE, &device)) {
        note(cut, FILTER_GPU, device);
        if (device != (uint64_t)options->gpu.number)
            return false;
    }
    if (!options->thread.given)
        return true;
    number_of(event, ARG_THREAD, &thread);
    note(cut, FILTER_THREAD, thread);
    if (thread != (uint64_t)options->thread.number)
        return false;
    if (category_in(event->category, CATEGORIES_API) && number_of(event, ARG_CORRELATION, &correlation) &&
        correlation <= UINT32_MAX)
        cut->no_memory |= id_set_add(&cut->launched, (uint32_t)correlation) < 0;
    return true;
}

/* --- events --- */

/* A process exists if it has events, whether it has a name or not, and a GPU if its row has. */
static void note_used(struct cut *cut, uint32_t pid)
{
    bool asked = cut->options->process.given || cut->options->gpu.given;
    struct cut_row *row = asked ? cut_row_put(cut, pid) : NULL;
    if (row)
        row->used = true;
}

static void look_at_slice(struct sink *sink, const struct slice *slice)
{
    struct cut *cut = cut_of(sink);
    cut->start = slice->start;
    cut->end = slice->end;
    note_used(cut, slice->row.pid);
    (category_in(slice->category, CATEGORIES_RECORDING) ? look_at_time : look_at_program)(cut, slice->start,
                                                                                          slice->end);
    cut->slice_selected = cut_selects_event(cut, slice);
}

static void look_at_instant(struct sink *sink, const struct slice *instant)
{
    note_used(cut_of(sink), instant->row.pid);
    cut_selects_event(cut_of(sink), instant); /* for what there is */
    (category_in(instant->category, CATEGORIES_INSTANT) ? look_at_program : look_at_time)(cut_of(sink), instant->start,
                                                                                          instant->start);
}

static void look_at_async(struct sink *sink, const struct async_slice *slice)
{
    note_used(cut_of(sink), slice->begin.pid);
    look_at_program(cut_of(sink), slice->start, slice->end);
}

static void look_at_counter(struct sink *sink, const struct counter *counter)
{
    note_used(cut_of(sink), counter->pid);
    look_at_program(cut_of(sink), counter->time, counter->time);
}

static void look_at_flow(struct sink *sink, const struct flow *flow)
{
    struct cut *cut = cut_of(sink);
    const struct cut_flow end = {flow->id, flow->ends, cut->start, cut->end};
    if (cut->slice_selected && flow->category != CATEGORY_FWDBWD && sorter_add(&cut->flows, &end) < 0)
        cut->no_memory = true;
}

static const struct sink_format looking = {
    .name = "the part",
    .piece_scale = 1,
    .metadata = cut_look_at_metadata,
    .begin = sink_set_base,
    .process = look_at_process,
    .thread = sink_pass_row,
    .slice = look_at_slice,
    .instant = look_at_instant,
    .async = look_at_async,
    .counter = look_at_counter,
    .flow = look_at_flow,
    .finish = sink_pass_end,
};

/* --- what is known then --- */

static int note_row(void *context, uint64_t pid, uint64_t *index)
{
    struct cut *cut = context;
    const struct cut_row *row = &cut->rows.items[*index - 1];
    if (row->used && row->gpu)
        note(cut, FILTER_GPU, (uint64_t)row->device);
    if (row->used && (!row->gpu || row->owner))
        note(cut, FILTER_PROCESS, row->gpu ? row->owner : pid);
    return 0;
}

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
            cut->no_memory = true;
    }
    if (sorter_walk_end(&walk) < 0 || cut->no_memory)
        return error_no_memory("flows");
    sorter_release(&cut->flows);
    return 0;
}

/* Returns 0, 1: nothing is left, or -1 after error(). */
static int find_part(struct cut *cut)
{
    const struct filter_options *options = cut->options;
    int64_t times[2] = {0, 0}, base = (int64_t)cut->sink.base;
    if (cut->no_memory)
        return error_no_memory("the trace's events");
    if (!cut->any)
        return 1;
    if (cut->last > INT64_MAX / 2)
        return error("'%s' has times beyond all clocks", cut->path);
    if (!cut->any_program) {
        cut->program_first = cut->first;
        cut->program_last = cut->last;
    }
    if (time_bounds_resolve(&options->from, &options->to, cut->path, NULL, (int64_t)cut->program_first,
                            (int64_t)cut->program_last, times) < 0)
        return -1;
    cut->looked = true;
    cut->from = options->from.text ? times[0] : (int64_t)cut->first;
    cut->to = times[1] >= (int64_t)cut->program_last ? (int64_t)cut->last : times[1];
    /* The end of the trace is in it. */
    if (windows_clip(&cut->windows, cut->times, base, cut->from, cut->to + (cut->to == (int64_t)cut->last)) < 0)
        return error_no_memory("ranges");
    return cut->windows.items.count == 0 ? 1 : find_flows(cut);
}

int cut_looked(struct cut *cut, struct filter_missed *missed)
{
    map_each(&cut->row_of_pid, note_row, cut);
    if (!cut->any)
        return filter_missing(missed, "'%s' has no events: there is nothing to cut out", cut->path);
    int result = filter_found_check(&cut->found, cut->options, cut->path, missed);
    if (result == 0 && (result = find_part(cut)) > 0)
        result = filter_missing(missed, "'%s' has nothing between --from and --to%s", cut->path,
                                cut->times ? " in that range" : "");
    return result;
}

int cut_looked_within(struct cut *cut, uint64_t first, uint64_t last)
{
    cut->first = cut->program_first = first;
    cut->last = cut->program_last = last;
    return find_part(cut);
}

/* --- */

struct cut *cut_new(const struct filter_options *options, const struct windows *times, const char *path)
{
    struct cut *cut = calloc(1, sizeof(*cut));
    if (!cut)
        error_no_memory("the trace's events");
    if (!cut || (options->kernel && filter_compile(options, &cut->kernel) < 0)) {
        free(cut);
        return NULL;
    }
    cut->options = options;
    cut->times = times;
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
    array_release(&cut->rows);
    map_release(&cut->row_of_pid);
    map_release(&cut->of_rank);
    filter_found_release(&cut->found);
    id_set_release(&cut->launched);
    if (cut->options->kernel)
        regfree(&cut->kernel);
    sorter_release(&cut->flows);
    windows_release(&cut->windows);
    id_set_release(&cut->kept);
    buffer_release(&cut->nothing);
    free(cut);
}

struct sink *cut_looking(struct cut *cut)
{
    cut->format = looking;
    sink_init(&cut->sink, &cut->format, &cut->nothing);
    return &cut->sink;
}
