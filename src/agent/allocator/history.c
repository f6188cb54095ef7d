#include "agent/allocator/history.h"

#include <stdlib.h>

int history_keep(struct history *history, size_t room)
{
    struct gputrace_allocator_event *events = room ? calloc(room, sizeof(*events)) : NULL;
    if (room && !events)
        return -1;
    free(history->events);
    *history = (struct history){.events = events, .room = room};
    return 0;
}

void history_add(struct history *history, const struct gputrace_allocator_event *event)
{
    if (history->room)
        history->events[history->added++ % history->room] = *event;
}

size_t history_read(const struct history *history, struct gputrace_allocator_event *events, size_t count)
{
    uint64_t kept = history->added < history->room ? history->added : history->room;
    if (count > kept)
        count = (size_t)kept;
    for (size_t i = 0; i < count; i++)
        events[i] = history->events[(history->added - count + i) % history->room];
    return count;
}
