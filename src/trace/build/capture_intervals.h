/*
 * When recording was on: the stretches of time between the library's marks.
 *
 * CUPTI is switched a little later than a mark, and memory is always recorded, so a spool holds more than was asked
 * for. What started outside the capture intervals is left out here, GPU work by the call that started it.
 */
#ifndef GPUTRACE_TRACE_BUILD_CAPTURE_INTERVALS_H
#define GPUTRACE_TRACE_BUILD_CAPTURE_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "trace/spool/event_record.h"

struct capture_intervals {
    FILE_VECTOR(struct capture_mark {
        uint64_t time;
        bool on;
    })
    marks;
    bool any_on;
    bool limited; /* recording was off at some time: else everything counts */
};

void capture_intervals_release(struct capture_intervals *capture_intervals);

/* Remembers an EVENT_CAPTURE. Returns 0, or -1 after error(). */
int capture_intervals_mark(struct capture_intervals *capture_intervals, const struct event *event);

/* After the last mark: puts them in order. Returns 0, or -1 after error(). */
int capture_intervals_close(struct capture_intervals *capture_intervals);

/* Whether recording was on at TIME. */
bool capture_intervals_hold(const struct capture_intervals *capture_intervals, uint64_t time);

/* Whether recording was on at any time. */
static inline bool capture_intervals_any_on(const struct capture_intervals *capture_intervals)
{
    return !capture_intervals->limited || capture_intervals->any_on;
}

/* The end of the capture interval that holds TIME; UINT64_MAX: it has none. */
uint64_t capture_intervals_end(const struct capture_intervals *capture_intervals, uint64_t time);

#endif
