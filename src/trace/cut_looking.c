/*
 * The first reading: what must be known before a part can be written.
 */
#include "trace/cut_parts.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/lookup.h"

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

static void look_at_time(struct cut *cut, uint64_t start, uint64_t end)
{
    cut->first = !cut->any || start < cut->first ? start : cut->first;
    cut->last = !cut->any || end > cut->last ? end : cut->last;
    cut->any = true;
}

static bool is_named(const struct name *name, const char *text, size_t length)
{
    return name->length == length && memcmp(name->text, text, length) == 0;
}

static void look_at_range(struct cut *cut, const struct name *name, struct row row, uint64_t start, uint64_t end)
{
    const char *wanted = cut->options->range;
    bool exact = is_named(name, wanted, strlen(wanted));
    if (!exact && (cut->name_length == 0 || !is_named(name, wanted, cut->name_length)))
        return;
    const struct cut_range range = {row, (int64_t)start, (int64_t)end, exact};
    cut->no_memory |= !ADD(file_vector_push, &cut->ranges, range);
}

static void look_at_slice(struct sink *sink, const struct slice *slice)
{
    struct cut *cut = cut_of(sink);
    cut->start = slice->start;
    cut->end = slice->end;
    cut->slice_selected = cut_selects(cut, slice->row.pid);
    if (cut->options->process.given)
        cut_row_put(cut, slice->row.pid); /* as foreign traces may have no names of processes */
    look_at_time(cut, slice->start, slice->end);
    if (cut->options->range && slice->category == CATEGORY_USER_ANNOTATION && cut->slice_selected)
        look_at_range(cut, &slice->name, slice->row, slice->start, slice->end);
}

static void look_at_instant(struct sink *sink, const struct slice *instant)
{
    struct cut *cut = cut_of(sink);
    cut->slice_selected = false;
    look_at_time(cut, instant->start, instant->start);
}

static void look_at_async(struct sink *sink, const struct async_slice *slice)
{
    struct cut *cut = cut_of(sink);
    cut->slice_selected = false;
    look_at_time(cut, slice->start, slice->end);
    if (cut->options->range && slice->category == CATEGORY_USER_ANNOTATION && cut_selects(cut, slice->begin.pid))
        look_at_range(cut, &slice->name, slice->begin, slice->start, slice->end);
}

