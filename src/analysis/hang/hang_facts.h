/*
 * What each rank of a trace did at its end, for hangs: how its process ended, what its GPU runs, and where its
 * communicating thread is.
 *
 *     hang_facts_event() for each event of HANG_FACTS_CATEGORIES; after trace_finish() hang_facts_publish().
 */
#ifndef GPUTRACE_ANALYSIS_HANG_HANG_FACTS_H
#define GPUTRACE_ANALYSIS_HANG_HANG_FACTS_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "analysis/hang/hang_fronts.h"

struct trace;

#define HANG_FACTS_CATEGORIES                                                                         \
    (CATEGORIES_API | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT) | CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | \
     CATEGORY_BIT(CATEGORY_CPU_OP) | CATEGORY_BIT(CATEGORY_CPU_SAMPLE) | CATEGORY_BIT(CATEGORY_THREAD_STATE))

/* A thread of the host. Names are EVENT_NO_TEXT and numbers FIELD_ABSENT where there is none. */
struct hang_thread {
    uint32_t call, range;     /* the last call; the innermost range that is open at the end */
    int64_t called, returned; /* of that call */
    int64_t range_start;
    uint32_t init; /* the call that makes a communicator, if it is open at the end */
    int64_t init_start;
    int64_t stack, stack_time; /* the last call stack */
    int64_t communicated;      /* when its last call of communication began */
};

/* The first operation of a stream that is in flight and is not communication. */
struct hang_gpu_op {
    uint32_t name;
    int64_t launched;
};

/* All zero is empty. */
struct hang_facts {
    struct dense_map thread_ids; /* struct trace_thread_id */
    ARRAY(struct hang_thread) threads;
    uint64_t recent_process, recent_thread; /* ids of the last event */
    size_t recent;                          /* index + 1 of the last event's thread; 0: none */
    struct dense_map op_ids;                /* struct trace_stream_id */
    ARRAY(struct hang_gpu_op) ops;
};

void hang_facts_release(struct hang_facts *facts);

/* Reads an event, whose texts are in STRINGS. Returns 0, or -1: no memory. */
int hang_facts_event(struct hang_facts *facts, const struct interner *strings, const struct event_fields *event);

/* Adds the trace's ranks to FRONTS as members, before the operations. Returns 0, or -1: no memory. */
int hang_facts_add_ranks(const struct trace *trace, struct hang_fronts *fronts);
/* Sets what each member of FRONTS did at the end, after all operations were added. Returns 0, or -1: no memory. */
int hang_facts_publish(const struct hang_facts *facts, const struct trace *trace, struct hang_fronts *fronts);

#endif
