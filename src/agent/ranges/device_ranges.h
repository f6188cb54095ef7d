/*
 * Device ranges, from one marker in a stream to another. The GPU reaches a marker when the work before it in the stream
 * is done.
 *
 * A marker is a cached event, recorded in the stream; CUPTI's record of the event has the GPU's time. The spool has the
 * correlation id of that record and the name of the range; the reader joins them.
 */
#ifndef GPUTRACE_AGENT_RANGES_DEVICE_RANGES_H
#define GPUTRACE_AGENT_RANGES_DEVICE_RANGES_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <gputrace/callbacks.h>

/* Starts a range in STREAM (0 and 1: the legacy default stream, 2: the thread's own). MESSAGE is UTF-8, or NULL.
 * Returns the range's number, or 0 if recording is off, in a client's callback, or if the range cannot be recorded; the
 * user is warned once for each cause. */
uint64_t device_range_start(const char *message, struct CUstream_st *stream);

/* Ends a range, on any thread and in any stream. 0 is ignored. */
void device_range_end(uint64_t range, struct CUstream_st *stream);

/* In a forked child: forgets that CUPTI records event times, because CUPTI is the parent's. */
void device_ranges_atfork_child(void);

/*
 * A cache of CUDA events. Creating an event is slow, and destroying one can wait for other work of the driver; so
 * events are reused, and never destroyed here: they go with their context.
 *
 * There is a cache for each thread and each context that it uses (a device has one context, unless a program creates
 * more), with a lock of its own and separate lists for events with and without timing. Any thread may return an event;
 * the event goes back to its cache. A cache outlives its thread, with its events, and the next thread that needs one
 * for the context takes it over. When a context is destroyed, its caches are forgotten; events that are still in use
 * may be returned, and are freed then.
 *
 *      the list of all    ─┐
 *      its thread, if any ─┼─ references ─> struct event_cache <─ home ── each event in use
 *
 * Lock order: the list's lock before a cache's. Neither is held while CUDA is called.
 */

/* Returns an event of CONTEXT (NULL: the thread's current one), with or without timing, to record in streams of that
 * context, or NULL if CUDA is missing or fails, or there is no memory. The struct is valid until the event is returned.
 */
const struct gputrace_cached_event *event_cache_get(struct CUctx_st *context, bool timing);

/* Returns an event to its cache. The event may no longer be used, except that stream waits for its last record may go
 * on. NULL is ignored, and so is an event that was returned already. */
void event_cache_return(const struct gputrace_cached_event *event);

/* In a forked child: forgets the parent's caches. */
void event_cache_atfork_child(void);

/*
 * The context that is current on this thread, for events that are published without a CUDA call.
 */

struct gputrace_call;

/* Returns NULL if no context is current, or without CUDA. */
struct CUctx_st *current_context(void);

/* Fills in the context of CALL with its number and its device. Changes nothing if no context is current, or without
 * CUDA. */
void current_context_find(struct gputrace_call *call);

#endif
