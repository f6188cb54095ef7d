/*
 * Times in which threads were off the processor, by where they left it and by who woke them, and how much of that time
 * the GPUs of their process were idle.
 */
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace_known.h"
#include "analysis/gpu/gpu_idle.h"
#include "analysis/host/host_sites.h"
#include "analysis/engine/section.h"

struct wait_key {
    uint64_t group; /* number of the threads' name */
    uint64_t waker; /* number of the waking thread's name; NOBODY: not known */
    uint32_t doing; /* number */
    uint32_t kind;  /* enum host_state_kind */
};

#define NOBODY UINT32_MAX

struct wait_row {
    struct series times;
    int64_t idle;    /* ns of it that the GPUs were idle */
    int64_t longest; /* ns */
    bool launches;   /* one of the threads launches GPU work */
    uint32_t frame;  /* where, in the longest */
};

struct thread_waits {
    struct dense_map keys;
    ARRAY(struct wait_row) rows;
    struct gpu_idle idle;
    struct interner groups; /* what threads are called */
    struct map wakers;      /* thread and id of the waker -> number of its group + 1 */
    struct host_sites sites;
};

static void release(void *context)
{
    struct thread_waits *waits = context;
    for (size_t i = 0; i < waits->rows.count; i++)
        series_release(&waits->rows.items[i].times);
    array_release(&waits->rows);
    dense_map_release(&waits->keys);
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

/* 0, or -1: no memory. */
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
    struct wait_row *row = dense_map_item(&waits->keys, key, &waits->rows);
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

/* A thread of gputrace in the program. */
static bool is_ours(const struct trace *trace, uint32_t thread)
{
    size_t length;
    return strncmp(trace_thread_comm(trace, thread, &length), "gputrace-", strlen("gputrace-")) == 0;
}

static int gather(void *context, const struct trace *trace)
{
    struct thread_waits *waits = context;
    struct gpu_idle_walk walk = {0};
    bool any = host_samples_any_states(&trace->samples);
    int status = any ? gpu_idle_gather(&waits->idle, trace) : 0;
    if (status == 0 && any)
        status = host_sites_make(&waits->sites, trace);
    for (uint32_t i = 0; status == 0 && i < trace->samples.threads.count; i++)
        if (trace->samples.threads.items[i].states > 0 && !is_ours(trace, i)) {
            const struct host_thread own = host_samples_thread(&trace->samples, i);
            struct wait_key key = {.group = group_of(waits, trace, i)};
            status = gpu_idle_walk_begin(&walk, &waits->idle, trace->threads.items[i].process);
            for (size_t k = 0; status == 0 && k < own.states; k++)
                status = add_state(waits, trace, &walk, &key, i, &trace->samples.states.items[own.first_state + k]);
        }
    gpu_idle_walk_release(&walk);
    gpu_idle_release(&waits->idle);
    waits->idle = (struct gpu_idle){0};
    host_samples_evict(&trace->samples);
    return status;
}

/* --- the table --- */

static struct cell fill_group(struct report_row *row, const struct column *column)
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

static const struct column columns[] = {
    {"idle", "GPU idle", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(wait_row, idle)},
    COLUMN_TOTAL(0, wait_row, times),
    COLUMN_COUNT("count", "Count", 0, wait_row, times),
    {"avg", "Avg", TYPE_NS, 0, fill_average, FROM_ITEM(wait_row, times), .importance = 40},
    {"max", "Max", TYPE_NS, 0, fill_max, FROM_ITEM(wait_row, times), .importance = 50},
    {"state", "State", TYPE_TEXT, 0, .fill = fill_kind},
    {"thread", "Thread", TYPE_TEXT, 0, fill_group, FROM_KEY(wait_key, group)},
    {"where", "Where", TYPE_TEXT, 0, .fill = fill_where},
    {"woken_by", "Woken by", TYPE_TEXT, COLUMN_OPTIONAL, fill_group, FROM_KEY(wait_key, waker)},
};

/* Threads that do not launch work may sleep all the time: they come after those that do. */
static int by_idle(const void *left, const void *right)
{
    const struct wait_row *a = left, *b = right;
    return ORDER(b->launches, a->launches) ?: ORDER(b->idle, a->idle) ?: ORDER(b->times.total, a->times.total);
}

static void finish(struct report_row *row)
{
    const struct thread_waits *waits = row->state;
    section_rows_ordered(row, &waits->keys, waits->rows.items, waits->rows.count, sizeof(*waits->rows.items), by_idle);
}

const struct section section_host_waits = {
    SECTION_COLUMNS(columns),
    .none = "times off the processor were not recorded: gputrace run --cpu=switches records them",
    .state_size = sizeof(struct thread_waits),
    .indexes = {.timeline = true, .samples = true},
    .gather = gather,
    .finish = finish,
    .release = release,
};
