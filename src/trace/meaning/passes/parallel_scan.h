/*
 * Walks over the decoded records of a spool, with times on the axis of all processes. Several threads walk over CUPTI's
 * records, because there are so many.
 */
#ifndef GPUTRACE_TRACE_MEANING_PASSES_PARALLEL_SCAN_H
#define GPUTRACE_TRACE_MEANING_PASSES_PARALLEL_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/base/times.h"
#include "trace/meaning/base/process.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/cupti.h"

/* What ties an event of CUPTI to a call: a plugin's call makes it a plugin's event. */
enum event_cause {
    NO_CALL,         /* nothing: the event is always the program's */
    ON_THREAD,       /* the event is a span of time of a thread */
    WITHIN_CALL,     /* the event lies within the call that has its correlation id */
    STARTED_BY_CALL, /* the call that has its correlation id started it, and it may run later */
};

/* What the passes do with an event: the rows of common/record_kinds.h and trace/spool/event_record.h, one table for CUPTI and one for the agent,
 * since both record some types. Functions return 0, or -1 after error(); NULL: the pass skips the event. */
struct event_passes {
    int (*index)(struct process *process, const struct event *event);
    int (*resolve)(struct process *process, const struct event *event);
    int (*write)(struct piece_writer *out, struct process *process, const struct event *event);
    enum event_cause cause;
};

extern const struct event_passes cupti_passes[EVENT_TYPE_COUNT], agent_passes[EVENT_TYPE_COUNT]; /* by type */

/* A walk over the events of one part. Several threads may walk over parts of one process, each with its own struct. */
struct part_walk {
    struct process *process;
    const struct spool_part *part;
    bool all; /* also visits records that the trace does not show */
    struct cupti_walk cupti;
    struct agent_walk own;
    struct clock_walk clocks;
    uint64_t unreadable; /* CUPTI's records so far that could not be decoded */
};

/* DATA is what spool_part_data() returned; it must stay valid until the end of the walk. */
void part_walk_begin(struct part_walk *walk, struct process *process, const struct spool_part *part,
                     const uint8_t *data, bool all);
/* Returns false after the last event. */
bool part_walk_next(struct part_walk *walk, struct event *event);
/* Returns how many records could not be read. */
uint64_t part_walk_end(const struct part_walk *walk);

#define SCAN_DEFER 1 /* scan() returns it to have visit() called with the event */

struct scan {
    bool all;          /* also scans records that the trace does not show */
    size_t found_size; /* bytes of what scan() finds in a part, FOUND, which starts as zeros; 0: FOUND is NULL */
    /* Scans one event. Several threads scan at once, so scan() changes nothing of the process but its launches.
     * Returns 0, SCAN_DEFER, or -1 after error(). */
    int (*scan)(struct process *process, void *found, const struct event *event);
    /* Adds what was found in part number process->part to the process, and resets FOUND to zeros; NULL: nothing to add.
     * One thread calls it, in the order of parts, while others scan. Returns 0, or -1 after error(). */
    int (*join)(struct process *process, void *found);
    /* Releases what a FOUND holds that was not joined because of a failure. */
    void (*release)(void *found);
    /* Called as join() is, for each event that was deferred; NULL if none is. */
    event_function visit;
};

/* Whether the call was made by a plugin. */
bool call_is_plugins(const struct process *process, const struct event *api);
/* Whether the process has calls that are not the program's: calls of plugins, and of the agent for device ranges. */
bool has_suppressed_calls(const struct process *process);
/* Whether the trace shows this event of CUPTI: the event, or its launch, began while recording was on, and is not a
 * plugin's. The calls of the process must have been indexed. */
bool event_is_shown(const struct process *process, const struct event *event);

/* Scans CUPTI's records. UNDECODED, unless NULL, counts what cannot be read. Returns 0, or -1 after error(). */
int parallel_scan(struct process *process, const struct scan *scan, uint64_t *undecoded);

#endif
