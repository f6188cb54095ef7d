/* Sums idle time by row and device, keeps the largest gaps, and describes them in words. */
#include "analysis/idle/idle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/cost_sum.h"
#include "analysis/names/name_facts.h"
#include "analysis/engine/trace.h"
#include "common/buffer.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_stacks.h"
#include "analysis/names/pretty_name.h"

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

/* Returns the index of the shortest gap in `largest`; of several, the last. */
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

/* Returns the row of WHAT, which is added if it is new. Tries a cache first, because most intervals belong to few rows.
 * Returns NULL without memory. */
static struct idle_row *find_row(struct idle_rows *rows, const struct idle_what *what)
{
    const uint64_t key[] = {(uint64_t)what->device << 32 | what->cause, (uint64_t)what->call << 32 | what->range,
                            (uint64_t)what->operation << 32 | what->stream, what->activity};
    uint32_t *recent =
        &rows->recent[(what->cause + what->call + 7 * what->range + what->operation + what->activity) % IDLE_RECENT];
    if (*recent && memcmp(&rows->items[*recent - 1].what, what, sizeof(*what)) == 0)
        return &rows->items[*recent - 1];
    size_t count = rows->count;
    struct idle_row_list *list = array_at(&rows->of_device, what->device);
    struct idle_row *row = list ? dense_map_item(&rows->ids, &key, rows) : NULL;
    if (!row)
        return NULL;
    if (rows->count > count) {
        *(list->last ? &rows->items[list->last - 1].next : &list->first) = (uint32_t)rows->count;
        list->last = (uint32_t)rows->count;
    }
    row->what = *what;
    *recent = (uint32_t)(row - rows->items) + 1;
    return row;
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
    /* If the trace has samples, there are also rows by activity. Rules and shares use the rows without activities. */
    struct idle_row *active = row && idle->host.trace ? find_row(&idle->active, what) : NULL;
    if (!row || (idle->host.trace && !active))
        return -1;
    if (active)
        add(&active->sum, start, length);
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

/* --- words for findings: sums of the rows with an activity, and descriptions of the launches around a gap by their
 * call stacks --- */

struct host_idle_found host_idle_find(const struct trace *trace, const struct idle *idle,
                                      const struct host_query *query)
{
    struct host_idle_found found = {.activity = EVENT_NO_TEXT};
    const struct idle_row *row = idle_first_row(&idle->active, query->device);
    int64_t *sums = row ? calloc(idle->host.known.count + 1, sizeof(*sums)) : NULL;
    for (; sums && row; row = idle_next_row(&idle->active, row)) {
        const struct idle_what *what = &row->what;
        if (what->cause != (query->launching ? IDLE_LAUNCH : IDLE_OUTSIDE) || what->activity == EVENT_NO_TEXT ||
            idle_is_loading(trace, what) != query->loading)
            continue;
        bool off = host_kind_is_off(host_activity_kind(&idle->host, what->activity));
        if (query->wanted != HOST_ANY && off != (query->wanted == HOST_OFF_PROCESSOR))
            continue;
        sum_add(&found.total, row->sum.total);
        found.gaps += row->sum.count;
        sum_add(&sums[row->what.activity], row->sum.total);
    }
    if (sums)
        found.activity = host_activity_most(&idle->host, sums, idle->host.known.count, 0, &found.most);
    free(sums);
    return found;
}

bool host_fetches_batch(const struct trace *trace, int64_t stack)
{
    static const char *const movers[] = {"batch_to_device", "send_to_device", "_prepare_inputs"};
    const struct trace_frame *frames[TRACE_STACK_FRAMES];
    size_t count = trace_stack(trace, stack, frames, TRACE_STACK_FRAMES);
    for (size_t i = 0; i < count * 3; i++) {
        const char *place = trace_text(trace, frames[i / 3]->place);
        if (name_is_data_loader(place) || strstr(place, movers[i % 3]))
            return true;
    }
    return false;
}

/* Returns PLACE, where operations called NAME are launched. If it is NULL, returns the pretty form of NAME, which is
 * made here for ranks of a job because their traces have no pretty names yet. */
static struct finding_name launch_of(const struct trace *trace, uint32_t name, const struct trace_frame *place)
{
    struct buffer text;
    if (place)
        return finding_name_of(trace_text(trace, place->place));
    if (!trace->options->of_job)
        return finding_name(trace, name);
    buffer_init_memory(&text);
    pretty_name_write(&text, trace_text(trace, name), strlen(trace_text(trace, name)), 0, NULL);
    buffer_char(&text, '\0');
    struct finding_name shown = finding_name_of(text.failure ? "" : text.data);
    buffer_release(&text);
    return shown;
}

struct host_between host_between(const struct trace *trace, const struct idle_gap *gap)
{
    const uint32_t names[] = {gap->before.name, gap->after.name};
    const struct trace_frame *places[2], *inner;
    struct host_between between;
    int64_t stacks[2];
    for (unsigned i = 0; i < 2; i++) {
        stacks[i] = findings_stack(section_state(trace, REPORT_FINDINGS), names[i]);
        places[i] = trace_stack_place(trace, stacks[i]);
    }
    bool same = places[0] && places[1] && places[0]->place == places[1]->place;
    for (unsigned i = 0; i < 2; i++)
        places[i] = same && trace_program_frames(trace, stacks[i], &inner, 1) > 0 ? inner : places[i];
    between.loads = host_fetches_batch(trace, stacks[1]);
    const struct finding_name from = launch_of(trace, names[0], places[0]), to = launch_of(trace, names[1], places[1]);
    snprintf(between.text, sizeof(between.text), "%s and %s%s", from.text, to.text,
             between.loads ? ", where it gets the next batch" : "");
    if (!between.loads && strcmp(from.text, to.text) == 0)
        *between.text = '\0';
    return between;
}

const struct idle_gap *host_gap(const struct idle *idle, size_t device, uint32_t activity)
{
    const struct idle_gap *found = NULL;
    for (size_t i = 0; activity != EVENT_NO_TEXT && i < idle->largest_count; i++) {
        const struct idle_gap *gap = &idle->largest[i];
        if (gap->device == device && gap->activity == activity &&
            (!found || gap->end - gap->start > found->end - found->start))
            found = gap;
    }
    return found;
}

struct finding_place host_gap_place(size_t device, const struct idle_gap *gap)
{
    struct finding_place place = gap ? finding_at_time(gap->thread, gap->start, gap->end) : place_none();
    place.device = (int64_t)device;
    return place;
}
