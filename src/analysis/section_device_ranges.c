/*
 * Ranges that the program put into its streams (gputrace_device_range_start), by name and device: how long they took on
 * the GPU. They nest and overlap, so there are no sums.
 */
#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                       \
    X(TOTAL, "total", "Total", NS, COLUMN_APART)         \
    X(COUNT, "count", "Count", COUNT, 0)                 \
    SUMMARY_COLUMNS(X, NS)                               \
    X(OPEN, "open", "Not ended", COUNT, COLUMN_OPTIONAL) \
    X(DEVICE, "device", "GPU", NUMBER, 0)                \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct range_key {
    uint64_t name;
    int64_t device;
};

struct range_group {
    struct series times;
    int64_t open;
};

struct device_ranges {
    struct groups keys; /* struct range_key */
    ARRAY(struct range_group) groups;
};

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    (void)trace;
    struct device_ranges *ranges = state;
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    struct range_key key = {event->name, trace_event_device(event)};
    struct range_group *group = groups_item(&ranges->keys, &key, &ranges->groups);
    if (!group)
        return -1;
    group->open += event->open_at_end == 1;
    return series_add(&group->times, event->duration);
}

static int write_group(const struct trace *trace, struct table *table, const struct range_key *key,
                       struct range_group *group)
{
    struct summary summary = series_summary(&group->times);
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_TOTAL] = cell_integer(summary.total);
    row[COLUMN_COUNT] = cell_integer(summary.count);
    table_write_summary(&row[COLUMN_AVG], &summary);
    if (group->open)
        row[COLUMN_OPEN] = cell_integer(group->open);
    if (key->device != EVENT_NONE)
        row[COLUMN_DEVICE] = cell_integer(key->device);
    row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct device_ranges *ranges = state;
    for (size_t i = 0; i < ranges->groups.count; i++)
        if (write_group(trace, table, groups_key(&ranges->keys, i), &ranges->groups.items[i]) < 0)
            return -1;
    return 0;
}

static void release(void *state)
{
    struct device_ranges *ranges = state;
    for (size_t i = 0; i < ranges->groups.count; i++)
        series_release(&ranges->groups.items[i].times);
    array_release(&ranges->groups);
    groups_release(&ranges->keys);
}

const struct section section_device_ranges = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_DEVICE_RANGE),
    .state_size = sizeof(struct device_ranges),
    .event = event,
    .finish = finish,
    .release = release,
};
