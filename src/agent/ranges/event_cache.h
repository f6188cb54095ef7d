/*
 * A cache of CUDA events. Creating one costs, and destroying one can wait for whatever the driver is doing; so events
 * are used again, and none is ever destroyed here: they go with their context.
 *
 * There is a cache for each thread and each of the contexts that it uses (a device has one, unless a program makes
 * more), with lists of its own for events with and without timing, under a lock that is its own. An event that is given
 * back, by whatever thread, goes home to the cache it came from. A cache outlives its thread, with the events that are
 * out and those that are at home, and the next thread that needs one for that context takes it over. When a context
 * goes its caches are forgotten; events that are still out may be given back, and are forgotten then.
 *
 *     the list of all    ─┐
 *     its thread, if any ─┼─ references ─> struct event_cache <─ home ── each event that is out
 *
 * Locks: that of the list is taken before a cache's, and neither while CUDA is called.
 */
#ifndef GPUTRACE_AGENT_RANGES_EVENT_CACHE_H
#define GPUTRACE_AGENT_RANGES_EVENT_CACHE_H

#include <stdbool.h>

#include <gputrace/callbacks.h>

/* An event of CONTEXT (NULL: the thread's current one), with or without timing; may be recorded in streams of that
 * context. NULL: CUDA has none, there is no CUDA, or no memory. The struct is valid until it is given back. */
const struct gputrace_cached_event *event_cache_take(struct CUctx_st *context, bool timing);

/* The event may no longer be used, except that waits for its last record in a stream may go on. NULL is allowed;
 * what came home already stays there. */
void event_cache_give_back(const struct gputrace_cached_event *event);

/* In a forked child: the parent's events are not its own. */
void event_cache_atfork_child(void);

#endif
