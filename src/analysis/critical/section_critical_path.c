/* The sections of the critical path (critical_path.h): how much of the path each kind of work takes, and each name. */
#include "common/memory.h"
#include "analysis/base/cost_sum.h"
#include "analysis/critical/critical_decide.h"
#include "analysis/critical/critical_graph.h"
#include "analysis/critical/critical_path.h"
#include "analysis/engine/section.h"
#include "analysis/steps/steps.h"

struct decided_path {
    struct critical_path path; /* the first member, so that section_state() is a struct critical_path */
    struct critical_syncs syncs;
};

static void init(void *context, const struct trace *trace)
{
    critical_syncs_init(&((struct decided_path *)context)->syncs, trace->space);
}

static void release(void *context)
{
    struct decided_path *decided = context;
    critical_path_release(&decided->path);
    critical_syncs_release(&decided->syncs);
}

static int event(void *context, const struct trace *trace, const struct event_fields *event)
{
    return critical_syncs_event(&((struct decided_path *)context)->syncs, trace, event);
}

static int add_whole(struct critical_path *path, enum critical_kind kind, uint32_t name, int64_t length, bool on_path,
                     int64_t slack)
{
    struct critical_row *row = critical_path_row(path, kind, name);
    if (!row)
        return -1;
    sum_add(&row->off, on_path ? 0 : length);
    return on_path ? 0 : series_add(&row->slack, slack);
}

static int add_interval(void *context, const struct critical_interval *interval)
{
    struct critical_row *row = critical_path_row(context, (enum critical_kind)interval->kind, interval->name);
    if (!row)
        return -1;
    sum_add(&row->on, interval->end - interval->start);
    row->count++;
    return 0;
}

static int add_rows(struct critical_path *path, const struct critical_graph *graph)
{
    if (critical_path_each(path, add_interval, path) < 0)
        return -1;
    for (size_t i = 0; i < graph->ops.count; i++) {
        const struct critical_op *op = &graph->ops.items[i];
        critical_graph_evict(graph, i);
        if (add_whole(path, critical_kind_of_op(op), op->name, op->end - op->start, op->on_path, op->slack) < 0)
            return -1;
    }
    for (size_t i = 0; i < graph->calls.count; i++) {
        const struct critical_call *call = &graph->calls.items[i];
        critical_graph_evict(graph, i);
        if (add_whole(path, CRITICAL_CALL, call->name, call->end - call->start, call->on_path, call->slack) < 0)
            return -1;
    }
    return 0;
}

static int gather(void *context, const struct trace *trace)
{
    struct decided_path *decided = context;
    struct critical_path *path = &decided->path;
    struct critical_graph graph = {0};
    path->intervals.memory.directory = path->outside.memory.directory = temporary_directory();
    int status = critical_syncs_finish(&decided->syncs, trace);
    status = status ?: critical_graph_load(&graph, trace);
    status = status ?: critical_graph_decide(&graph, &decided->syncs);
    if (status == 0) {
        const struct critical_end end = critical_find_end(&graph);
        status = critical_walk(&graph, end, path);
        status = status ?: critical_slack(&graph, &end);
    }
    status = status ?: critical_path_divide(path, trace);
    status = status ?: add_rows(path, &graph);
    critical_graph_release(&graph);
    return status;
}

/* --- how much each row of the path takes within the steps of the program --- */

/* The time from the start of the first step to the end of the last, and the time of the slowest step; ns. */
struct steps_windows {
    int64_t start, end, slowest_start, slowest_end;
    int64_t count; /* of steps; 0: the program has none */
};

static void add_overlap(int64_t *sum, const struct critical_interval *interval, int64_t start, int64_t end)
{
    int64_t from = interval->start > start ? interval->start : start, to = interval->end < end ? interval->end : end;
    if (to > from)
        *sum += to - from;
}

/* The times of one row in the steps; ns. */
struct in_steps {
    int64_t all, slowest;
};

struct steps_times {
    const struct critical_path *path;
    struct steps_windows windows;
    ARRAY(struct in_steps) rows; /* by index in path.rows */
};

static int add_in_steps(void *context, const struct critical_interval *interval)
{
    struct steps_times *times = context;
    const struct steps_windows *windows = &times->windows;
    const struct critical_key key = {interval->kind, interval->name};
    uint32_t row = dense_map_lookup(&times->path->keys, &key, sizeof(key));
    add_overlap(&times->rows.items[row].all, interval, windows->start, windows->end);
    add_overlap(&times->rows.items[row].slowest, interval, windows->slowest_start, windows->slowest_end);
    return 0;
}

/* Returns 0, or -1: no memory. */
static int find_steps(struct steps_times *times, const struct critical_path *path, const struct trace *trace)
{
    times->path = path;
    /* Use the steps of the process that has most steps. */
    const struct steps *steps = section_state(trace, REPORT_STEPS);
    struct steps_windows windows = {0};
    for (size_t i = 0; steps && i < steps->processes.count; i++) {
        const struct steps_process *process = &steps->processes.items[i];
        size_t count = process->items.count;
        if (count == 0 || (int64_t)count <= windows.count)
            continue;
        const struct step *slowest = &process->items.items[process->slowest];
        windows = (struct steps_windows){process->items.items[0].start, process->items.items[count - 1].end,
                                         slowest->start, slowest->end, (int64_t)count};
    }
    times->windows = windows;
    for (size_t i = 0; i < path->rows.count; i++)
        if (!array_push(&times->rows))
            return -1;
    return times->windows.count > 0 ? critical_path_each(path, add_in_steps, times) : 0;
}

