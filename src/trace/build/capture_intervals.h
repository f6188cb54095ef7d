/*
 * When recording was on: the stretches of time between the library's marks.
 *
 * CUPTI is switched a little later than a mark, and memory is always recorded, so a spool holds more than was asked
 * for. What started outside the windows is left out here, GPU work by the call that started it.
 */
#ifndef GPUTRACE_TRACE_BUILD_CAPTURE_INTERVALS_H
#define GPUTRACE_TRACE_BUILD_CAPTURE_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/big_array.h"
#include "trace/spool/event_record.h"

struct windows {
    BIG_ARRAY(struct window_mark {
        uint64_t time;
        bool on;
    })
    marks;
    bool any_on;
    bool limited; /* recording was off at some time: else everything counts */
};

void windows_release(struct windows *windows);

/* Remembers an EVENT_CAPTURE. Gives 0, or -1 after error(). */
int windows_mark(struct windows *windows, const struct event *event);

/* After the last mark: puts them in order. Gives 0, or -1 after error(). */
int windows_close(struct windows *windows);

/* Whether recording was on at TIME. */
bool windows_hold(const struct windows *windows, uint64_t time);

/* Whether recording was on at any time. */
static inline bool windows_any_on(const struct windows *windows)
{
    return !windows->limited || windows->any_on;
}

/* The end of the window that holds TIME; UINT64_MAX: it has none. */
uint64_t windows_end(const struct windows *windows, uint64_t time);

#endif
