/*
 * The last events of a heap, for whoever asked to have them kept. Under the heap's lock.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_HISTORY_H
#define GPUTRACE_AGENT_ALLOCATOR_HISTORY_H

#include <stdbool.h>

#include <gputrace/allocator.h>

struct history {
    struct gputrace_allocator_event *events; /* a ring; NULL: none are kept */
    size_t room;
    uint64_t added; /* in all */
};

/* Keeps the last ROOM events from here on, 0: none. Gives 0, or -1: no memory, and it is as before. */
int history_keep(struct history *history, size_t room);

static inline bool history_is_kept(const struct history *history)
{
    return history->room > 0;
}

void history_add(struct history *history, const struct gputrace_allocator_event *event);

/* Writes the last COUNT, the oldest first. Gives how many. */
size_t history_read(const struct history *history, struct gputrace_allocator_event *events, size_t count);

#endif
