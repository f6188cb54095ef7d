/*
 * Sections of the host: its functions by samples of call stacks, while the GPUs of the process were idle and in the
 * whole trace; and the times in which threads were off the processor. Samples are first counted by group of threads and
 * site, so that the stack of each site is read once.
 */
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_stacks.h"
#include "analysis/gpu/gpu_idle.h"
#include "analysis/engine/section.h"
#include "trace/frames.h"
#include "common/buffer.h"
#include "analysis/base/cost_sum.h"
#include "analysis/host/host_sites.h"

struct counted {
    uint64_t group, site; /* number of the name of the threads; number in trace.samples.sites */
};

struct count {
    int64_t idle, all; /* samples */
};

struct function_key {
    uint64_t group;
    uint32_t function, module; /* of trace.strings; EVENT_NO_TEXT: not known */
};

struct function_row {
    struct count self, with; /* with: samples in which the function, or a function that it called, was running */
    uint32_t file;           /* of trace.strings, from its first frame; EVENT_NO_TEXT: not known */
    size_t seen;             /* number of the last stack that counted it */
};

struct host_groups {
    struct tally functions; /* struct function_row by struct function_key */
    struct gpu_idle idle;
    struct interner groups; /* names of threads */
    struct dense_map counted;
    ARRAY(struct count) counts;
    struct count all;
};

