/*
 * The events that CUPTI's records become, a row for each type: how the index pass reads it, how the write pass writes
 * it, and how a plugin's own are recognised. API calls and GPU operations are so many that the index and resolve passes
 * also look at them by several threads (index_pass.c, resolve_pass.c).
 */
#ifndef GPUTRACE_TRACE_BUILD_CUPTI_EVENTS_H
#define GPUTRACE_TRACE_BUILD_CUPTI_EVENTS_H

#include "trace/spool/event_record.h"

struct conversion;
struct piece_writer;
struct process;

/* What ties an event to a call, which may be a plugin's. */
enum event_cause {
    NO_CALL,         /* nothing: it is always the program's */
    ON_THREAD,       /* it is a span of time of a thread */
    WITHIN_CALL,     /* it lies within the call that has its correlation id */
    STARTED_BY_CALL, /* the call that has its correlation id started it, and it may run later */
};

/* Functions return 0, or -1 after error(). */
struct cupti_event_kind {
    int (*index)(struct conversion *conversion, struct process *process, const struct event *event);
    int (*write)(struct piece_writer *out, struct process *process, const struct event *event);
    enum event_cause cause;
};

/* Of a type that CUPTI's records do not have, a row without functions. */
const struct cupti_event_kind *cupti_event_kind(enum event_type type);

/* These two are also among the agent's records. */
int index_context(struct conversion *conversion, struct process *process, const struct event *event);
int index_sync(struct conversion *conversion, struct process *process, const struct event *event);

#endif
