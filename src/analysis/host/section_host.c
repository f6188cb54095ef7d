/*
 * Functions of the host by samples of call stacks: while the GPUs of their process were idle, and in the whole trace.
 * Samples are counted by thread and site first, and the stack of each site is then decoded once.
 */
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_stacks.h"
#include "analysis/gpu/gpu_idle.h"
#include "analysis/engine/section.h"
#include "trace/frames.h"

struct counted {
    uint64_t group, site; /* number of the threads' name; of trace.samples */
};

struct count {
    int64_t idle, all; /* samples */
};

struct function_key {
    uint64_t group;
    uint32_t function, module; /* of trace.strings; EVENT_NO_TEXT: not known */
};

struct function_row {
    struct count self, with; /* with: where it or something that it called was running */
    uint32_t file;           /* of trace.strings, where it was seen first; EVENT_NO_TEXT: not known */
    size_t seen;             /* the last stack that it was in */
};

struct host_groups {
    struct gpu_idle idle;
    struct interner groups; /* what threads are called */
    struct dense_map counted;
    ARRAY(struct count) counts;
    struct dense_map functions;
    ARRAY(struct function_row) rows;
    struct count all;
};

static void release(void *context)
{
    struct host_groups *host = context;
    gpu_idle_release(&host->idle);
    interner_release(&host->groups);
    dense_map_release(&host->counted);
    array_release(&host->counts);
    dense_map_release(&host->functions);
    array_release(&host->rows);
}

static void add(struct count *to, const struct count *count)
{
    to->idle += count->idle;
    to->all += count->all;
}

/* --- samples --- */

static int count_thread(struct host_groups *host, const struct trace *trace, struct gpu_idle_walk *walk,
                        uint32_t thread)
{
    const struct host_thread own = host_samples_thread(&trace->samples, thread);
    const struct host_sample *samples = trace->samples.samples.items + own.first_sample;
    size_t length;
    const char *name = trace_thread_comm(trace, thread, &length);
    struct counted key = {.group = intern(&host->groups, name, length)};
    if (key.group == INTERN_NO_MEMORY ||
        gpu_idle_walk_begin(walk, &host->idle, trace->threads.items[thread].process) < 0)
        return -1;
    for (size_t i = 0; i < own.samples; i++) {
        key.site = samples[i].site;
        const struct count one = {gpu_idle_at(walk, samples[i].time), 1};
        struct count *count = dense_map_item(&host->counted, &key, &host->counts);
        if (!count)
            return -1;
        add(count, &one);
        add(&host->all, &one);
    }
    return 0;
}

/* --- functions --- */

/* A function that called itself counts once. */
static struct function_row *count_function(struct host_groups *host, const struct function_key *key, uint32_t file,
                                           size_t stack, const struct count *count)
{
    size_t before = host->rows.count;
    struct function_row *row = dense_map_item(&host->functions, key, &host->rows);
    if (row && host->rows.count > before) {
        row->file = file;
        row->seen = SIZE_MAX;
    }
    if (row && row->seen != stack) {
        row->seen = stack;
        add(&row->with, count);
    }
    return row;
}

static bool is_unnamed_in_interpreter(const struct trace *trace, const struct trace_frame *frame)
{
    const char *module = frame_base_name(trace_text(trace, frame->module));
    return frame->function == EVENT_NO_TEXT &&
           (strncmp(module, "python3", 7) == 0 || strncmp(module, "libpython3", 10) == 0);
}

static int count_stack(struct host_groups *host, const struct trace *trace, size_t number)
{
    const struct counted *counted = dense_map_row(&host->counted, number);
    const struct host_site *site = dense_map_row(&trace->samples.sites, counted->site);
    const struct trace_frame *frames[TRACE_STACK_FRAMES];
    size_t depth = trace_stack(trace, site->stack, frames, TRACE_STACK_FRAMES);
    const struct count *count = &host->counts.items[number];
    struct function_key key = {counted->group, (uint32_t)site->name, EVENT_NO_TEXT};
    struct function_row *row = depth > 0 ? NULL : count_function(host, &key, EVENT_NO_TEXT, number, count);
    /* Time in unnamed functions of the interpreter counts for the Python function that called them. */
    size_t first = 0;
    while (first < depth && is_unnamed_in_interpreter(trace, frames[first]))
        first++;
    bool for_python = first < depth && strcmp(trace_text(trace, frames[first]->module), FRAME_PYTHON) == 0;
    size_t running = for_python ? first : 0;
    for (size_t i = running; i < depth; i++) {
        key.module = frames[i]->module;
        key.function = frames[i]->function;
        struct function_row *called = count_function(host, &key, frames[i]->file, number, count);
        if (!called)
            return -1;
        if (i == running)
            add(&called->self, count);
    }
    if (row)
        add(&row->self, count);
    return depth > 0 || row ? 0 : -1;
}

