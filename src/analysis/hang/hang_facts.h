/*
 * Collects what each rank of a trace did when the trace ended, for the analysis of hangs: how its process ended, what
 * its GPU runs, and where its communicating thread is.
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

/* The last activity of a host thread. Unknown names are EVENT_NO_TEXT, unknown numbers FIELD_ABSENT. */
struct hang_thread {
    uint32_t call, range;     /* the last CUDA call; the innermost range that was open at the end */
    int64_t called, returned; /* start and end of `call` */
    int64_t range_start;
    uint32_t init; /* the call that creates a communicator, if it had not returned at the end */
    int64_t init_start;
    int64_t stack, stack_time; /* the last call stack and its time */
    int64_t communicated;      /* start of its last communication call */
};

/* The operation of a stream that was launched first of those in flight that do not communicate. */
struct hang_gpu_op {
    uint32_t name;
    int64_t launched;
};

/* Initialise with zeros. */
struct hang_facts {
    struct dense_map thread_ids; /* struct trace_thread_id -> threads */
    ARRAY(struct hang_thread) threads;
    uint64_t recent_process, recent_thread; /* process and thread of the last event */
    size_t recent;                          /* index + 1 in `threads` of the last event's thread; 0: none */
    struct dense_map op_ids;                /* struct trace_stream_id -> ops */
    ARRAY(struct hang_gpu_op) ops;
};

void hang_facts_release(struct hang_facts *facts);

/* Reads an event, whose texts are in STRINGS. Returns 0, or -1: no memory. */
int hang_facts_event(struct hang_facts *facts, const struct interner *strings, const struct event_fields *event);

/* Adds the trace's ranks to FRONTS as members. Call it before operations are added. Returns 0, or -1: no memory. */
int hang_facts_add_ranks(const struct trace *trace, struct hang_fronts *fronts);
/* Sets what each member of FRONTS did at the end. Call it after all operations were added. Returns 0, or -1: no
 * memory. */
int hang_facts_publish(const struct hang_facts *facts, const struct trace *trace, struct hang_fronts *fronts);

#endif
