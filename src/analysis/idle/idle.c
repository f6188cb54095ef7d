/*
 * Sums of idle time by row and device, and the largest gaps.
 */
#include "analysis/idle/idle.h"

#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/names.h"
#include "analysis/engine/trace.h"

const struct idle_cause_words idle_cause_words[IDLE_CAUSE_COUNT] = {
#define CAUSE(constant, word, text) {word, text},
    IDLE_CAUSES(CAUSE)
#undef CAUSE
};

static void idle_rows_release(struct idle_rows *rows)
{
    array_release(rows);
    dense_map_release(&rows->ids);
    array_release(&rows->of_device);
}

void idle_release(struct idle *idle)
{
    array_release(&idle->devices);
    idle_rows_release(&idle->rows);
    idle_rows_release(&idle->active);
    host_activities_release(&idle->host);
    if (idle->has_intervals)
        sorter_release(&idle->intervals);
    idle->has_intervals = false;
}

ORDER_BY(by_device, struct idle_interval, device, start, cause)

void idle_record_intervals(struct idle *idle, struct sorter_space *space)
{
    sorter_init(&idle->intervals, space, sizeof(struct idle_interval), by_device);
    idle->has_intervals = true;
}

static int64_t length_of(const struct idle_gap *gap)
{
    return gap->end - gap->start;
}

/* The index of the shortest of the largest gaps; of equally long ones, the latest. */
static size_t find_least(const struct idle *idle)
{
    size_t least = 0;
    for (size_t i = 1; i < idle->largest_count; i++)
        if (length_of(&idle->largest[i]) <= length_of(&idle->largest[least]))
            least = i;
    return least;
}

void idle_offer(struct idle *idle, const struct idle_gap *gap)
{
    if (idle->largest_count < IDLE_LARGEST)
        idle->largest[idle->largest_count++] = *gap;
    else if (length_of(gap) > idle->least)
        idle->largest[find_least(idle)] = *gap;
    else
        return;
    if (idle->largest_count == IDLE_LARGEST)
        idle->least = length_of(&idle->largest[find_least(idle)]);
}

struct idle_gap *idle_find(struct idle *idle, uint32_t device, int64_t start, int64_t end)
{
    for (size_t i = 0; end - start >= idle->least && i < idle->largest_count; i++) {
        struct idle_gap *gap = &idle->largest[i];
        if (gap->device == device && gap->start == start && gap->end == end)
            return gap;
    }
    return NULL;
}

static void add(struct idle_sum *sum, int64_t start, int64_t length)
{
    bool first = sum->count == 0 || sum->gap != start;
    sum_add(&sum->total, length);
    sum->count += first;
    sum->gap = start;
    sum->current = first ? length : sum->current + length;
    sum->longest = sum->current > sum->longest ? sum->current : sum->longest;
}

/* Appends the last row to the list of its device. */
static int list_row(struct idle_rows *rows, const struct idle_what *what)
{
    struct idle_row_list *list = array_at(&rows->of_device, what->device);
    if (!list)
        return -1;
    *(list->last ? &rows->items[list->last - 1].next : &list->first) = (uint32_t)rows->count;
    list->last = (uint32_t)rows->count;
    return 0;
}

/* Finds or makes the row of WHAT. Most intervals belong to few rows, so a cache is tried first. */
static struct idle_row *find_row(struct idle_rows *rows, const struct idle_what *what)
{
    const uint64_t key[] = {(uint64_t)what->device << 32 | what->cause, (uint64_t)what->call << 32 | what->range,
                            (uint64_t)what->operation << 32 | what->stream, what->activity};
    uint32_t *recent =
        &rows->recent[(what->cause + what->call + 7 * what->range + what->operation + what->activity) % IDLE_RECENT];
    if (*recent && memcmp(&rows->items[*recent - 1].what, what, sizeof(*what)) == 0)
        return &rows->items[*recent - 1];
    size_t count = rows->count;
    struct idle_row *row = dense_map_item(&rows->ids, &key, rows);
    if (row && rows->count > count && list_row(rows, what) < 0)
        return NULL;
    if (row) {
        row->what = *what;
        *recent = (uint32_t)(row - rows->items) + 1;
    }
    return row;
}

/* Adds to the row with the activity, if the trace has samples. Rules and shares use the rows without activities. */
static int add_active(struct idle *idle, const struct idle_what *what, int64_t start, int64_t length)
{
    if (!idle->host.trace)
        return 0;
    struct idle_row *row = find_row(&idle->active, what);
    if (row)
        add(&row->sum, start, length);
    return row ? 0 : -1;
}

int idle_add_launched(struct idle *idle, uint32_t device, int64_t length)
{
    struct idle_device *of_device = array_at(&idle->devices, device);
    if (!of_device)
        return -1;
    of_device->launched++;
    of_device->launched_time = sum_of(of_device->launched_time, length);
    return 0;
}

int idle_add(struct idle *idle, const struct idle_what *what, int64_t start, int64_t at, int64_t length,
             struct idle_gap *largest)
{
    const struct idle_interval interval = {.start = at, .length = length, .device = what->device, .cause = what->cause};
    if (length <= 0)
        return 0;
    struct idle_device *device = array_at(&idle->devices, what->device);
    struct idle_what alone = *what;
    alone.activity = EVENT_NO_TEXT;
    struct idle_row *row = device ? find_row(&idle->rows, &alone) : NULL;
    if (!row || add_active(idle, what, start, length) < 0)
        return -1;
    if (idle->has_intervals && sorter_add(&idle->intervals, &interval) < 0)
        return -1;
    sum_add(&device->idle, length);
    add(&device->causes[what->cause], start, length);
    add(&row->sum, start, length);
    if (largest) {
        struct idle_cause_time *part = &largest->causes[what->cause];
        sum_add(&part->total, length);
        if (length > part->longest) {
            part->longest = length;
            part->what = *what;
        }
    }
    return 0;
}

bool idle_is_loading(const struct trace *trace, const struct idle_what *what)
{
    return name_is_data_loader(trace_text(trace, what->range)) ||
           name_is_data_loader(trace_text(trace, what->operation));
}

const struct idle_cause_time *idle_main_cause(const struct idle_gap *gap)
{
    const struct idle_cause_time *most = &gap->causes[0];
    for (unsigned i = 1; i < IDLE_CAUSE_COUNT; i++)
        if (gap->causes[i].total > most->total)
            most = &gap->causes[i];
    return most;
}
