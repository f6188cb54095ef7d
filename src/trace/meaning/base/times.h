/*
 * Times of a run: when recording was on, when threads were in plugins, and one axis for the times of all processes.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_TIMES_H
#define GPUTRACE_TRACE_MEANING_BASE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/event_record.h"

struct conversion;
struct process;
struct spool_part;

struct capture_intervals {
    FILE_VECTOR(struct capture_mark {
        uint64_t time;
        bool on;
    })
    marks;
    bool any_on;
    bool limited; /* recording was off at some time; if not, every time is in the capture */
};

void capture_intervals_release(struct capture_intervals *capture_intervals);

/* Adds the mark of an EVENT_CAPTURE. Returns 0, or -1 after error(). */
int capture_intervals_mark(struct capture_intervals *capture_intervals, const struct event *event);

/* Sorts the marks, after the last one. Returns 0, or -1 after error(). */
int capture_intervals_close(struct capture_intervals *capture_intervals);

/* Whether recording was on at TIME. */
bool capture_intervals_hold(const struct capture_intervals *capture_intervals, uint64_t time);

/* Whether recording was on at any time. */
static inline bool capture_intervals_any_on(const struct capture_intervals *capture_intervals)
{
    return !capture_intervals->limited || capture_intervals->any_on;
}

/* Returns the first time from TIME on when recording was on, or UINT64_MAX if there is none. */
uint64_t capture_intervals_begin(const struct capture_intervals *capture_intervals, uint64_t time);

/* Returns when recording was switched off next after TIME, or UINT64_MAX if it never was. */
uint64_t capture_intervals_end(const struct capture_intervals *capture_intervals, uint64_t time);

/*
 * When threads of the program were in callbacks of plugins: calls of CUDA in these intervals are a plugin's, not the
 * program's. Without plugins nothing is kept and lookups cost nothing.
 */

struct plugin_interval {
    uint64_t start, end; /* ns */
};

struct plugin_intervals {
    struct map by_thread; /* -> index + 1 in threads */
    ARRAY(struct plugin_intervals_of { FILE_VECTOR(struct plugin_interval) items; }) threads;
    const char *directory; /* for files of what memory cannot hold; NULL: there is none */
};

void plugin_intervals_init(struct plugin_intervals *intervals, const char *directory);
void plugin_intervals_release(struct plugin_intervals *intervals);

/* Returns 0, or -1 after error(). */
int plugin_intervals_add(struct plugin_intervals *intervals, uint32_t thread, uint64_t start, uint64_t end);

/* Sorts and joins the intervals, after the last one. Returns 0, or -1 after error(). */
int plugin_intervals_close(struct plugin_intervals *intervals);

/* Lets the kernel take the pages of the intervals back. */
void plugin_intervals_evict(const struct plugin_intervals *intervals);

static inline bool plugin_intervals_any(const struct plugin_intervals *intervals)
{
    return intervals->threads.count > 0;
}

/* Whether THREAD was in callbacks of plugins all the time from START to END. */
bool plugin_intervals_hold(const struct plugin_intervals *intervals, uint32_t thread, uint64_t start, uint64_t end);

/* Defines NAME, a comparison for file_vector_sort(): items of TYPE are sorted by `start`, then by descending `end`, so
 * that an enclosing item precedes what it encloses, then by the further members, as with ORDER_BY(). */
#define ORDER_OUTER_FIRST(name, type, ...)                                                           \
    static int name(const void *left, const void *right)                                             \
    {                                                                                                \
        const type *a = left, *b = right;                                                            \
        if (a->start == b->start && a->end != b->end)                                                \
            return a->end > b->end ? -1 : 1;                                                         \
        ORDER_FIRST(start)                                                                           \
        ORDER_CHOICE(__VA_ARGS__, ORDER_5, ORDER_4, ORDER_3, ORDER_2, ORDER_1, unused)(__VA_ARGS__); \
    }

/* A time in which CLOCK_REALTIME was not set. Times in ns of CLOCK_MONOTONIC. */
struct clock_stretch {
    int64_t earliest, sure_from; /* the stretch began between these two times */
    int64_t sure_to, latest;     /* and ended between these */
    int64_t offset;              /* CLOCK_REALTIME minus CLOCK_MONOTONIC, ns */
};

/* The axis counts CLOCK_MONOTONIC plus the offset that the run's first process had when it began. */
struct clock_axis {
    ARRAY(struct clock_stretch) stretches;
    int64_t reference; /* that offset, ns */
    bool stepped;      /* if not, every time stays as it is */
};

/* Bounds of a time, in ns of CLOCK_MONOTONIC. */
struct clock_hint {
    int64_t from, to;
};

/* Build the axis of a process, in this order: _start with the clocks at the process's begin; _step for each setting of
 * CLOCK_REALTIME, which happened between BEFORE and MONOTONIC; _end with the time when the agent last compared the
 * clocks; _refer with the first process's offset. Return 0, or -1 after error(). */
int clock_axis_start(struct clock_axis *axis, int64_t monotonic, int64_t offset);
int clock_axis_step(struct clock_axis *axis, int64_t before, int64_t monotonic, int64_t offset);
void clock_axis_end(struct clock_axis *axis, int64_t monotonic);
void clock_axis_refer(struct clock_axis *axis, int64_t reference);

/* Returns the stretch in which CLOCK_REALTIME showed TIME: PREFERRED (or NULL) unless another one fits better.
 * Returns NULL if there are no stretches. */
const struct clock_stretch *clock_axis_find(const struct clock_axis *axis, uint64_t time, struct clock_hint hint,
                                            const struct clock_stretch *preferred);

static inline int64_t clock_monotonic_of(const struct clock_stretch *stretch, uint64_t time)
{
    return (int64_t)(time - (uint64_t)stretch->offset);
}

/* Returns TIME of CLOCK_REALTIME, shown in the stretch, as a time of the axis. */
static inline uint64_t clock_axis_place(const struct clock_axis *axis, const struct clock_stretch *stretch,
                                        uint64_t time)
{
    return time - (uint64_t)stretch->offset + (uint64_t)axis->reference;
}

/* Puts the times of all processes on one axis, once all are open. Returns 0, or -1 after error(). */
int find_clocks(struct conversion *conversion);

/* Corrects the times of a part's events, which must come in the order of their records. */
struct clock_walk {
    const struct clock_axis *clocks;
    struct clock_hint part;
    int64_t last; /* CLOCK_MONOTONIC of the latest record, less what records may be out of order */
};
void clock_walk_begin(struct clock_walk *walk, const struct process *process, const struct spool_part *part);
void clock_walk_correct(struct clock_walk *walk, struct event *event);
/* Puts the event's times on the axis. */
static inline void clock_walk_set(struct clock_walk *walk, struct event *event)
{
    if (walk->clocks->stepped)
        clock_walk_correct(walk, event);
}

typedef int (*event_function)(struct process *process, const struct event *event);

/* Calls VISIT for each of the agent's records, as an event with times of the axis, until a call returns non-zero, and
 * returns that. UNDECODED, unless NULL, counts the records that cannot be read. */
int process_walk_agent_records(struct process *process, event_function visit, uint64_t *undecoded);

#endif
