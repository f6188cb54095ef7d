/*
 * The critical path: the chain of GPU operations, API calls and host time that decides how long the run takes. It is
 * contiguous: its intervals follow each other from the trace's start to its end, and add up to the run.
 *
 * The path is walked backward from the end of the run. What decided the start of a GPU operation is the latest of
 *  - the end of the operation before it in its stream,
 *  - the end of the last operation before an event for which the stream was made to wait,
 *  - the barrier of the legacy default stream, unless the two streams were seen to run at the same time,
 *  - in a graph, the end of the graph's operation that ended last before it,
 *  - its launch,
 *  - if it started late for all of these, the end of the operation of its GPU that ended last before it (a copy engine
 *    or multiprocessors that were in use, a wait that was not recorded).
 * A thread does one thing after another. The end of a call that waited for the GPU was decided by the awaited
 * operation. Two threads that launch into one stream in turn wait for each other, as PyTorch's backward pass and its
 * caller do.
 *
 * The slack of an operation or call that is not on the path is how much longer it may take before the run becomes
 * longer.
 *
 *     critical_graph.h   operations and calls
 *     critical_decide.h  what streams and calls waited for, and what decided operations and calls
 *     critical_path.c    the path and the slack
 */
#ifndef GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_PATH_H
#define GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_PATH_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/file_vector.h"
#include "analysis/base/series.h"
#include "analysis/critical/critical_graph.h"

/*   constant  word for scripts   for people */
#define CRITICAL_KINDS(X)                             \
    X(KERNEL, "kernel", "kernels")                    \
    X(COPY, "copy", "copies")                         \
    X(SET, "set", "sets")                             \
    X(OUTSIDE, "outside", "host outside CUDA")        \
    X(CALL, "call", "host in CUDA calls")             \
    X(LAUNCH, "launch", "launch latency")             \
    X(BETWEEN, "between", "between operations")       \
    X(RETURN, "return", "return of waiting calls")    \
    X(HELD, "held", "held by something not recorded") \
    X(UNKNOWN, "unknown", "not known: no call is recorded")

enum critical_kind {
#define KIND(constant, word, text) CRITICAL_##constant,
    CRITICAL_KINDS(KIND)
#undef KIND
        CRITICAL_KIND_COUNT
};

extern const struct critical_kind_words {
    const char *word, *text;
} critical_kind_words[CRITICAL_KIND_COUNT];

/* An interval of the path. */
struct critical_interval {
    int64_t start, end; /* ns */
    uint32_t name;      /* of the operation, call, operator or range; EVENT_NO_TEXT: none */
    uint32_t thread;    /* of OUTSIDE and CALL: index in trace.threads; else EVENT_NO_TEXT */
    uint8_t kind;       /* enum critical_kind */
};

/* The row of a kind and name; times are ns. */
struct critical_row {
    int64_t on, count;   /* on the path */
    int64_t off;         /* sum of the operations and calls that are not on the path */
    struct series slack; /* of the operations and calls that are not on the path */
};

struct critical_key {
    uint64_t kind, name; /* name: of OUTSIDE the innermost range or operator; EVENT_NO_TEXT: none */
};

/* All zero is empty. */
struct critical_path {
    FILE_VECTOR(struct critical_interval) intervals; /* from the last to the first */
    FILE_VECTOR(struct critical_interval) outside;   /* the intervals of OUTSIDE, divided by operator and range */
    struct dense_map keys;                           /* struct critical_key -> rows */
    ARRAY(struct critical_row) rows;
};

void critical_path_release(struct critical_path *path);

/* Calls EACH for all intervals, with those of OUTSIDE divided. Stops when EACH returns non-zero, and returns that; else
 * 0. */
int critical_path_each(const struct critical_path *path,
                       int (*each)(void *context, const struct critical_interval *interval), void *context);
/* Fills `outside` from trace.ranges and trace.operators. Returns 0, or -1: no memory, or after error(). */
int critical_path_divide(struct critical_path *path, const struct trace *trace);
/* Returns 0, or -1: no memory. */
int critical_path_add(struct critical_path *path, const struct critical_interval *interval);
/* Returns the row of KIND and NAME, which is added if it is new. Returns NULL without memory. */
struct critical_row *critical_path_row(struct critical_path *path, enum critical_kind kind, uint32_t name);

/* The end of the path: the operation or call that ended last. */
struct critical_end {
    uint32_t op;     /* CRITICAL_NONE: a call of `thread` ended last */
    uint32_t thread; /* EVENT_NO_TEXT: no call ended last */
    int64_t time;
};

struct critical_end critical_find_end(const struct critical_graph *graph);

/* Adds the intervals to PATH, and marks operations and calls on it. Returns 0, or -1: no memory. */
int critical_walk(struct critical_graph *graph, struct critical_end end, struct critical_path *path);

/* Returns CRITICAL_KERNEL, CRITICAL_COPY or CRITICAL_SET. */
enum critical_kind critical_kind_of_op(const struct critical_op *op);

/* Sets the slack of all operations and calls; ns. END is the end of the path. Returns 0, or -1: no memory. */
int critical_slack(struct critical_graph *graph, const struct critical_end *end);

#endif
