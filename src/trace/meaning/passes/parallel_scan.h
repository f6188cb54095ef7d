/*
 * Walks over the records of a spool, decoded, at times that are on the axis of all processes. CUPTI's are so many that
 * threads walk over them.
 */
#ifndef GPUTRACE_TRACE_MEANING_PASSES_PARALLEL_SCAN_H
#define GPUTRACE_TRACE_MEANING_PASSES_PARALLEL_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/base/times.h"
#include "trace/meaning/base/process.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/cupti.h"

/* What ties an event of CUPTI's to a call, which may be a plugin's. */
enum event_cause {
    NO_CALL,         /* nothing: it is always the program's */
    ON_THREAD,       /* it is a span of time of a thread */
    WITHIN_CALL,     /* it lies within the call that has its correlation id */
    STARTED_BY_CALL, /* the call that has its correlation id started it, and it may run later */
};

/* What the passes do with each event: the rows of trace/spool/event_record.h, CUPTI's and the agent's apart, as some
 * events come from both. Each function returns 0, or -1 after error(); NULL: the pass does nothing with the event. */
struct event_passes {
    int (*index)(struct process *process, const struct event *event);
    int (*resolve)(struct process *process, const struct event *event);
    int (*write)(struct piece_writer *out, struct process *process, const struct event *event);
    enum event_cause cause;
};

extern const struct event_passes cupti_passes[EVENT_TYPE_COUNT], agent_passes[EVENT_TYPE_COUNT]; /* by type */

/* The events of one part. Several threads may walk over parts of one process, each with a walk of its own. */
struct part_walk {
    struct process *process;
    const struct spool_part *part;
    bool all; /* also what the trace does not show */
    struct cupti_walk cupti;
    struct agent_walk own;
    struct clock_walk clocks;
    uint64_t unreadable; /* records so far */
};

/* DATA is what spool_part_data() gave, and stays valid up to the end. */
void part_walk_begin(struct part_walk *walk, struct process *process, const struct spool_part *part,
                     const uint8_t *data, bool all);
/* False: that was the last event. */
bool part_walk_next(struct part_walk *walk, struct event *event);
/* Returns how many records could not be read. */
uint64_t part_walk_end(const struct part_walk *walk);

#define SCAN_DEFER 1 /* of scan(): this event is to be seen */

struct scan {
    bool all;          /* also what the trace does not show */
    size_t found_size; /* of what is noted of a part, which starts as zeros */
    /* One event. Any number of threads scan at once: of the process they change nothing but its launches. Returns 0,
     * SCAN_DEFER, or -1 after error(). */
    int (*scan)(struct process *process, void *found, const struct event *event);
    /* What was found in part number process->part, and left as zeros; NULL: nothing is noted. Returns 0, or -1 after
     * error(). While it is called others scan. */
    int (*join)(struct process *process, void *found);
    /* Of what is never taken. */
    void (*release)(void *found);
    /* As join(), for an event that was put off; NULL: none is. */
    event_function visit;
};

/* Whether the call was made by a plugin. */
bool call_is_plugins(const struct process *process, const struct event *api);
/* Whether there are calls that are not the program's: of plugins, and of the library where device ranges start and end.
 */
bool has_suppressed_calls(const struct process *process);
/* Whether the trace shows what CUPTI recorded here: it started, or was launched, while recording was on, and is not of
 * a plugin. The calls of the process must be known. */
bool event_is_shown(const struct process *process, const struct event *event);

/* UNDECODED (or NULL) counts what cannot be read. Returns 0, or -1 after error(). */
int parallel_scan(struct process *process, const struct scan *scan, uint64_t *undecoded);

#endif
