/*
 * Finds the gaps between the operations of each GPU and their causes, in bounded memory. If streams waited for events,
 * the gaps are joined with these waits. idle_host.h divides the gaps that end with a late launch.
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

/* --- operations that were launched into a stream after it was made to wait for an event. Records of category CUDA_SYNC
 * name both streams. If a trace has only calls, the next launch of the thread is assumed to be in the waiting stream
 * --- */

struct idle_wait {
    int64_t stream; /* number of the awaited stream; negative: not known */
};

/* A query: the launch of an operation. */
struct idle_launch {
    int64_t called;        /* when the call of the operation began */
    int64_t called_before; /* when the call of the operation before in its stream began; FIELD_ABSENT: not known */
    uint32_t key;          /* RECORDS: the rank of the stream; CALLS: the thread */
};

struct idle_waits {
    struct sorter records; /* by stream and time */
    enum { IDLE_WAITS_NONE, IDLE_WAITS_RECORDS, IDLE_WAITS_CALLS } of;
    const struct trace *trace;
    uint32_t *ranks; /* RECORDS: by index of a stream: its rank in the order of the records */
    struct sorter_walk walk;
    struct host_calls_walk calls;
    const void *next; /* a record; or a call: its thread's first launch after making a stream wait */
    uint32_t next_key;
    bool called;  /* CALLS: thread `next_key` made a stream wait, and has not launched since */
    uint32_t key; /* RECORDS: the key of the last query */
    int64_t time; /* RECORDS: of the last wait before that query; FIELD_ABSENT: none */
    struct idle_wait found;
};

/* --- gaps --- */

/* If nothing holds an operation, it usually starts within this time after its launch began; ns. */
#define IDLE_LATENCY 20000
/* If an operation starts later than this without a recorded reason, something that is not recorded held it; ns. */
#define IDLE_HELD_AFTER 1000000

struct idle_gaps {
    struct idle_waits waits;
    struct sorter phases; /* of compilation, by process and thread */
    struct sorter asked;  /* gaps, by key and call */
    struct idle_host host;
};

/* The state of section_idle. */
struct idle_causes {
    struct idle idle; /* the first member, so that section_state() is a struct idle */
    struct idle_gaps gaps;
};

/* The functions of section_idle. They record slices of the categories CUDA_SYNC and COMPILATION, and fill `idle` from
 * trace.timeline, host_calls, ranges and operators. */
void idle_gaps_init(void *causes, const struct trace *trace);
void idle_gaps_release(void *causes);
int idle_gaps_event(void *causes, const struct trace *trace, const struct event_fields *event);
int idle_gaps_gather(void *causes, const struct trace *trace);
/* Fills another IDLE with only the gaps from FROM to TO (ns), without intervals. Returns 0, or -1: no memory, or after
 * error(). */
int idle_gaps_again(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace, int64_t from, int64_t to);

#endif