/* --- the tables --- */

struct line {
    struct series slack;
    struct cell share, step, slowest; /* step and slowest are empty if there are no steps */
    struct cell word, what;
    int64_t on, off, count;
    int64_t most; /* the most that one name takes on the path; ns */
    struct in_steps in_steps;
    uint32_t kind, name;
};

#define COLUMNS_PATH                                                                                \
    {"share", "Of run", TYPE_PERCENT, 0, fill_cell, FROM_ITEM(line, share)},                        \
        {"total", "On path", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(line, on)},              \
        {"count", "Parts", TYPE_COUNT, 0, fill_number, FROM_ITEM(line, count)},                     \
        {"step", "Per step", TYPE_NS, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(line, step)},           \
        {"slowest_step", "Slowest", TYPE_NS, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(line, slowest)}, \
        {"off", "Off path", TYPE_NS, COLUMN_APART, fill_some, FROM_ITEM(line, off)},                \
    {                                                                                               \
        "kind", "Word", TYPE_TEXT, COLUMN_MACHINE, fill_cell, FROM_ITEM(line, word)                 \
    }

static const struct column columns[] = {
    COLUMNS_PATH,
    {"what", "What", TYPE_TEXT, 0, fill_cell, FROM_ITEM(line, what)},
    {"mostly", "Mostly", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(line, name)},
};

static void add_line(struct report_row *row, struct line *line, int64_t steps)
{
    if (steps > 0) {
        line->step = cell_integer(line->in_steps.all / steps);
        line->slowest = cell_integer(line->in_steps.slowest);
    }
    line->share = cell_share(line->on, trace_span(row->trace));
    line->word = table_text(row->table, critical_kind_words[line->kind].word);
    line->what = row_phrase(row, critical_kind_words[line->kind].text);
    section_row(row, NULL, line);
}

/* Fills both tables. Only the section by kind has a state. */
static void finish(struct report_row *row)
{
    const struct critical_path *path = section_state(row->trace, REPORT_CRITICAL_PATH);
    struct steps_times times = {0};
    struct line kinds[CRITICAL_KIND_COUNT] = {0};
    int status = find_steps(&times, path, row->trace);
    for (size_t i = 0; status == 0 && i < path->rows.count; i++) {
        const struct critical_key *key = dense_map_row(&path->keys, i);
        const struct critical_row *one = &path->rows.items[i];
        struct line line = {.slack = one->slack,
                            .on = one->on,
                            .off = one->off,
                            .count = one->count,
                            .in_steps = times.rows.items[i],
                            .kind = (uint32_t)key->kind,
                            .name = (uint32_t)key->name};
        if (row->state) {
            /* The line of a kind shows the name that takes most of the path. */
            struct line *all = &kinds[key->kind];
            all->kind = line.kind;
            sum_add(&all->on, line.on);
            sum_add(&all->off, line.off);
            all->count += line.count;
            sum_add(&all->in_steps.all, line.in_steps.all);
            sum_add(&all->in_steps.slowest, line.in_steps.slowest);
            all->name = line.on > all->most ? line.name : all->most > 0 ? all->name : EVENT_NO_TEXT;
            all->most = line.on > all->most ? line.on : all->most;
        } else
            add_line(row, &line, times.windows.count);
    }
    for (unsigned i = 0; status == 0 && i < CRITICAL_KIND_COUNT; i++)
        if (kinds[i].on != 0 || kinds[i].off != 0)
            add_line(row, &kinds[i], times.windows.count);
    array_release(&times.rows);
    row->table->no_memory |= status < 0;
}

const struct section section_critical_path = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct decided_path),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API | TRACE_SYNC,
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_CUDA_SYNC),
    .needs = REPORT_BIT(REPORT_STEPS),
    .indexes = {.calls = true, .ranges = true, .operators = true, .timeline = true, .host_calls = true},
    .init = init,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};

static const struct column name_columns[] = {
    COLUMNS_PATH,
    {"slack_min", "Slack min", TYPE_NS, 0, fill_min, FROM_ITEM(line, slack)},
    {"slack_med", "Slack med", TYPE_NS, 0, fill_median, FROM_ITEM(line, slack)},
    {"what", "What", TYPE_TEXT, 0, fill_cell, FROM_ITEM(line, what)},
    {"name", "Name", TYPE_TEXT, 0, fill_name, FROM_ITEM(line, name)},
};

const struct section section_critical_names = {
    SECTION_COLUMNS(name_columns),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API | TRACE_SYNC,
    .sort = "total",
    .needs = REPORT_BIT(REPORT_CRITICAL_PATH) | REPORT_BIT(REPORT_STEPS),
    .finish = finish,
};
