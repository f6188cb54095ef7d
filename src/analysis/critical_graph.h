/*
 * The operations and calls that the critical path is made of, and what decided when each began: see critical_path.h.
 * They lie in file vectors: the walks over them go by time.
 */
#ifndef GPUTRACE_ANALYSIS_CRITICAL_GRAPH_H
#define GPUTRACE_ANALYSIS_CRITICAL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "analysis/critical_sync.h"
#include "analysis/series.h"

#define CRITICAL_NONE UINT32_MAX

/* A time beyond that between two operations of which the first decides the second is not the GPU's own; ns. */
#define CRITICAL_HELD_AFTER 20000

struct critical_op {
    int64_t start, end;
    int64_t called, returned; /* the outermost call that launched it; where none is known, no later */
    int64_t slack;            /* see critical_slack() */
    uint32_t thread;          /* LAUNCHED_NO_THREAD: no call is known */
    uint32_t stream, name;
    uint32_t correlation;
    uint32_t previous; /* in its stream; index or CRITICAL_NONE, as are: */
    uint32_t within;   /* in its graph: the operation that ended last before it */
    uint32_t before;   /* on its GPU: likewise */
    uint32_t decider;  /* the operation whose end decided its start; NONE: it was its launch */
    uint32_t call;     /* in calls */
    uint32_t waits;    /* index of the first of critical_graph.edges that lead to it … */
    uint32_t waited;   /* … and how many */
    uint8_t category;
    bool graph;    /* launched as a part of a graph */
    bool held;     /* something that is not recorded delayed it after that */
    bool on_path;  /* see critical_walk() */
    bool followed; /* an operation of its graph was seen to start after it */
};

/* An outermost API call. */
struct critical_call {
    int64_t start, end;
    int64_t slack; /* see critical_slack() */
    uint32_t name;
    uint32_t op;     /* that it launched last; CRITICAL_NONE: none */
    uint32_t waited; /* the operation whose end decided its return; CRITICAL_NONE: none */
    uint32_t device; /* it waited for all streams of this device too: index; EVENT_NO_TEXT: it did not */
    uint8_t kind;    /* enum call_kind */
    bool on_path;
};

struct critical_thread {
    size_t first, count; /* its calls */
    size_t recent;       /* the one that was found last */
};

struct critical_stream {
    FILE_VECTOR(uint32_t) ops; /* in their order */
    uint32_t device, process;  /* indices; process: of the thread that launched first; CRITICAL_NONE: not known */
};

struct critical_device {
    size_t first, count; /* its operations, by start */
    uint32_t device;     /* index in trace.devices */
};

struct critical_graph {
    const struct trace *trace;
    FILE_VECTOR(struct critical_op) ops;        /* by device and start */
    FILE_VECTOR(struct critical_call) calls;    /* by thread and start */
    FILE_VECTOR(uint32_t) edges;                /* operations that others waited for besides those in their stream */
    FILE_VECTOR(struct critical_within) within; /* pairs of operations of a graph, by the second */
    ARRAY(struct critical_thread) threads;      /* by index in trace.threads */
    ARRAY(struct critical_stream) streams;      /* by index in trace.streams */
    ARRAY(struct critical_device) devices;      /* that ran something */
    struct histogram latencies;                 /* from calls to the starts of operations in empty streams */
    int64_t latency;                            /* the usual one; ns */
};

/* An operation of a graph, and the first of the same graph that started after its end. */
struct critical_within {
    uint32_t op, next;
};

void critical_graph_release(struct critical_graph *graph);

/* Loads operations and calls, then finds what decided them. Each returns 0, or -1: no memory, or after error(). */
int critical_graph_load(struct critical_graph *graph, const struct trace *trace);
int critical_graph_decide(struct critical_graph *graph, const struct critical_syncs *syncs);

/* The last call of THREAD that began before TIME; CRITICAL_NONE: there is none. */
uint32_t critical_call_before(struct critical_graph *graph, uint32_t thread, int64_t time);

/* The last operation of a stream that was launched by TIME; CRITICAL_NONE: there is none. */
uint32_t critical_launched_by(const struct critical_graph *graph, uint32_t stream, int64_t time);

/* Whether operation A may have decided B, so that no walk over deciders can go in circles. */
static inline bool critical_is_before(const struct critical_graph *graph, uint32_t a, uint32_t b)
{
    int64_t left = graph->ops.items[a].start, right = graph->ops.items[b].start;
    return left < right || (left == right && a < b);
}

/* A heap of numbers by a time: the least of NEGATED ones is the greatest. All zero is empty. */
struct critical_heap {
    ARRAY(struct critical_heap_item) items;
};
struct critical_heap_item {
    int64_t key;
    uint32_t value;
};
/* Returns 0, or -1: no memory. */
int critical_heap_push(struct critical_heap *heap, int64_t key, uint32_t value);
/* Removes the least. The heap is not empty. */
struct critical_heap_item critical_heap_pop(struct critical_heap *heap);

#endif
