/*
 * Finds the gaps between the operations of each GPU and their causes, in bounded memory. If streams waited for events,
 * the gaps are joined with these waits. Gaps whose operation was launched late go to idle_host.h.
 */
#ifndef GPUTRACE_ANALYSIS_IDLE_IDLE_GAPS_H
#define GPUTRACE_ANALYSIS_IDLE_IDLE_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/sorter.h"
#include "analysis/engine/timeline.h"
#include "analysis/idle/idle.h"
#include "analysis/idle/idle_host.h"

struct trace;

/* --- which operations were launched into a stream that was made to wait for an event just before. Records of category
 * CUDA_SYNC name both streams. In a trace that has only the calls, the next launch of the thread is assumed to be in
 * the stream that waits --- */

struct idle_wait {
    int64_t stream; /* number of the stream that was waited for; negative: not known */
};

/* The operation that a query is about. */
struct idle_launch {
    int64_t called;        /* when its call began */
    int64_t called_before; /* when the call of the operation before it in its stream began; FIELD_ABSENT: not known */
    uint32_t key;          /* RECORDS: the place of the stream; CALLS: the thread */
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

/* --- gaps --- */

/* An operation usually starts within this after its launch began, if nothing holds it; ns. */
#define IDLE_LATENCY 20000
/* An operation that nothing recorded held for so long was held by something that is not recorded; ns. */
#define IDLE_HELD_AFTER 1000000

struct idle_gaps {
    struct idle_waits waits;
    struct sorter phases; /* of compilation, by process and thread */
    struct sorter asked;  /* gaps, by key and call */
    struct idle_host host;
};

/* The state of section_idle. */
struct idle_causes {
    struct idle idle; /* first: section_state() is one */
    struct idle_gaps gaps;
};

/* The functions of section_idle: they record slices of the categories CUDA_SYNC and COMPILATION, and fill `idle` by
 * trace.timeline, host_calls, ranges and operators. */
void idle_gaps_init(void *causes, const struct trace *trace);
void idle_gaps_release(void *causes);
int idle_gaps_event(void *causes, const struct trace *trace, const struct event_fields *event);
int idle_gaps_gather(void *causes, const struct trace *trace);
/* Fills another IDLE with the gaps from FROM to TO only, without intervals. */
int idle_gaps_again(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace, int64_t from, int64_t to);

#endif
