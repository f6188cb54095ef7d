/*
 * Moments in streams: that the work before them is done. A CUDA event of the library's own marks each, and costs the
 * GPU time: it is done 0.8 to 4 us after the work (on an H200 1.3 at the median), and one after another 1.3 us later
 * again. That is the tracer's time and not the program's. So a moment that comes soon after the end of the last work of
 * its stream is at that end, and one that comes soon after another, without work in between, is where the other one is.
 * What comes later than that is as late as the GPU said: the program put it there later, or the stream waited.
 *
 * Moments are added, put in order, and told all work of the process, in any order; then they are settled.
 */
#ifndef GPUTRACE_TOOL_MODEL_DEVICE_MOMENTS_H
#define GPUTRACE_TOOL_MODEL_DEVICE_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "tool/model/event.h"

/* What is still soon, ns: two or three events in a row, of which each takes 0.8 to 4 us. */
#define DEVICE_MOMENT_SOON 8000

struct device_moment {
    uint64_t called; /* by the program, ns; 0: it was not */
    uint64_t marked; /* when the GPU was done with the event, ns; 0: not known */
    uint64_t time;   /* as it is shown, ns; as marked until it is settled */
    uint32_t device, context, stream;
};

/* A moment among those of its stream, and the work seen between the one before and it. */
struct device_mark {
    struct device_moment *moment;
    uint64_t started; /* the last start of work before it, ns; 0: there is none */
    uint64_t ended;   /* the last end at or before it */
};

struct device_moments {
    ARRAY(struct device_mark) marks; /* in order of place and time, once they are ordered */
};

void device_moments_release(struct device_moments *moments);

/* A moment with a known time, which must stay where it is until it is settled. Gives 0, or -1 after error(). */
int device_moments_add(struct device_moments *moments, struct device_moment *moment);
void device_moments_order(struct device_moments *moments);

void device_moments_find_work(struct device_moments *moments, const struct event *work);

/* GPU work of a known time, once they are ordered. */
static inline void device_moments_see(struct device_moments *moments, const struct event *work)
{
    if (moments->marks.count > 0)
        device_moments_find_work(moments, work);
}

/* Sets their times; in a stream they stay in order. ALL_WORK: there was no other; without it, nothing is known of what
 * lies between moments, and only those that come soon after work are moved. */
void device_moments_settle(struct device_moments *moments, bool all_work);

#endif
