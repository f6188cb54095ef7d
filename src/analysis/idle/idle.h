/*
 * Why GPUs were idle: every nanosecond of the run in which nothing ran on a GPU has one cause. What was idle between
 * two operations is a gap, and the operation that ends it decides: a gap may have several causes, one after another.
 * The causes of a GPU add up to the run without the GPU's busy time.
 *
 * idle_gaps.h finds the gaps, idle_host.h what the launching thread did in them. The state of section_idle begins with
 * a struct idle.
 */
#ifndef GPUTRACE_ANALYSIS_IDLE_IDLE_H
#define GPUTRACE_ANALYSIS_IDLE_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/sorter.h"
#include "trace/event_fields.h"
#include "common/dense_map.h"
#include "analysis/host/host_activity.h"

/* From SYNC to LAUNCH: the operation was launched late, and this is what its thread did before. In a gap of at most
 * IDLE_BRIEF, what it did outside of CUDA and in other calls is a part of launching: LAUNCH.
 *   constant  word for scripts   for people */
#define IDLE_CAUSES(X)                                                \
    X(BEFORE, "before", "before the first work")                      \
    X(AFTER, "after", "after the last work")                          \
    X(SYNC, "synchronisation", "host waited in a synchronising call") \
    X(COPY, "copy", "host waited for a copy")                         \
    X(COMPILATION, "compilation", "host loaded or compiled code")     \
    X(ALLOCATION, "allocation", "host allocated or freed memory")     \
    X(PINNING, "pinning", "host pinned memory")                       \
    X(GRAPH, "graph", "host captured or instantiated a graph")        \
    X(CONTEXT, "context", "host initialised CUDA")                    \
    X(CALL, "call", "host in another CUDA call")                      \
    X(OUTSIDE, "outside", "host outside CUDA")                        \
    X(LAUNCH, "launch", "waiting for launches")                       \
    X(EVENT, "event", "queued, waited for an event")                  \
    X(STREAM, "stream", "queued, waited for another stream")          \
    X(BETWEEN, "between", "between operations that were queued")      \
    X(HELD, "held", "queued, held by something that is not recorded") \
    X(UNKNOWN, "unknown", "not known: no call is recorded")

enum idle_cause {
#define CAUSE(constant, word, text) IDLE_##constant,
    IDLE_CAUSES(CAUSE)
#undef CAUSE
        IDLE_CAUSE_COUNT
};

extern const struct idle_cause_words {
    const char *word, *text;
} idle_cause_words[IDLE_CAUSE_COUNT];

#define IDLE_BRIEF 200000

/* All ns. */
struct idle_sum {
    int64_t total;
    int64_t count;        /* gaps that have it */
    int64_t longest;      /* in one gap */
    int64_t gap, current; /* the last gap's start, and how long in that gap so far */
};

/* What is the same in all parts of gaps that are one row. */
struct idle_what {
    uint32_t device;           /* index in trace.devices */
    uint32_t cause;            /* enum idle_cause */
    uint32_t call;             /* that the thread was in; of LAUNCH, the launch; EVENT_NO_TEXT: none */
    uint32_t range, operation; /* innermost, where the thread was outside of calls; EVENT_NO_TEXT: none */
    uint32_t stream;           /* number of the one that was waited for; EVENT_NO_TEXT: none */
    uint32_t activity;         /* what the thread did outside of calls: number in idle.host; EVENT_NO_TEXT: not known */
};

#define IDLE_WHAT(gpu, why)                         \
    ((struct idle_what){.device = (gpu),            \
                        .cause = (why),             \
                        .call = EVENT_NO_TEXT,      \
                        .range = EVENT_NO_TEXT,     \
                        .operation = EVENT_NO_TEXT, \
                        .stream = EVENT_NO_TEXT,    \
                        .activity = EVENT_NO_TEXT})

#define IDLE_RECENT 64 /* a power of two */

struct idle_row {
    struct idle_sum sum;
    struct idle_what what;
    uint32_t next; /* index + 1 of the next row of its GPU; 0: there is none */
};

