/*
 * Why GPUs were idle. Every nanosecond of the run in which nothing ran on a GPU has one cause. The time between two
 * operations is a gap, and the launch of the operation that ends the gap decides its causes. A gap may have several
 * causes, one after another. The causes of a GPU add up to the run without the GPU's busy time.
 *
 * idle_gaps.h finds the gaps; idle_host.h finds what the launching thread did in them. The state of section_idle begins
 * with a struct idle.
 */
#ifndef GPUTRACE_ANALYSIS_IDLE_IDLE_H
#define GPUTRACE_ANALYSIS_IDLE_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/sorter.h"
#include "trace/event_fields.h"
#include "common/map.h"
#include "analysis/host/host_activity.h"
#include "analysis/engine/findings.h"

/* The causes. From SYNC to LAUNCH, the operation was launched late, because its thread did other things before. In gaps
 * of at most IDLE_BRIEF ns, OUTSIDE and CALL count as LAUNCH.
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

/* Sums over the gaps of a cause or row; ns. */
struct idle_sum {
    int64_t total;
    int64_t count;        /* gaps with this cause */
    int64_t longest;      /* in one gap, ns */
    int64_t gap, current; /* the start of the last gap, and the time added for that gap so far */
};

/* The key of a row of idle time. */
struct idle_what {
    uint32_t device;           /* index in trace.devices */
    uint32_t cause;            /* enum idle_cause */
    uint32_t call;             /* the thread's call; for LAUNCH, the launch; EVENT_NO_TEXT: none */
    uint32_t range, operation; /* innermost, if the thread was outside calls; EVENT_NO_TEXT: none */
    uint32_t stream;           /* number of the awaited stream; EVENT_NO_TEXT: none */
    uint32_t activity;         /* what the thread did outside calls: number in idle.host; EVENT_NO_TEXT: not known */
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
    uint32_t next; /* index + 1 of the next row of its GPU; 0: none */
};

struct idle_rows { /* as an ARRAY */
    struct idle_row *items;
    size_t count, capacity;
    struct dense_map ids;
    uint32_t recent[IDLE_RECENT]; /* a cache of indices + 1 of rows, by a hash of their keys; 0: none */
    ARRAY(struct idle_row_list) of_device;
};

/* Index + 1 of the first and the last row of a GPU; 0: none. */
struct idle_row_list {
    uint32_t first, last;
};

struct idle_device {
    int64_t idle;                    /* ns: the sum of its causes */
    int64_t launched, launched_time; /* the number of GPU operations with a call, and the ns that they ran */
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
    uint32_t thread; /* index in trace.threads: it launched the next operation; LAUNCHED_NO_THREAD: not known */
    struct idle_neighbour before, after;
    uint32_t activity; /* the host activity that took most of the gap; EVENT_NO_TEXT: not known */
    struct idle_cause_time {
        int64_t total;         /* ns */
        int64_t longest;       /* ns: the length of the longest interval */
        struct idle_what what; /* the key of the longest interval */
    } causes[IDLE_CAUSE_COUNT];
};

/* An interval of a gap, with its cause. */
struct idle_interval {
    int64_t start, length; /* ns */
    uint32_t device;       /* index in trace.devices */
    uint32_t cause;        /* enum idle_cause */
};

struct idle_gaps;

/* All zero is empty. */
struct idle {
    struct idle_gaps *gaps;                /* what it was filled from; NULL: not filled yet */
    int64_t run;                           /* ns, of the whole trace */
    ARRAY(struct idle_device) devices;     /* by index in trace.devices */
    struct idle_rows rows;                 /* without activities */
    struct idle_rows active;               /* with activities; empty if the trace has no samples */
    struct host_activities host;           /* empty if the trace has no samples */
    struct idle_gap largest[IDLE_LARGEST]; /* of all GPUs, unordered */
    size_t largest_count;
    int64_t least; /* ns: shorter gaps are not among the largest */
    bool has_intervals;
    struct sorter intervals; /* struct idle_interval, by GPU and time; only in traces with ranks, for their steps */
};

