/*
 * Device ranges: from a moment in a stream to another one, each of them there when the work before it in the stream is
 * done.
 *
 * A moment is an event of the cache, recorded in the stream; CUPTI's record of that has the GPU's time. The spool is
 * says which correlation id the record has, and what the range is called; the reader puts them together.
 */
#ifndef GPUTRACE_AGENT_RANGES_DEVICE_RANGES_H
#define GPUTRACE_AGENT_RANGES_DEVICE_RANGES_H

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

#endif
