/*
 * Ranges that the program put into its streams (gputrace_device_range_start), by name and device: how long they took on
 * the GPU. They nest and overlap, so there are no sums.
 */
#include "analysis/section.h"

struct range_key {
    uint64_t name;
    int64_t device;
};

struct range_group {
    struct series times;
    int64_t open;
};

static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    (void)trace;
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    const struct range_key key = {event->name, trace_event_device(event)};
    struct range_group *group = tally_item((struct tally *)state, &key, struct range_group);
    if (!group)
        return -1;
    group->open += event->open_at_end == 1;
    return series_add(&group->times, event->duration);
}

static const struct column columns[] = {
    COLUMN_TOTAL(0, range_group, times),
    COLUMN_COUNT("count", "Count", 0, range_group, times),
    COLUMNS_SUMMARY("", TYPE_NS, range_group, times),
    {"open", "Not ended", TYPE_COUNT, COLUMN_OPTIONAL, fill_some, FROM_ITEM(range_group, open)},
    {"device", "GPU", TYPE_NUMBER, 0, fill_number, FROM_KEY(range_key, device)},
    COLUMN_NAME,
};

const struct section section_device_ranges = {
    SECTION_COLUMNS(columns), SECTION_TALLY(struct range_group, 1),
    .sort = "total",          .categories = EVENT_BIT(EVENT_DEVICE_RANGE),
    .event = event,
};
