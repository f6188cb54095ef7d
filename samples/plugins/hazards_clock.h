/*
 * Vector clocks: how far each stream is known to have come. A stream is a number from 0 on, how far is the count of
 * what was put into it. What a clock says nothing about is 0: nothing known to be done.
 *
 * Functions that may need memory give false when there was none; then the clock is as before.
 */
#ifndef GPUTRACE_PLUGINS_HAZARDS_CLOCK_H
#define GPUTRACE_PLUGINS_HAZARDS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct clock {
    uint64_t *at;
    uint32_t count;
};

void clock_release(struct clock *clock);

static inline uint64_t clock_get(const struct clock *clock, uint32_t stream)
{
    return stream < clock->count ? clock->at[stream] : 0;
}

/* STREAM is known to have come to TIME at least. */
bool clock_raise(struct clock *clock, uint32_t stream, uint64_t time);

/* What FROM knows is known to TO too. */
bool clock_join(struct clock *to, const struct clock *from);

bool clock_copy(struct clock *to, const struct clock *from);

/* All that PART knows is known to WHOLE. */
bool clock_covers(const struct clock *whole, const struct clock *part);

#endif
