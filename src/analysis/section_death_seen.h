/*
 * What section_death.c has seen of the events when the trace ends: what each stream did last, what each counter of
 * memory stood at last, the calls that first heard of an error, and the last calls of each thread that returned one.
 */
#ifndef GPUTRACE_ANALYSIS_SECTION_DEATH_SEEN_H
#define GPUTRACE_ANALYSIS_SECTION_DEATH_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/first_errors.h"
#include "analysis/groups.h"
#include "analysis/trace.h"

/* Whose last work it is. */
struct work_key {
    event_id row;
    int64_t device, stream;
};
struct last_work {
    bool finished;
    uint32_t name; /* of the last that finished */
    int64_t start, duration;
    int64_t in_flight; /* how many */
    uint32_t first;    /* name of the earliest in flight */
    int64_t launched;  /* when its call returned */
};

/* Whose memory it is. */
struct held_key {
    event_id row;
    uint64_t name; /* of the counter */
};
struct held {
    int64_t bytes, time;
    bool told;
};

/* A call that did not return success. */
struct call_result {
    int64_t start, code;
    uint32_t name;
    bool of_runtime; /* else the driver's */
    bool failed;     /* errors_is_failure() */
};
/* Of one thread the last ones by their start, the latest first: some more than calls are shown, for a call may lie
 * within another. */
#define CALL_RESULTS_KEPT 16u
struct call_results {
    unsigned count;
    struct call_result last[CALL_RESULTS_KEPT];
};

#define DEATH_MEMORY_PREFIX "Memory in use: " /* of the counters' names */

/* Starts as zeros. */
struct death_seen {
    struct groups work_ids, held_ids; /* by work_key and held_key */
    ARRAY(struct last_work) works;
    ARRAY(struct held) helds;
    struct groups result_ids; /* by struct trace_thread_id */
    ARRAY(struct call_results) results;
    struct first_errors errors;
};

/* Takes an event; gives 0, or -1: no memory. */
int death_seen_take(struct death_seen *seen, const struct trace *trace, const struct trace_event *event);

/* What CALL of the thread, one of its last, did not succeed with. NULL: it succeeded. */
const struct call_result *death_seen_result(struct death_seen *seen, const struct trace_thread_id *thread,
                                            const struct call *call);

void death_seen_release(struct death_seen *seen);

#endif
