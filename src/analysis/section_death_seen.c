#include "analysis/section_death_seen.h"

#include <string.h>

#include "analysis/errors.h"

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

/* Whose call EVENT is, which may be in a further row of its thread. */
static struct trace_thread_id thread_of(const struct trace_event *event)
{
    bool extra = event->of_thread != EVENT_NONE && !event_id_is_text(event->thread) &&
                 event_id_value(event->thread) >= TRACE_EXTRA_TID;
    return (struct trace_thread_id){event->process, extra ? event_id_number(event->of_thread) : event->thread};
}

static int see_result(struct death_seen *seen, const struct trace *trace, const struct trace_event *event)
{
    struct trace_thread_id thread = thread_of(event);
    struct call_results *results = groups_item(&seen->result_ids, &thread, &seen->results);
    if (!results)
        return -1;
    unsigned place = results->count;
    while (place > 0 && results->last[place - 1].start < event->start)
        place--;
    if (place == CALL_RESULTS_KEPT)
        return 0;
    results->count += results->count < CALL_RESULTS_KEPT;
    memmove(&results->last[place + 1], &results->last[place], (results->count - place - 1) * sizeof(*results->last));
    results->last[place] = (struct call_result){.start = event->start,
                                                .code = event->return_value,
                                                .name = event->name,
                                                .of_runtime = event->category == EVENT_RUNTIME,
                                                .failed = errors_is_failure(trace, event)};
    return 0;
}

const struct call_result *death_seen_result(struct death_seen *seen, const struct trace_thread_id *thread,
                                            const struct call *call)
{
    const struct call_results *results = groups_item(&seen->result_ids, thread, &seen->results);
    for (unsigned i = 0; results && i < results->count; i++)
        if (results->last[i].start == call->start && results->last[i].name == call->name)
            return &results->last[i];
    return NULL;
}

static int see_call(struct death_seen *seen, const struct trace *trace, const struct trace_event *event)
{
    if (event->return_value == EVENT_NONE || event->return_value == 0)
        return 0;
    return first_errors_see(&seen->errors, event) < 0 ? -1 : see_result(seen, trace, event);
}

int death_seen_take(struct death_seen *seen, const struct trace *trace, const struct trace_event *event)
{
    if (event->phase == 'C')
        return see_counter(seen, trace, event);
    if (event_category_in(event->category, EVENT_API))
        return see_call(seen, trace, event);
    bool work = event->category == EVENT_IN_FLIGHT || event_category_in(event->category, EVENT_GPU_WORK);
    return work ? see_work(seen, event) : 0;
}

void death_seen_release(struct death_seen *seen)
{
    groups_release(&seen->work_ids);
    groups_release(&seen->held_ids);
    array_release(&seen->works);
    array_release(&seen->helds);
    groups_release(&seen->result_ids);
    array_release(&seen->results);
    first_errors_release(&seen->errors);
}
