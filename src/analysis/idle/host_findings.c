/*
 * Sums the rows of idle time that have an activity, and describes the launches around a gap by the call stacks of their
 * operations.
 */
#include "analysis/idle/host_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/names.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_stacks.h"
#include "analysis/names/pretty_name.h"

static bool is_wanted(const struct trace *trace, const struct idle *idle, const struct idle_row *row,
                      const struct host_query *query)
{
    const struct idle_what *what = &row->what;
    if (what->cause != (query->launching ? IDLE_LAUNCH : IDLE_OUTSIDE) || what->activity == EVENT_NO_TEXT ||
        idle_is_loading(trace, what) != query->loading)
        return false;
    bool off = host_kind_is_off(host_activity_kind(&idle->host, what->activity));
    return query->wanted == HOST_ANY || off == (query->wanted == HOST_OFF_PROCESSOR);
}

struct host_idle_found host_idle_find(const struct trace *trace, const struct idle *idle,
                                      const struct host_query *query)
{
    struct host_idle_found found = {.activity = EVENT_NO_TEXT};
    const struct idle_row *row = idle_first_row(&idle->active, query->device);
    int64_t *sums = row ? calloc(idle->host.known.count + 1, sizeof(*sums)) : NULL;
    for (; sums && row; row = idle_next_row(&idle->active, row)) {
        if (!is_wanted(trace, idle, row, query))
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

/* Where operations called NAME are launched, or the pretty form of NAME, which a trace of a job does not have yet. */
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
