/* Samples of processors and states of threads in a trace. */
#include <string.h>

#include "analysis/model/trace.h"

/* What gputrace calls the states, and perf the same ones. */
static enum host_state_kind kind_of(const struct trace *trace, const struct event_fields *event)
{
    const char *name = trace_text(trace, event->name);
    if (strcmp(name, "Runnable") == 0)
        return HOST_RUNNABLE;
    return strcmp(name, "Disk wait") == 0 ? HOST_DISK_WAIT : HOST_SLEEPING;
}

static int add_state(struct trace *trace, const struct event_fields *event)
{
    event_id id = event->of_thread == EVENT_NONE ? event->thread : event_id_number(event->of_thread);
    const struct trace_thread *thread = trace_thread(trace, event->process, id);
    const struct host_site site = {event->stack, EVENT_NO_TEXT};
    const struct host_state state = {.start = event->start,
                                     .end = event->start + event->duration,
                                     .waker = event->waker,
                                     .kind = kind_of(trace, event)};
    return thread ? host_samples_add_state(&trace->samples, (uint32_t)(thread - trace->threads.items), &state, &site)
                  : -1;
}

int trace_sample(struct trace *trace, const struct event_fields *event)
{
    if (!trace->wanted.samples)
        return 0;
    if (event->category == CATEGORY_THREAD_STATE)
        return event->duration > 0 ? add_state(trace, event) : 0;
    const struct trace_thread *thread = trace_thread(trace, event->process, event->thread);
    const struct host_site site = {event->stack, event->name};
    return thread ? host_samples_add(&trace->samples, (uint32_t)(thread - trace->threads.items), event->start, &site)
                  : -1;
}

uint32_t trace_find_waker(const struct trace *trace, uint32_t thread, int64_t id)
{
    uint32_t found = LAUNCHED_NO_THREAD;
    for (uint32_t i = 0; id > 0 && i < trace->threads.count; i++) {
        const struct trace_thread_id *known = dense_map_row(&trace->thread_ids, i);
        if (known->thread != event_id_number(id))
            continue;
        if (trace->threads.items[i].process == trace->threads.items[thread].process)
            return i;
        found = found == LAUNCHED_NO_THREAD ? i : found;
    }
    return found;
}

const char *trace_thread_comm(const struct trace *trace, uint32_t thread, size_t *length)
{
    const char *name = trace_text(trace, trace->threads.items[thread].name);
    const char *open = strncmp(name, "thread ", strlen("thread ")) == 0 ? strchr(name, '(') : NULL;
    *length = open ? strcspn(open + 1, ")") : strlen(name);
    return open ? open + 1 : name;
}
