/*
 * What the passes do with each event: the rows of trace/spool/record_table.h, CUPTI's and the agent's apart, as some
 * events come from both.
 */
#ifndef GPUTRACE_TRACE_MEANING_PASSES_EVENT_PASSES_H
#define GPUTRACE_TRACE_MEANING_PASSES_EVENT_PASSES_H

#include "trace/spool/event_record.h"

struct piece_writer;
struct process;

/* What ties an event of CUPTI's to a call, which may be a plugin's. */
enum event_cause {
    NO_CALL,         /* nothing: it is always the program's */
    ON_THREAD,       /* it is a span of time of a thread */
    WITHIN_CALL,     /* it lies within the call that has its correlation id */
    STARTED_BY_CALL, /* the call that has its correlation id started it, and it may run later */
};

/* Each function returns 0, or -1 after error(); NULL: the pass does nothing with the event. */
struct event_passes {
    int (*index)(struct process *process, const struct event *event);
    int (*resolve)(struct process *process, const struct event *event);
    int (*write)(struct piece_writer *out, struct process *process, const struct event *event);
    enum event_cause cause;
};

extern const struct event_passes cupti_passes[EVENT_TYPE_COUNT], agent_passes[EVENT_TYPE_COUNT]; /* by type */

#endif