void idle_release(struct idle *idle);

/* Adds a gap to `largest` if it is large enough. Its causes are added later. */
void idle_offer(struct idle *idle, const struct idle_gap *gap);
/* Returns the gap of DEVICE from START to END if it is one of the largest so far, else NULL. */
struct idle_gap *idle_find(struct idle *idle, uint32_t device, int64_t start, int64_t end);

/* Makes idle_add() record intervals. SPACE must outlive IDLE. */
void idle_record_intervals(struct idle *idle, struct sorter_space *space);

/* Counts a GPU operation with a call, which ran for LENGTH ns. Returns 0, or -1: no memory. */
int idle_add_launched(struct idle *idle, uint32_t device, int64_t length);

/* Adds LENGTH ns from AT on, of the gap that began at START, to the row of WHAT. LARGEST is the result of idle_find()
 * for the gap. All intervals of a GPU's gap are added before those of its next gap. Returns 0, or -1: no memory. */
int idle_add(struct idle *idle, const struct idle_what *what, int64_t start, int64_t at, int64_t length,
             struct idle_gap *largest);

/* These return the first and the next row of a GPU, in the order in which they were added, or NULL. */
static inline const struct idle_row *idle_first_row(const struct idle_rows *rows, size_t device)
{
    uint32_t first = device < rows->of_device.count ? rows->of_device.items[device].first : 0;
    return first ? &rows->items[first - 1] : NULL;
}
static inline const struct idle_row *idle_next_row(const struct idle_rows *rows, const struct idle_row *row)
{
    return row->next ? &rows->items[row->next - 1] : NULL;
}

/* Whether WHAT is time in PyTorch's DataLoader, by its range or operator. */
bool idle_is_loading(const struct trace *trace, const struct idle_what *what);

/* Returns the cause that took most of a gap. */
const struct idle_cause_time *idle_main_cause(const struct idle_gap *gap);

/* --- what the host did while GPUs were idle, for sentences of findings. Only traces with samples have it --- */

enum host_wanted { HOST_ANY, HOST_ON_PROCESSOR, HOST_OFF_PROCESSOR };

/* Selects idle time in which the host was outside calls. */
struct host_query {
    size_t device; /* index in trace.devices */
    enum host_wanted wanted;
    bool launching; /* between launches (IDLE_LAUNCH); else outside CUDA (IDLE_OUTSIDE) */
    bool loading;   /* in PyTorch's DataLoader, in gaps of any length; else outside the DataLoader */
};

struct host_idle_found {
    int64_t total, most; /* ns of all activities, and of the doing that took most time */
    int64_t gaps;        /* the number of gaps */
    uint32_t activity;   /* the largest activity of that doing; EVENT_NO_TEXT: not known */
};

/* Sums the idle time that QUERY selects. Returns an empty result without memory. */
struct host_idle_found host_idle_find(const struct trace *trace, const struct idle *idle,
                                      const struct host_query *query);

/* Whether a call stack fetches the next batch from PyTorch's DataLoader, or moves it to the GPU in Lightning,
 * Accelerate or Transformers. */
bool host_fetches_batch(const struct trace *trace, int64_t stack);

/* Where the host launched the operations before and after a gap: "load (train.py:31) and forward (train.py:27)". If one
 * line of the program launched both, functions of libraries are named; if the stacks are not known, the operations. The
 * text is "" if both names are equal. */
struct host_between {
    char text[2 * FINDING_NAME + 48];
    bool loads; /* the host fetched the next batch in the gap; the text mentions it */
};
struct host_between host_between(const struct trace *trace, const struct idle_gap *gap);

/* Returns the largest gap of DEVICE whose main activity is ACTIVITY, or NULL. */
const struct idle_gap *host_gap(const struct idle *idle, size_t device, uint32_t activity);
/* Returns the place of GAP on DEVICE. GAP may be NULL. */
struct finding_place host_gap_place(size_t device, const struct idle_gap *gap);

#endif