static void look_at_counter(struct sink *sink, const struct counter *counter)
{
    struct cut *cut = cut_of(sink);
    cut->slice_selected = false;
    look_at_time(cut, counter->time, counter->time);
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

ORDER_BY(by_row_and_start, struct cut_range, row.pid, row.tid, start)

/* The GPUs, or the processes, of a trace. */
struct numbers {
    const struct cut *cut;
    bool gpus;
    struct map found;
};

static int add_number(void *context, uint64_t pid, uint64_t *index)
{
    struct numbers *numbers = context;
    const struct cut_row *row = &numbers->cut->rows.items[*index - 1];
    uint64_t number = numbers->gpus ? (uint64_t)row->device : pid;
    return row->gpu != numbers->gpus || map_put(&numbers->found, number, NULL) ? 0 : -1;
}

/* Whether the trace has the GPU, or the process, that is wanted, if one is. Else MISSING (NULL: not asked for) says
 * what there is. */
static bool has_wanted(const struct cut *cut, bool gpus, struct buffer *missing)
{
    static const char *const words[][2] = {{"process", "processes"}, {"GPU", "GPUs"}};
    const struct selected_number *wanted = gpus ? &cut->options->gpu : &cut->options->process;
    struct numbers numbers = {.cut = cut, .gpus = gpus};
    if (!wanted->given)
        return true;
    map_each(&cut->row_of_pid, add_number, &numbers);
    bool has = map_get(&numbers.found, (uint64_t)wanted->number);
    if (!has && missing)
        selected_write_missing(missing, wanted, words[gpus], cut->path, &numbers.found);
    map_release(&numbers.found);
    return has;
}

static int error_missing(const struct cut *cut, bool gpus)
{
    struct buffer words;
    buffer_init_memory(&words);
    has_wanted(cut, gpus, &words);
    error("%.*s", (int)words.length, words.length ? words.data : "");
    buffer_release(&words);
    return -1;
}

/* Why nothing is wanted. */
enum nothing { NO_EVENTS = 1, NO_RANK, NO_GPU, NO_PROCESS, NO_RANGE, NOT_SO_OFTEN, NOT_BETWEEN };

/* Windows of ranges with exactly the name; else of one occurrence on each row. */
static int add_windows(struct cut *cut, bool exact)
{
    const struct cut_range *items = cut->ranges.items;
    uint64_t number = 0;
    for (size_t i = 0; i < cut->ranges.count; i++) {
        bool same_row = i > 0 && items[i - 1].row.pid == items[i].row.pid && items[i - 1].row.tid == items[i].row.tid;
        number = same_row ? number + 1 : 1;
        cut->most = number > cut->most ? number : cut->most;
        if (exact ? !items[i].exact : number != cut->occurrence)
            continue;
        if (windows_add(&cut->windows, items[i].start, items[i].end) < 0)
            return error_no_memory("ranges");
    }
    return 0;
}

static int find_range(struct cut *cut)
{
    bool exact = false;
    for (size_t i = 0; i < cut->ranges.count; i++)
        exact |= cut->ranges.items[i].exact;
    if (cut->ranges.count == 0)
        return NO_RANGE;
    if (file_vector_sort(&cut->ranges, by_row_and_start) != 0)
        return error_no_memory("ranges");
    if (add_windows(cut, exact) < 0)
        return -1;
    return cut->windows.items.count == 0 ? NOT_SO_OFTEN : 0;
}

/* Leaves of the windows what is between --from and --to. The end of the trace is in it. */
static int clip(struct cut *cut)
{
    struct windows clipped = {0};
    int64_t to = cut->to + (cut->to == (int64_t)cut->last);
    int status = cut->options->range ? windows_finish(&cut->windows) : windows_add(&cut->windows, cut->from, to);
    for (size_t i = 0; i < cut->windows.items.count && status == 0; i++) {
        const struct window *window = &cut->windows.items.items[i];
        int64_t start = window->start > cut->from ? window->start : cut->from;
        int64_t end = window->end < to ? window->end : to;
        if (start < end)
            status = windows_add(&clipped, start, end);
    }
    windows_release(&cut->windows);
    cut->windows = clipped;
    if (status < 0 || windows_finish(&cut->windows) < 0)
        return error_no_memory("ranges");
    return cut->windows.items.count == 0 ? NOT_BETWEEN : 0;
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

/* Returns 0, -1 after error(), or an enum nothing. */
static int find_part(struct cut *cut)
{
    const struct cut_options *options = cut->options;
    int64_t times[2] = {0, 0};
    if (cut->no_memory)
        return error_no_memory("the trace's events");
    if (!cut->any)
        return NO_EVENTS;
    if (options->rank.given && !cut->is_rank && map_count(&cut->of_rank) == 0)
        return NO_RANK;
    if (!has_wanted(cut, true, NULL))
        return NO_GPU;
    if (!has_wanted(cut, false, NULL))
        return NO_PROCESS;
    if (cut->last > INT64_MAX / 2)
        return error("'%s' has times beyond all clocks", cut->path);
    if (time_bounds_resolve(&options->from, &options->to, cut->path, (int64_t)cut->first, (int64_t)cut->last, times) <
        0)
        return -1;
    cut->from = times[0];
    cut->to = times[1];
    int result = options->range ? find_range(cut) : 0;
    if (result == 0)
        result = clip(cut);
    return result == 0 ? find_flows(cut) : result;
}

int cut_looked(struct cut *cut)
{
    const char *path = cut->path, *range = cut->options->range;
    int result = find_part(cut);
    switch (result) {
    case NO_EVENTS: return error("'%s' has no events: there is nothing to cut out", path);
    case NO_RANK: return error("'%s' has no rank %lld", path, (long long)cut->options->rank.number);
    case NO_GPU: return error_missing(cut, true);
    case NO_PROCESS: return error_missing(cut, false);
    case NO_RANGE: return error("'%s' has no range '%s'", path, range);
    case NOT_SO_OFTEN:
        return error("--range=%s: '%s' has the range only %llu time%s", range, path, (unsigned long long)cut->most,
                     cut->most == 1 ? "" : "s");
    case NOT_BETWEEN: return error("'%s' has nothing between --from and --to%s", path, range ? " in that range" : "");
    default: return result;
    }
}

int cut_looked_within(struct cut *cut, uint64_t first, uint64_t last)
{
    cut->first = first;
    cut->last = last;
    int result = find_part(cut);
    return result > 0 ? 1 : result;
}

/* --- */

struct cut *cut_new(const struct cut_options *options, const char *path)
{
    struct cut *cut = calloc(1, sizeof(*cut));
    if (!cut) {
        error_no_memory("the trace's events");
        return NULL;
    }
    cut->options = options;
    cut->path = path;
    cut->space = sorter_space_usual();
    buffer_init_memory(&cut->nothing);
    sorter_init(&cut->flows, &cut->space, sizeof(struct cut_flow), by_id);
    if (options->range)
        cut->name_length = range_name_split(options->range, &cut->occurrence);
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
    file_vector_release(&cut->ranges);
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
