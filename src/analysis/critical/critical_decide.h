/*
 * Finds what decided when each operation started and when each call returned. First it finds what streams and calls
 * waited for, by CUPTI's records of synchronisation: a wait for an event is a wait for all operations that were
 * launched into the event's stream before the event was recorded. The record has the correlation id of the call that
 * recorded it.
 */
#ifndef GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_DECIDE_H
#define GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/sorter.h"
#include "trace/event_fields.h"
#include "analysis/critical/critical_graph.h"
#include "analysis/engine/trace.h"

/* A stream was made to wait for the operations launched into stream `on` before the time `marked`. */
struct critical_wait {
    int64_t time;        /* of the call */
    int64_t marked;      /* FIELD_ABSENT: not known */
    uint32_t stream, on; /* indices in trace.streams; on: EVENT_NO_TEXT: not known */
};

/* A call on `thread` waited. */
struct critical_sync {
    int64_t time;    /* ns, within the call */
    int64_t marked;  /* it waited for operations launched before this; FIELD_ABSENT: before the call */
    uint32_t thread; /* index in trace.threads */
    uint32_t on;     /* the awaited stream: index in trace.streams; EVENT_NO_TEXT: all of the device */
    int64_t device;  /* number; FIELD_ABSENT: not known */
    bool nothing;    /* nothing ran in the awaited stream */
};

struct critical_syncs {
    struct sorter marked, records;           /* marked: with the id of the recording call; records: others, later all */
    FILE_VECTOR(struct critical_wait) waits; /* by stream and time, after critical_syncs_finish() */
    FILE_VECTOR(struct critical_sync) calls; /* by thread and time, after critical_syncs_finish() */
};

void critical_syncs_init(struct critical_syncs *syncs, struct sorter_space *space);
void critical_syncs_release(struct critical_syncs *syncs);

/* Reads a slice of the category CUDA_SYNC. Returns 0, or -1: no memory. */
int critical_syncs_event(struct critical_syncs *syncs, const struct trace *trace, const struct event_fields *event);

/* Joins the records with trace.calls, after trace_finish(). Returns 0, or -1: no memory, or after error(). */
int critical_syncs_finish(struct critical_syncs *syncs, const struct trace *trace);

/* Sets `decider`, `held`, `edges` of all operations and `waited`, `all` of all calls. Returns 0, or -1: no memory. */
int critical_graph_decide(struct critical_graph *graph, const struct critical_syncs *syncs);

#endif
