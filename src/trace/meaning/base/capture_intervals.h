/*
 * When recording was on: the stretches of time between the library's marks.
 *
 * CUPTI is switched a little later than a mark, and memory is always recorded, so a spool holds more than was asked
 * for. What started outside the capture intervals is left out here, GPU work by the call that started it.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_CAPTURE_INTERVALS_H
#define GPUTRACE_TRACE_MEANING_BASE_CAPTURE_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
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

/* The first time from TIME on when recording was on; UINT64_MAX: it never was. */
uint64_t capture_intervals_begin(const struct capture_intervals *capture_intervals, uint64_t time);

/* The end of the capture interval that holds TIME; UINT64_MAX: it has none. */
uint64_t capture_intervals_end(const struct capture_intervals *capture_intervals, uint64_t time);

/*
 * When threads of the program were in callbacks of plugins: calls of CUDA in these capture intervals are a plugin's,
 * not the program's. Nothing is kept, and nothing costs time, where there are none.
 */

struct plugin_interval {
    uint64_t start, end; /* ns */
};

struct plugin_intervals {
    struct map by_thread; /* -> index + 1 in threads */
    ARRAY(struct plugin_intervals_of { FILE_VECTOR(struct plugin_interval) items; }) threads;
    const char *directory; /* for what memory cannot hold; NULL: there is none */
};

void plugin_intervals_release(struct plugin_intervals *intervals);

/* Returns 0, or -1 after error(). */
int plugin_intervals_add(struct plugin_intervals *intervals, uint32_t thread, uint64_t start, uint64_t end);

/* After the last: puts them in order. Returns 0, or -1 after error(). */
int plugin_intervals_close(struct plugin_intervals *intervals);

/* What is known need not stay in memory for now. */
void plugin_intervals_evict(const struct plugin_intervals *intervals);

static inline bool plugin_intervals_any(const struct plugin_intervals *intervals)
{
    return intervals->threads.count > 0;
}

/* Whether the time from START to END of THREAD lies within a capture interval. */
bool plugin_intervals_hold(const struct plugin_intervals *intervals, uint32_t thread, uint64_t start, uint64_t end);

#endif
