#include "trace/build/clock_axis.h"

#include <stdlib.h>

#include "common/log.h"

/* Offsets are measured by one look at both clocks; less between two processes is no step. */
#define SAME_NS 1000000

void clock_axis_release(struct clock_axis *axis)
{
    array_release(&axis->stretches);
}

static int add(struct clock_axis *axis, struct clock_stretch stretch)
{
    struct clock_stretch *added = array_push(&axis->stretches);
    if (!added)
        return error_no_memory("the steps of the clock");
    *added = stretch;
    return 0;
}

int clock_axis_start(struct clock_axis *axis, int64_t monotonic, int64_t offset)
{
    axis->reference = offset;
    return add(axis, (struct clock_stretch){INT64_MIN, monotonic, INT64_MAX, INT64_MAX, offset});
}

void clock_axis_end(struct clock_axis *axis, int64_t monotonic)
{
    axis->stretches.items[axis->stretches.count - 1].sure_to = monotonic;
}

int clock_axis_step(struct clock_axis *axis, int64_t before, int64_t monotonic, int64_t offset)
{
    struct clock_stretch *last = &axis->stretches.items[axis->stretches.count - 1];
    last->sure_to = before;
    last->latest = monotonic;
    axis->bent = true;
    return add(axis, (struct clock_stretch){before, monotonic, INT64_MAX, INT64_MAX, offset});
}

void clock_axis_refer(struct clock_axis *axis, int64_t reference)
{
    axis->reference = reference;
    if (axis->stretches.count > 0 && llabs(axis->stretches.items[0].offset - reference) >= SAME_NS)
        axis->bent = true;
}

/* How far TIME is outside of FROM to TO. */
static uint64_t distance(int64_t time, int64_t from, int64_t to)
{
    if (time < from)
        return (uint64_t)from - (uint64_t)time;
    return time > to ? (uint64_t)time - (uint64_t)to : 0;
}

static uint64_t worse(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct fit {
    uint64_t impossible; /* ns by which it cannot have been then */
    uint64_t unsure;
};

static bool better(struct fit a, struct fit b)
{
    return a.impossible != b.impossible ? a.impossible < b.impossible : a.unsure < b.unsure;
}

static struct fit fit_of(const struct clock_stretch *stretch, uint64_t time, struct clock_hint hint)
{
    int64_t monotonic = clock_monotonic_of(stretch, time);
    return (struct fit){.impossible = worse(distance(monotonic, stretch->earliest, stretch->latest),
                                            distance(monotonic, hint.from, hint.to)),
                        .unsure = distance(monotonic, stretch->sure_from, stretch->sure_to)};
}

const struct clock_stretch *clock_axis_find(const struct clock_axis *axis, uint64_t time, struct clock_hint hint,
                                            const struct clock_stretch *preferred)
{
    const struct clock_stretch *best = preferred;
    struct fit best_fit = preferred ? fit_of(preferred, time, hint) : (struct fit){0};
    for (size_t i = 0; i < axis->stretches.count; i++) {
        struct fit fit = fit_of(&axis->stretches.items[i], time, hint);
        if (best && !better(fit, best_fit))
            continue;
        best = &axis->stretches.items[i];
        best_fit = fit;
    }
    return best;
}