static void release(void *context)
{
    struct host_groups *host = context;
    gpu_idle_release(&host->idle);
    interner_release(&host->groups);
    dense_map_release(&host->counted);
    array_release(&host->counts);
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

/* Adds COUNT to a function, once per stack, because functions may call themselves. Returns NULL without memory. */
static struct function_row *count_function(struct host_groups *host, const struct function_key *key, uint32_t file,
                                           size_t stack, const struct count *count)
{
    size_t before = host->functions.count;
    struct function_row *row = tally_item(&host->functions, key, struct function_row);
    if (row && host->functions.count > before) {
        row->file = file;
        row->seen = SIZE_MAX;
    }
    if (row && row->seen != stack) {
        row->seen = stack;
        add(&row->with, count);
    }
    return row;
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
    /* Time in unnamed functions of the interpreter counts as time of the Python function that called them. */
    size_t first = 0;
    for (; first < depth && frames[first]->function == EVENT_NO_TEXT; first++) {
        const char *module = frame_base_name(trace_text(trace, frames[first]->module));
        if (strncmp(module, "python3", 7) != 0 && strncmp(module, "libpython3", 10) != 0)
            break;
    }
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
    int status = trace->samples.samples.count > 0 ? gpu_idle_gather(&host->idle, trace) : 0;
    for (uint32_t i = 0; status == 0 && i < trace->samples.threads.count; i++)
        if (trace->samples.threads.items[i].samples > 0) {
            status = count_thread(host, trace, &walk, i);
            host_samples_evict(&trace->samples);
        }
    for (size_t i = 0; status == 0 && i < host->counts.count; i++)
        status = count_stack(host, trace, i);
    array_release(&walk.devices);
    gpu_idle_release(&host->idle);
    host->idle = (struct gpu_idle){0};
    return status;
}

/* --- the table --- */

static FILL(of_idle, ROW_STATE(host_groups)->all.idle > 0
                         ? cell_share(row_integer(row, column), ROW_STATE(host_groups)->all.idle)
                         : (struct cell){0})

    static FILL(of_all, cell_share(row_integer(row, column), ROW_STATE(host_groups)->all.all))

        static struct cell fill_group(struct report_row *row, const struct column *column)
{
    const struct host_groups *host = row->state;
    if (host->groups.count < 2)
        return (struct cell){0};
    return table_text(row->table, interned(&host->groups, (uint32_t)((const struct function_key *)row->key)->group));
}

static FILL(function, table_text(row->table, ROW_KEY(function_key)->function == EVENT_NO_TEXT
                                                 ? "?"
                                                 : trace_text(row->trace, ROW_KEY(function_key)->function)))

    /* Shows the source file, or the library if the file is not known. */
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

/* Orders rows that are equal in the column that sorts the table. */
ORDER_WITH(by_samples, struct function_row, ORDER(b->self.idle, a->self.idle) ?: ORDER(b->self.all, a->self.all)
           ?: ORDER(b->with.idle, a->with.idle) ?: ORDER(b->with.all, a->with.all))

const struct section section_host = {
    SECTION_COLUMNS(columns),
    .none = "no CPU samples were recorded: gputrace run --cpu=samples records them",
    .state_size = sizeof(struct host_groups),
    SECTION_STATE_PLAIN_TALLY(struct function_row),
    .order = by_samples,
    .indexes = {.timeline = true, .samples = true},
    .gather = gather,
    .release = release,
};

/* The section host-waits shows the times in which threads were off the processor, by place and waking thread, and how
 * long GPUs were idle in these times. */

struct wait_key {
    uint64_t group; /* number of the threads' name */
    uint64_t waker; /* number of the waking thread's name; NOBODY: not known */
    uint32_t doing; /* number */
    uint32_t kind;  /* enum host_state_kind */
};

#define NOBODY UINT32_MAX

struct wait_row {
    TALLY_SERIES(times);
    int64_t idle;    /* ns in which the GPUs were idle */
    int64_t longest; /* ns */
    bool launches;   /* one of the threads launches GPU work */
    uint32_t frame;  /* of the longest time */
};

struct thread_waits {
    struct tally rows; /* struct wait_row by struct wait_key */
    struct gpu_idle idle;
    struct interner groups; /* names of threads */
    struct map wakers;      /* thread and id of the waker -> number of its group + 1 */
    struct host_sites sites;
};

static void release_waits(void *context)
{
    struct thread_waits *waits = context;
    gpu_idle_release(&waits->idle);
    interner_release(&waits->groups);
    map_release(&waits->wakers);
    host_sites_release(&waits->sites);
}

static uint32_t group_of(struct thread_waits *waits, const struct trace *trace, uint32_t thread)
{
    size_t length;
    const char *name = trace_thread_comm(trace, thread, &length);
    return intern(&waits->groups, name, length);
}

/* Sets *GROUP to the group of the thread ID that woke THREAD, or NOBODY. Returns 0, or -1: no memory. */
static int find_waker(struct thread_waits *waits, const struct trace *trace, uint32_t thread, int64_t id,
                      uint64_t *group)
{
    bool is_new = false;
    *group = NOBODY;
    if (id <= 0 || id > UINT32_MAX)
        return 0;
    uint64_t *known = map_put(&waits->wakers, (uint64_t)thread << 32 | (uint64_t)id, &is_new);
    if (!known)
        return -1;
    if (is_new) {
        uint32_t waker = trace_find_waker(trace, thread, id);
        *known = waker == LAUNCHED_NO_THREAD ? NOBODY : group_of(waits, trace, waker);
    }
    *group = *known;
    return 0;
}

static int add_state(struct thread_waits *waits, const struct trace *trace, struct gpu_idle_walk *walk,
                     struct wait_key *key, uint32_t thread, const struct host_state *time)
{
    int64_t length = time->end - time->start;
    key->kind = time->kind;
    key->doing = host_sites_of_state(&waits->sites, time);
    if (key->doing == EVENT_NO_TEXT || find_waker(waits, trace, thread, time->waker, &key->waker) < 0)
        return -1;
    struct wait_row *row = tally_item(&waits->rows, key, struct wait_row);
    if (!row || series_add(&row->times, length) < 0)
        return -1;
    sum_add(&row->idle, gpu_idle_within(walk, time->start, time->end));
    row->launches |= waits->idle.launches[thread];
    if (length > row->longest) {
        row->longest = length;
        row->frame = waits->sites.sites.items[time->site].frame;
    }
    return 0;
}

static int gather_waits(void *context, const struct trace *trace)
{
    struct thread_waits *waits = context;
    struct gpu_idle_walk walk = {0};
    bool any = trace->samples.states.count > 0;
    int status = any ? gpu_idle_gather(&waits->idle, trace) : 0;
    if (status == 0 && any)
        status = host_sites_make(&waits->sites, trace);
    for (uint32_t i = 0; status == 0 && i < trace->samples.threads.count; i++) {
        const struct host_thread own = trace->samples.threads.items[i];
        size_t length;
        /* Skip gputrace's own threads in the program. */
        if (own.states == 0 || strncmp(trace_thread_comm(trace, i, &length), "gputrace-", strlen("gputrace-")) == 0)
            continue;
        struct wait_key key = {.group = group_of(waits, trace, i)};
        status = gpu_idle_walk_begin(&walk, &waits->idle, trace->threads.items[i].process);
        for (size_t k = 0; status == 0 && k < own.states; k++)
            status = add_state(waits, trace, &walk, &key, i, &trace->samples.states.items[own.first_state + k]);
    }
    array_release(&walk.devices);
    gpu_idle_release(&waits->idle);
    waits->idle = (struct gpu_idle){0};
    host_samples_evict(&trace->samples);
    return status;
}

/* --- the table --- */

static struct cell fill_wait_group(struct report_row *row, const struct column *column)
{
    const struct thread_waits *waits = row->state;
    int64_t group = row_integer(row, column);
    return group == NOBODY ? (struct cell){0} : table_text(row->table, interned(&waits->groups, (uint32_t)group));
}

static struct cell fill_kind(struct report_row *row, const struct column *column)
{
    static const char *const words[HOST_STATE_KINDS] = {"sleeping", "runnable", "disk wait"};
    return table_text(row->table, words[((const struct wait_key *)row->key)->kind]);
}

static struct cell fill_where(struct report_row *row, const struct column *column)
{
    const struct thread_waits *waits = row->state;
    const struct wait_row *wait = row->item;
    struct buffer text;
    buffer_init_memory(&text);
    host_sites_write(&text, &waits->sites, row->trace, ((const struct wait_key *)row->key)->doing, wait->frame);
    return table_text_from_buffer(row->table, &text);
}

static const struct column wait_columns[] = {
    {"idle", "GPU idle", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(wait_row, idle)},
    COLUMN_TOTAL(0, wait_row, times),
    COLUMN_COUNT("count", "Count", 0, wait_row, times),
    {"avg", "Avg", TYPE_NS, 0, fill_average, FROM_ITEM(wait_row, times), .importance = 40},
    {"max", "Max", TYPE_NS, 0, fill_max, FROM_ITEM(wait_row, times), .importance = 50},
    {"state", "State", TYPE_TEXT, 0, .fill = fill_kind},
    {"thread", "Thread", TYPE_TEXT, 0, fill_wait_group, FROM_KEY(wait_key, group)},
    {"where", "Where", TYPE_TEXT, 0, .fill = fill_where},
    {"woken_by", "Woken by", TYPE_TEXT, COLUMN_OPTIONAL, fill_wait_group, FROM_KEY(wait_key, waker)},
};

/* Threads that do not launch work may sleep all the time, so they come after threads that launch. */
ORDER_WITH(by_idle, struct wait_row, ORDER(b->launches, a->launches) ?: ORDER(b->idle, a->idle)
           ?: ORDER(b->times.total, a->times.total))

const struct section section_host_waits = {
    SECTION_COLUMNS(wait_columns),
    .none = "times off the processor were not recorded: gputrace run --cpu=switches records them",
    .state_size = sizeof(struct thread_waits),
    SECTION_STATE_TALLY(struct wait_row),
    .order = by_idle,
    .indexes = {.timeline = true, .samples = true},
    .gather = gather_waits,
    .release = release_waits,
};
