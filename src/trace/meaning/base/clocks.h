/*
 * One axis for the times of all processes of a run, though somebody set the clock meanwhile.
 *
 * Times are of CLOCK_REALTIME, which is what CUPTI records; between two steps of it they differ from CLOCK_MONOTONIC,
 * which all processes of a machine share, by a constant. A time is therefore that of CLOCK_MONOTONIC plus what the
 * first process of the run found between the two, however often the clock was set since. Where a time of the clock came
 * twice, what is known of when the record was written decides.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_CLOCKS_H
#define GPUTRACE_TRACE_MEANING_BASE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"

struct conversion;
struct event;
struct process;
struct spool_part;

struct clock_stretch {
    int64_t earliest, sure_from; /* CLOCK_MONOTONIC: it began between these … */
    int64_t sure_to, latest;     /* … and ended between these */
    int64_t offset;              /* of CLOCK_REALTIME from it */
};

struct clock_axis {
    ARRAY(struct clock_stretch) stretches;
    int64_t reference;
    bool stepped; /* else every time stays as it is */
};

/* What is known of a time: by CLOCK_MONOTONIC it is between these. */
struct clock_hint {
    int64_t from, to;
};

/* The clocks as they were when the process began; then, step by step, as they are from MONOTONIC on, and were not yet
 * at BEFORE; then when they were last looked at; then the first process's. Return 0, or -1 after error(). */
int clock_axis_start(struct clock_axis *axis, int64_t monotonic, int64_t offset);
int clock_axis_step(struct clock_axis *axis, int64_t before, int64_t monotonic, int64_t offset);
void clock_axis_end(struct clock_axis *axis, int64_t monotonic);
void clock_axis_refer(struct clock_axis *axis, int64_t reference);

/* The stretch that TIME of CLOCK_REALTIME is of; PREFERRED (or NULL) if it can be. NULL: there are none. */
const struct clock_stretch *clock_axis_find(const struct clock_axis *axis, uint64_t time, struct clock_hint hint,
                                            const struct clock_stretch *preferred);

static inline int64_t clock_monotonic_of(const struct clock_stretch *stretch, uint64_t time)
{
    return (int64_t)(time - (uint64_t)stretch->offset);
}

/* TIME on the axis. */
static inline uint64_t clock_axis_place(const struct clock_axis *axis, const struct clock_stretch *stretch,
                                        uint64_t time)
{
    return time - (uint64_t)stretch->offset + (uint64_t)axis->reference;
}

/* Puts the times of all processes on one axis, once all are open. Returns 0, or -1 after error(). */
int find_clocks(struct conversion *conversion);

/* The times of one part's events after another, in their order in it. */
struct clock_walk {
    const struct clock_axis *clocks;
    struct clock_hint part;
    int64_t last; /* time of the last record: later ones are not much earlier */
};
void clock_walk_begin(struct clock_walk *walk, const struct process *process, const struct spool_part *part);
void clock_walk_correct(struct clock_walk *walk, struct event *event);
/* Puts the event's times on the axis. */
static inline void clock_walk_set(struct clock_walk *walk, struct event *event)
{
    if (walk->clocks->stepped)
        clock_walk_correct(walk, event);
}

typedef int (*event_function)(struct process *process, const struct event *event);

/* Calls VISIT for each event of the agent's records, at times on the axis of all processes, until one call gives
 * non-zero, and returns that. UNDECODED (or NULL) counts what cannot be read. */
int process_walk_agent_records(struct process *process, event_function visit, uint64_t *undecoded);

#endif
