/* The operations and calls of a trace for the critical path (critical_path.h). They are in file vectors, because walks
 * go by time. */
#ifndef GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_GRAPH_H
#define GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "analysis/base/series.h"
#include "analysis/engine/trace.h"

/* The number of items after which walks over file vectors give pages back to the kernel. */
#define CRITICAL_EVICTED_AFTER ((size_t)1 << 18)

#define CRITICAL_NONE UINT32_MAX

/* CUPTI's number of the legacy default stream. This stream and all blocking streams of its context wait for each
 * other. */
#define CRITICAL_LEGACY_STREAM 7

/* An operation that starts later than this after its decider ended was held by something else; ns. */
#define CRITICAL_HELD_AFTER 20000

struct critical_op {
    int64_t start, end;
    int64_t slack;   /* see critical_slack() */
    int64_t called;  /* when its call began; if the call is not known, a lower bound */
    uint32_t thread; /* of the call; LAUNCHED_NO_THREAD: not known */
    uint32_t stream, name;
    uint32_t previous; /* in its stream. This and the next three: indices; CRITICAL_NONE: none */
    uint32_t decider;  /* the operation whose end decided its start; CRITICAL_NONE: the launch did */
    uint32_t call;     /* in calls */
    uint32_t edges;    /* its last dependency, in edges */
    uint8_t category;
    bool graph : 1;    /* launched as a part of a graph */
    bool held : 1;     /* something that is not recorded delayed its start */
    bool on_path : 1;  /* see critical_walk() */
    bool followed : 1; /* an operation of its graph started after it */
};
_Static_assert(sizeof(struct critical_op) == 64, "a trace has many operations");

/* An operation that another operation waited for, besides the operation before it in its stream. */
struct critical_edge {
    uint32_t from, next; /* next: index of the next edge to the same operation; CRITICAL_NONE: none */
};

/* An outermost API call. */
struct critical_call {
    int64_t start, end;
    int64_t slack; /* see critical_slack() */
    uint32_t name;
    uint32_t op;     /* the operation that it launched (of several, the last to end); CRITICAL_NONE: none */
    uint32_t waited; /* the operation that it waited for; CRITICAL_NONE: none */
    uint8_t kind;    /* enum call_kind */
    bool all : 1;    /* it waited for all streams of the device of `waited` */
    bool on_path : 1;
};

struct critical_thread {
    size_t first, count; /* its calls */
    size_t recent;       /* how many of the calls began before the time of the last search */
};

struct critical_stream {
    FILE_VECTOR(uint32_t) ops; /* indices, in the order of launches */
    uint32_t device, process;  /* indices; process: of the thread that launched first; CRITICAL_NONE: not known */
    bool beside;               /* it ran beside its context's legacy default stream, so neither waits for the other */
};

struct critical_device {
    size_t first, count; /* its operations, by start */
    uint32_t device;     /* index in trace.devices */
};

struct critical_graph {
    const struct trace *trace;
    FILE_VECTOR(struct critical_op) ops;     /* by device and start */
    FILE_VECTOR(struct critical_call) calls; /* by thread and start */
    FILE_VECTOR(struct critical_edge) edges;
    FILE_VECTOR(struct critical_within) within; /* by `next` */
    ARRAY(struct critical_thread) threads;      /* by index in trace.threads */
    ARRAY(struct critical_stream) streams;      /* by index in trace.streams */
    ARRAY(struct critical_device) devices;      /* that ran operations */
    struct histogram latencies;                 /* from calls to the starts of operations in empty streams */
    int64_t latency;                            /* the median latency, at most CRITICAL_HELD_AFTER; ns */
};

/* Two operations of a graph: `next` started after the end of `op`, and may depend on it. */
struct critical_within {
    uint32_t op, next;
};

void critical_graph_release(struct critical_graph *graph);

/* Gives pages back to the kernel if COUNT is a multiple of CRITICAL_EVICTED_AFTER. */
void critical_graph_evict(const struct critical_graph *graph, size_t count);

/* Whether stream A is the legacy default stream of B's context, and B another stream. */
bool critical_is_legacy_of(const struct critical_graph *graph, uint32_t a, uint32_t b);

/* Returns when the call of OP returned, or a lower bound if the call is not known. */
static inline int64_t critical_returned(const struct critical_graph *graph, const struct critical_op *op)
{
    return op->call == CRITICAL_NONE ? op->called : graph->calls.items[op->call].end;
}

/* Returns when the call had nothing left to wait for: its start, or the end of the awaited operation. */
static inline int64_t critical_waited_until(const struct critical_graph *graph, const struct critical_call *call)
{
    int64_t end = call->waited == CRITICAL_NONE ? call->start : graph->ops.items[call->waited].end;
    return end > call->start ? end : call->start;
}

/* Loads the operations and calls of TRACE into GRAPH, which is all zero. Returns 0, or -1: no memory, or after
 * error(). */
int critical_graph_load(struct critical_graph *graph, const struct trace *trace);

/* Returns the last call of THREAD that began before TIME, or CRITICAL_NONE. */
uint32_t critical_call_before(struct critical_graph *graph, uint32_t thread, int64_t time);

/* Returns the last operation of a stream that was launched by TIME, or CRITICAL_NONE. */
uint32_t critical_launched_by(const struct critical_graph *graph, uint32_t stream, int64_t time);

/* Whether operation A may have decided B. This order keeps walks over deciders from going in circles. */
static inline bool critical_is_before(const struct critical_graph *graph, uint32_t a, uint32_t b)
{
    int64_t left = graph->ops.items[a].start, right = graph->ops.items[b].start;
    return left < right || (left == right && a < b);
}

/* A heap of values: the least key comes first, then the least order. All zero is empty. */
struct critical_heap {
    ARRAY(struct critical_heap_item) items;
};
struct critical_heap_item {
    int64_t key;
    uint32_t order;
    uint32_t value;
};
/* Returns 0, or -1: no memory. */
int critical_heap_push(struct critical_heap *heap, struct critical_heap_item item);
/* Removes and returns the first item. The heap must not be empty. */
struct critical_heap_item critical_heap_pop(struct critical_heap *heap);

#endif
