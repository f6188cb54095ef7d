/*
 * Device ranges: from a marker in a stream to another one. The GPU reaches a marker when the work before it in the
 * stream is done.
 *
 * A marker is an event of the cache, recorded in the stream; CUPTI's record of that has the GPU's time. The spool
 * says which correlation id the record has, and what the range is called; the reader puts them together.
 */
#ifndef GPUTRACE_AGENT_RANGES_DEVICE_RANGES_H
#define GPUTRACE_AGENT_RANGES_DEVICE_RANGES_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <gputrace/callbacks.h>

/* Starts a range in STREAM (0 and 1: the legacy default stream, 2: the thread's own). MESSAGE is UTF-8; NULL: none.
 * Returns the range's number, or 0: recording is off, this is a callback's doing, or it cannot be done, which the user
 * is warned once for each cause. */
uint64_t device_range_start(const char *message, struct CUstream_st *stream);

/* Ends it; on any thread, in any stream. 0 is allowed. */
void device_range_end(uint64_t range, struct CUstream_st *stream);

/* In a forked child: CUPTI and CUDA are the parent's. */
void device_ranges_atfork_child(void);

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

/* An event of CONTEXT (NULL: the thread's current one), with or without timing; may be recorded in streams of that
 * context. NULL: CUDA has none, there is no CUDA, or no memory. The struct is valid until it is given back. */
const struct gputrace_cached_event *event_cache_get(struct CUctx_st *context, bool timing);

/* The event may no longer be used, except that waits for its last record in a stream may go on. NULL is allowed;
 * what came home already stays there. */
void event_cache_return(const struct gputrace_cached_event *event);

/* In a forked child: the parent's events are not its own. */
void event_cache_atfork_child(void);

/*
 * The context that is current on this thread, for events that are published without a CUDA call.
 */

struct gputrace_call;

/* NULL: none is current, or no CUDA. */
struct CUctx_st *current_context(void);

/* Fills in CALL's context, its number and its device; leaves them as they are where none is current, or no CUDA. */
void current_context_find(struct gputrace_call *call);

#endif