static int gather(void *context, const struct trace *trace)
{
    struct host_groups *host = context;
    struct gpu_idle_walk walk = {0};
    int status = host_samples_any(&trace->samples) ? gpu_idle_gather(&host->idle, trace) : 0;
    for (uint32_t i = 0; status == 0 && i < trace->samples.threads.count; i++)
        if (trace->samples.threads.items[i].samples > 0) {
            status = count_thread(host, trace, &walk, i);
            host_samples_evict(&trace->samples);
        }
    for (size_t i = 0; status == 0 && i < host->counts.count; i++)
        status = count_stack(host, trace, i);
    gpu_idle_walk_release(&walk);
    gpu_idle_release(&host->idle);
    host->idle = (struct gpu_idle){0};
    return status;
}

/* --- the table --- */

static struct cell fill_of_idle(struct report_row *row, const struct column *column)
{
    const struct host_groups *host = row->state;
    return host->all.idle > 0 ? cell_share(row_integer(row, column), host->all.idle) : (struct cell){0};
}

static struct cell fill_of_all(struct report_row *row, const struct column *column)
{
    const struct host_groups *host = row->state;
    return cell_share(row_integer(row, column), host->all.all);
}

static struct cell fill_group(struct report_row *row, const struct column *column)
{
    const struct host_groups *host = row->state;
    if (host->groups.count < 2)
        return (struct cell){0};
    return table_text(row->table, interned(&host->groups, (uint32_t)((const struct function_key *)row->key)->group));
}

static struct cell fill_function(struct report_row *row, const struct column *column)
{
    const struct function_key *key = row->key;
    return table_text(row->table, key->function == EVENT_NO_TEXT ? "?" : trace_text(row->trace, key->function));
}

/* The source file, or the library. */
static struct cell fill_file(struct report_row *row, const struct column *column)
{
    const struct function_row *function = row->item;
    uint32_t text = function->file != EVENT_NO_TEXT ? function->file : ((const struct function_key *)row->key)->module;
    return text == EVENT_NO_TEXT ? (struct cell){0}
                                 : table_text(row->table, frame_base_name(trace_text(row->trace, text)));
}

static const struct column columns[] = {
    {"idle_self", "Idle self", TYPE_PERCENT, 0, fill_of_idle, FROM_ITEM(function_row, self.idle)},
    {"idle_total", "Idle total", TYPE_PERCENT, 0, fill_of_idle, FROM_ITEM(function_row, with.idle)},
    {"self", "Self", TYPE_PERCENT, 0, fill_of_all, FROM_ITEM(function_row, self.all)},
    {"total", "Total", TYPE_PERCENT, 0, fill_of_all, FROM_ITEM(function_row, with.all)},
    {"idle_samples", "Idle samples", TYPE_COUNT, 0, fill_number, FROM_ITEM(function_row, self.idle), .importance = 30},
    {"samples", "Samples", TYPE_COUNT, 0, fill_number, FROM_ITEM(function_row, self.all), .importance = 40},
    {"thread", "Thread", TYPE_TEXT, COLUMN_OPTIONAL, .fill = fill_group},
    {"function", "Function", TYPE_TEXT, 0, .fill = fill_function},
    {"file", "File", TYPE_TEXT, COLUMN_OPTIONAL, .fill = fill_file},
    {"module", "Module", TYPE_TEXT, COLUMN_MACHINE, fill_name, FROM_KEY(function_key, module)},
};

/* Rows come as people look for them where the column that they are sorted by does not distinguish them. */
static int by_samples(const void *left, const void *right)
{
    const struct function_row *a = left, *b = right;
    return ORDER(b->self.idle, a->self.idle) ?: ORDER(b->self.all, a->self.all)
           ?: ORDER(b->with.idle, a->with.idle) ?: ORDER(b->with.all, a->with.all);
}

static void finish(struct report_row *row)
{
    const struct host_groups *host = row->state;
    section_rows_ordered(row, &host->functions, host->rows.items, host->rows.count, sizeof(*host->rows.items),
                         by_samples);
}

const struct section section_host = {
    SECTION_COLUMNS(columns),
    .none = "no CPU samples were recorded: gputrace run --cpu=samples records them",
    .state_size = sizeof(struct host_groups),
    .indexes = {.timeline = true, .samples = true},
    .gather = gather,
    .finish = finish,
    .release = release,
};
