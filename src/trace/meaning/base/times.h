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
    bool limited; /* recording was off at some time: else everything counts */
};

void capture_intervals_release(struct capture_intervals *capture_intervals);

/* Remembers an EVENT_CAPTURE. Returns 0, or -1 after error(). */
int capture_intervals_mark(struct capture_intervals *capture_intervals, const struct event *event);

/* After the last mark: puts them in order. Returns 0, or -1 after error(). */
int capture_intervals_close(struct capture_intervals *capture_intervals);

/* Whether recording was on at TIME. */
bool capture_intervals_hold(const struct capture_intervals *capture_intervals, uint64_t time);

/* Whether recording was on at any time. */
static inline bool capture_intervals_any_on(const struct capture_intervals *capture_intervals)
{
    return !capture_intervals->limited || capture_intervals->any_on;
}

/* The first time from TIME on when recording was on; UINT64_MAX: it never was. */
uint64_t capture_intervals_begin(const struct capture_intervals *capture_intervals, uint64_t time);

/* The end of the capture interval that holds TIME; UINT64_MAX: it has none. */
uint64_t capture_intervals_end(const struct capture_intervals *capture_intervals, uint64_t time);

/*
 * When threads of the program were in callbacks of plugins: calls of CUDA in these capture intervals are a plugin's,
 * not the program's. Nothing is kept, and nothing costs time, where there are none.
 */

struct plugin_interval {
    uint64_t start, end; /* ns */
};

struct plugin_intervals {
    struct map by_thread; /* -> index + 1 in threads */
    ARRAY(struct plugin_intervals_of { FILE_VECTOR(struct plugin_interval) items; }) threads;
    const char *directory; /* for what memory cannot hold; NULL: there is none */
};

void plugin_intervals_init(struct plugin_intervals *intervals, const char *directory);
void plugin_intervals_release(struct plugin_intervals *intervals);

/* Returns 0, or -1 after error(). */
int plugin_intervals_add(struct plugin_intervals *intervals, uint32_t thread, uint64_t start, uint64_t end);

/* After the last: puts them in order. Returns 0, or -1 after error(). */
int plugin_intervals_close(struct plugin_intervals *intervals);

/* What is known need not stay in memory for now. */
void plugin_intervals_evict(const struct plugin_intervals *intervals);

static inline bool plugin_intervals_any(const struct plugin_intervals *intervals)
{
    return intervals->threads.count > 0;
}

/* Whether the time from START to END of THREAD lies within a capture interval. */
bool plugin_intervals_hold(const struct plugin_intervals *intervals, uint32_t thread, uint64_t start, uint64_t end);

/* Defines the function NAME for file_vector_sort(): of two of TYPE the one with the earlier `start`, else the one with the
 * later `end`, comes first, so that what encloses does; else they are in the order of further members, as by ORDER_BY(). */
#define ORDER_OUTER_FIRST(name, type, ...)                                                           \
    static int name(const void *left, const void *right)                                             \
    {                                                                                                \
        const type *a = left, *b = right;                                                            \
        if (a->start == b->start && a->end != b->end)                                                \
            return a->end > b->end ? -1 : 1;                                                         \
        ORDER_FIRST(start)                                                                           \
        ORDER_CHOICE(__VA_ARGS__, ORDER_5, ORDER_4, ORDER_3, ORDER_2, ORDER_1, unused)(__VA_ARGS__); \
    }

struct clock_stretch {
    int64_t earliest, sure_from; /* CLOCK_MONOTONIC: it began between these … */
    int64_t sure_to, latest;     /* … and ended between these */
    int64_t offset;              /* of CLOCK_REALTIME from it */
};

struct clock_axis {
    ARRAY(struct clock_stretch) stretches;
    int64_t reference;
    bool stepped; /* else every time stays as it is */
};

/* What is known of a time: by CLOCK_MONOTONIC it is between these. */
struct clock_hint {
    int64_t from, to;
};

/* The clocks as they were when the process began; then, step by step, as they are from MONOTONIC on, and were not yet
 * at BEFORE; then when they were last looked at; then the first process's. Return 0, or -1 after error(). */
int clock_axis_start(struct clock_axis *axis, int64_t monotonic, int64_t offset);
int clock_axis_step(struct clock_axis *axis, int64_t before, int64_t monotonic, int64_t offset);
void clock_axis_end(struct clock_axis *axis, int64_t monotonic);
void clock_axis_refer(struct clock_axis *axis, int64_t reference);

/* The stretch that TIME of CLOCK_REALTIME is of; PREFERRED (or NULL) if it can be. NULL: there are none. */
const struct clock_stretch *clock_axis_find(const struct clock_axis *axis, uint64_t time, struct clock_hint hint,
                                            const struct clock_stretch *preferred);

static inline int64_t clock_monotonic_of(const struct clock_stretch *stretch, uint64_t time)
{
    return (int64_t)(time - (uint64_t)stretch->offset);
}

/* TIME on the axis. */
static inline uint64_t clock_axis_place(const struct clock_axis *axis, const struct clock_stretch *stretch,
                                        uint64_t time)
{
    return time - (uint64_t)stretch->offset + (uint64_t)axis->reference;
}

/* Puts the times of all processes on one axis, once all are open. Returns 0, or -1 after error(). */
int find_clocks(struct conversion *conversion);

/* The times of one part's events after another, in their order in it. */
struct clock_walk {
    const struct clock_axis *clocks;
    struct clock_hint part;
    int64_t last; /* time of the last record: later ones are not much earlier */
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

/* Calls VISIT for each event of the agent's records, at times on the axis of all processes, until one call gives
 * non-zero, and returns that. UNDECODED (or NULL) counts what cannot be read. */
int process_walk_agent_records(struct process *process, event_function visit, uint64_t *undecoded);

#endif
