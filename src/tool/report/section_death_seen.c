#include "tool/report/section_death_seen.h"

#include <string.h>

static int see_work(struct death_seen *seen, const struct trace_event *event)
{
    struct work_key key = {event->process, trace_event_device(event), event->stream};
    struct last_work *work = groups_item(&seen->work_ids, &key, &seen->works);
    if (!work)
        return -1;
    if (event->category == EVENT_IN_FLIGHT) {
        if (work->in_flight++ == 0 || event->start < work->launched) {
            work->first = event->name;
            work->launched = event->start;
        }
    } else if (!work->finished || event->start + event->duration >= work->start + work->duration) {
        work->finished = true;
        work->name = event->name;
        work->start = event->start;
        work->duration = event->duration;
    }
    return 0;
}

static int see_counter(struct death_seen *seen, const struct trace *trace, const struct trace_event *event)
{
    const char *name = event->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, event->name);
    if (strncmp(name, DEATH_MEMORY_PREFIX, strlen(DEATH_MEMORY_PREFIX)) != 0 || event->bytes == EVENT_NONE)
        return 0;
    struct held_key key = {event->process, event->name};
    struct held *held = groups_item(&seen->held_ids, &key, &seen->helds);
    if (!held)
        return -1;
    if (!held->told || event->start >= held->time)
        *held = (struct held){event->bytes, event->start, true};
    return 0;
}

int death_seen_take(struct death_seen *seen, const struct trace *trace, const struct trace_event *event)
{
    if (event->phase == 'C')
        return see_counter(seen, trace, event);
    if (event_category_in(event->category, EVENT_API))
        return first_errors_see(&seen->errors, event);
    bool work = event->category == EVENT_IN_FLIGHT || event_category_in(event->category, EVENT_GPU_WORK);
    return work ? see_work(seen, event) : 0;
}

void death_seen_release(struct death_seen *seen)
{
    groups_release(&seen->work_ids);
    groups_release(&seen->held_ids);
    array_release(&seen->works);
    array_release(&seen->helds);
    first_errors_release(&seen->errors);
}
