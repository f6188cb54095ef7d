/*
 * Walks over the records of a spool, decoded, at times that are on the axis of all processes. CUPTI's are so many that
 * threads walk over them: sift.h.
 */
#ifndef GPUTRACE_TRACE_BUILD_WALKS_H
#define GPUTRACE_TRACE_BUILD_WALKS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/build/conversion.h"
#include "trace/spool/records.h"

/* clocks.c: the times of one part's events after another, in their order in it. */
struct clock_walk {
    const struct clock_axis *clocks;
    struct clock_hint part;
    int64_t last; /* time of the last record: later ones are not much earlier */
};
void clock_walk_begin(struct clock_walk *walk, const struct process *process, const struct spool_part *part);
void clock_walk_bend(struct clock_walk *walk, struct event *event);
/* Puts the event's times on the axis. */
static inline void clock_walk_set(struct clock_walk *walk, struct event *event)
{
    if (walk->clocks->bent)
        clock_walk_bend(walk, event);
}

/* The events of one part. Several threads may walk over parts of one process, each with a walk of its own. */
struct part_walk {
    struct process *process;
    const struct spool_part *part;
    bool all; /* also what the trace does not show */
    struct cupti_walk cupti;
    struct own_walk own;
    struct clock_walk clocks;
    uint64_t unreadable; /* records so far */
};

/* DATA is what spool_part_data() gave, and stays valid up to the end. */
void part_walk_begin(struct part_walk *walk, struct process *process, const struct spool_part *part,
                     const uint8_t *data, bool all);
/* False: that was the last event. */
bool part_walk_next(struct part_walk *walk, struct event *event);
/* Gives how many records could not be read. */
uint64_t part_walk_end(const struct part_walk *walk);

typedef int (*event_function)(struct conversion *conversion, struct process *process, const struct event *event);

/* Calls SEE for each event of the library's records until one gives non-zero, and gives that. UNDECODED (or NULL)
 * counts what cannot be read. */
int process_walk_own(struct conversion *conversion, struct process *process, event_function see, uint64_t *undecoded);

#endif