struct idle_rows { /* as an ARRAY */
    struct idle_row *items;
    size_t count, capacity;
    struct dense_map ids;
    uint32_t recent[IDLE_RECENT]; /* numbers + 1 of rows, by what they are; 0: none */
    ARRAY(struct idle_row_list) of_device;
};

/* Index + 1 of the first and the last row of a GPU; 0: there is none. */
struct idle_row_list {
    uint32_t first, last;
};

struct idle_device {
    int64_t idle;                    /* ns: the sum of its causes */
    int64_t launched, launched_time; /* GPU operations with a call, and ns that they ran */
    struct idle_sum causes[IDLE_CAUSE_COUNT];
};

#define IDLE_LARGEST 20

/* An operation next to a gap. */
struct idle_neighbour {
    uint32_t name, stream; /* stream: index in trace.streams; EVENT_NO_TEXT: none */
};

struct idle_gap {
    int64_t start, end;
    uint32_t device; /* index in trace.devices */
    uint32_t thread; /* index in trace.threads, which launched what came after; LAUNCHED_NO_THREAD: not known */
    struct idle_neighbour before, after;
    uint32_t activity; /* that took most of it, of the host outside of calls; EVENT_NO_TEXT: not known */
    struct idle_part {
        int64_t total;         /* ns */
        int64_t longest;       /* ns: of what follows */
        struct idle_what what; /* what went on longest without a change */
    } causes[IDLE_CAUSE_COUNT];
};

/* A part of a gap. */
struct idle_piece {
    int64_t start, length; /* ns */
    uint32_t device;       /* index in trace.devices */
    uint32_t cause;        /* enum idle_cause */
};

struct idle_gaps;

/* All zero is empty. */
struct idle {
    struct idle_gaps *gaps;                /* that it is made of; NULL: it is not made yet */
    int64_t run;                           /* ns, of the whole trace */
    ARRAY(struct idle_device) devices;     /* by index in trace.devices */
    struct idle_rows rows;                 /* without activities */
    struct idle_rows active;               /* with them; empty where the trace has no samples */
    struct host_activities host;           /* likewise */
    struct idle_gap largest[IDLE_LARGEST]; /* of all GPUs, in no order */
    size_t largest_count;
    int64_t least; /* ns: a shorter gap is not among them */
    bool has_pieces;
    struct sorter pieces; /* struct idle_piece, by GPU and time, of traces that have ranks: for their steps */
};

void idle_release(struct idle *idle);

/* Makes a gap, whose causes are not known so far, one of the largest if it is. */
void idle_offer(struct idle *idle, const struct idle_gap *gap);
/* The gap of DEVICE from START to END if it is one of the largest so far; else NULL. */
struct idle_gap *idle_find(struct idle *idle, uint32_t device, int64_t start, int64_t end);

/* Keeps pieces from now on. SPACE outlives IDLE. */
void idle_keep_pieces(struct idle *idle, struct sorter_space *space);

/* Counts a GPU operation with a call, which ran so long. -1: no memory. */
int idle_add_launched(struct idle *idle, uint32_t device, int64_t length);

/* A part of the gap that began at START, from AT on, so long, is WHAT. LARGEST is what idle_find() returned for the
 * gap. The parts of a GPU's gap come before those of the next. Returns 0, or -1: no memory. */
int idle_add(struct idle *idle, const struct idle_what *what, int64_t start, int64_t at, int64_t length,
             struct idle_gap *largest);

/* The rows of a GPU one after another, in the order in which they were made. NULL: there is no other. */
static inline const struct idle_row *idle_first_row(const struct idle_rows *rows, size_t device)
{
    uint32_t first = device < rows->of_device.count ? rows->of_device.items[device].first : 0;
    return first ? &rows->items[first - 1] : NULL;
}
static inline const struct idle_row *idle_next_row(const struct idle_rows *rows, const struct idle_row *row)
{
    return row->next ? &rows->items[row->next - 1] : NULL;
}

/* Whether PyTorch's DataLoader was open. */
bool idle_is_loading(const struct trace *trace, const struct idle_what *what);

/* The cause that took most of a gap. */
const struct idle_part *idle_main_part(const struct idle_gap *gap);

#endif
