/*
 * Which operations were launched into a stream that was made to wait for an event just before. Records of category
 * CUDA_SYNC name both streams. In a trace that has only the calls, the next launch of the thread is assumed to be in
 * the stream that waits.
 */
#ifndef GPUTRACE_ANALYSIS_IDLE_IDLE_WAITS_H
#define GPUTRACE_ANALYSIS_IDLE_IDLE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/sorter.h"
#include "analysis/engine/timeline.h"

struct event_fields;
struct trace;

struct idle_wait {
    int64_t stream; /* number of the stream that was waited for; negative: not known */
};

/* The operation that a query is about. */
struct idle_launch {
    int64_t called;        /* when its call began */
    int64_t called_before; /* when the call of the operation before it in its stream began; FIELD_ABSENT: not known */
    uint32_t key;          /* idle_waits_key() */
};

struct idle_waits {
    struct sorter records; /* by stream and time */
    enum { IDLE_WAITS_NONE, IDLE_WAITS_RECORDS, IDLE_WAITS_CALLS } of;
    const struct trace *trace;
    uint32_t *ranks; /* RECORDS: the place of each stream, by index, in the order of the records */
    struct sorter_walk walk;
    struct host_calls_walk calls;
    const void *next; /* a record; or a call that is the first launch of its thread after one that made a stream wait */
    uint32_t next_key;
    bool called;  /* CALLS: the thread next_key has made a stream wait, and has not launched since */
    uint32_t key; /* RECORDS: the key of the last query */
    int64_t time; /* RECORDS: of the last wait before it; FIELD_ABSENT: there is none */
    struct idle_wait found;
};

void idle_waits_init(struct idle_waits *waits, struct sorter_space *space);
void idle_waits_release(struct idle_waits *waits);

/* Adds a record of CUDA_SYNC. Returns 0, or -1: no memory. */
int idle_waits_event(struct idle_waits *waits, const struct trace *trace, const struct event_fields *event);

/* Begins a series of queries, after trace_finish(), and sets `of`. If it is NONE, there are no waits, and no
 * queries may follow. Returns 0, or -1: no memory. */
int idle_waits_begin(struct idle_waits *waits, const struct trace *trace);

/* The key of the query about OP, which has a call. */
static inline uint32_t idle_waits_key(const struct idle_waits *waits, const struct timeline_op *op)
{
    return waits->of == IDLE_WAITS_RECORDS ? waits->ranks[op->stream] : op->thread;
}

/* Returns the wait of the stream of LAUNCH between the launch before and this one, or NULL. Questions come by key, then
 * by call. The answer is valid until the next query. */
const struct idle_wait *idle_waits_find(struct idle_waits *waits, const struct idle_launch *launch);

/* Ends a series of queries. Returns 0, or -1: no memory, or after warning(). */
int idle_waits_end(struct idle_waits *waits);

#endif
