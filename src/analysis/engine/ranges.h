/*
 * Ranges of the program (NVTX, PyTorch's record_function). They are collected only if a section needs them, sorted in
 * bounded memory because there may be any number, and read in walks (struct range_walk).
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_RANGES_H
#define GPUTRACE_ANALYSIS_ENGINE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "analysis/engine/timeline.h"
#include "common/sorter.h"

/* A range. If it was started on one thread and ended on another, there are two, one for each thread. */
struct range {
    int64_t start, end;
    uint32_t name, domain; /* EVENT_NO_TEXT: none */
    uint32_t thread;       /* index in trace.threads */
    uint32_t number;       /* counts the ranges in the order of the file */
    bool started;          /* it was made by start and end; else by push and pop, so it nests */
    uint8_t category;      /* enum category; trace.host_frames also has operators and Python functions */
    uint32_t shapes;       /* of the inputs of a CPU_OP; else EVENT_NO_TEXT */
};

/* Returns the key of an asynchronous event, which is equal for the start and the end of a range. */
static inline uint64_t range_key(const struct event_fields *event)
{
    return event->id ^ (uint64_t)event->category << 56 ^ (uint64_t)(event->label + 1) << 24;
}

/* Ranges that were started and have not ended, by id. Of ranges with one id, the last to start ends first. All zero is
 * empty. */
struct range_starts {
    ARRAY(struct range_start) items;
    uint32_t unused;       /* index + 1 of the first free entry */
    struct map last_by_id; /* id -> index + 1 of the last range with this id */
};

struct range_start {
    struct range range; /* its `end` is FIELD_ABSENT, else the entry is free */
    uint32_t next;      /* index + 1 of the earlier range of this id, or of the next free entry */
};

void range_starts_release(struct range_starts *starts);
/* Adds a range with the end FIELD_ABSENT, and returns it for the caller to fill. Returns NULL without memory. */
struct range *range_starts_push(struct range_starts *starts, uint64_t id);
/* Removes the last range of ID and NAME (EVENT_NO_TEXT: any name), and copies it to RANGE. Returns false if there is
 * none. */
bool range_starts_pop(struct range_starts *starts, uint64_t id, uint32_t name, struct range *range);

struct ranges {
    uint32_t count;
    struct sorter sorter; /* by thread, then start; outer ranges come before inner ones */
    struct range_starts starts;
};

void ranges_init(struct ranges *ranges, struct sorter_space *space);
void ranges_release(struct ranges *ranges);

/* Reads an event 'X', 'b' or 'e' of a range. THREAD is an index of the trace. Returns 0, or -1: no memory. */
int ranges_add(struct ranges *ranges, const struct event_fields *event, uint32_t thread);
/* Sorts the ranges after the last event; ranges that are still open end at END. Returns 0, or -1: no memory. */
int ranges_finish(struct ranges *ranges, int64_t end);

/*
 * A walk over ranges by thread, then by time, which finds the ranges around a time. Only the ranges that are open
 * at that time are in memory.
 *
 *     range_walk_begin(&walk, &trace->ranges, false);
 *     for each time, by thread and time:
 *         while (range_walk_open(&walk, thread, time)) …;
 *         … range_walk_innermost(&walk, thread, time) …
 *     status = range_walk_end(&walk);
 */

/* The name of the row for GPU operations outside of ranges. */
#define RANGE_OUTSIDE "(outside ranges)"

struct range_open {
    struct range range;
    uint32_t outer; /* index + 1 of the innermost open range that contains it; 0: none */
    /* For range_rows.h: */
    uint32_t node;
    int64_t covered; /* inner ranges cover its time up to here */
    uint32_t base;   /* for stacks.c: the parent of `node`; 0: `node` is not set */
};

struct range_walk {
    struct sorter_walk walk;
    const struct range *next;      /* NULL: there is none */
    bool nesting;                  /* ranges by start and end are left out */
    ARRAY(struct range_open) open; /* by start, longer ranges first; some may have ended */
    size_t crowded;                /* ended ranges are removed when `open` reaches this count */
    bool no_memory;
};

void range_walk_begin(struct range_walk *walk, const struct ranges *ranges, bool nesting);

/* Opens the next range if it is of an earlier thread than THREAD, or starts on THREAD by TIME. Returns it; the pointer
 * is valid until the next call. Returns NULL if there is no such range, or without memory. */
struct range_open *range_walk_open(struct range_walk *walk, uint32_t thread, int64_t time);

/* Returns the innermost range around TIME on THREAD, or NULL. Must be called after range_walk_open() returned NULL for
 * this time. TIME never goes back on a thread. */
struct range_open *range_walk_innermost(struct range_walk *walk, uint32_t thread, int64_t time);

/* Returns the name of the innermost range around TIME on THREAD, or EVENT_NO_TEXT. Lowers *UNTIL to the time at which
 * the innermost range changes. TIME never goes back on a thread. */
uint32_t range_walk_name(struct range_walk *walk, uint32_t thread, int64_t time, int64_t *until);

/* Returns 0, or -1: no memory, or after error(). */
int range_walk_end(struct range_walk *walk);

/* Calls EACH for all GPU operations, with a walk over RANGES in which EACH may open the ranges up to the operation's
 * call. Then calls REST (may be NULL), which may open the remaining ranges. Stops when a function returns non-zero, and
 * returns that; else 0, or -1: no memory, or after error(). Several threads may call it at a time. */
int range_walk_ops(const struct ranges *ranges, bool nesting, const struct sorter *gpu_ops,
                   int (*each)(void *context, struct range_walk *walk, const struct launched_op *op),
                   int (*rest)(void *context, struct range_walk *walk), void *context);

/* --- ranges that were open when GPU operations of a graph were captured: the argument "captured in" has a path of
 * their names --- */

struct captured_path {
    uint32_t text;         /* of trace.strings */
    uint32_t first, count; /* indices in `names`; set by captured_split() */
};

/* All zero is empty. */
struct captured {
    struct dense_map ids;
    ARRAY(struct captured_path) paths;
    ARRAY(uint32_t) names; /* of trace.strings; a path has each name once, outermost first */
};

void captured_release(struct captured *captured);

#define CAPTURED_NO_MEMORY UINT32_MAX

/* Returns the number of the path TEXT, from 1 on, or CAPTURED_NO_MEMORY. */
uint32_t captured_add(struct captured *captured, uint32_t text);

/* Splits all paths into names, after the last path was added, and adds the names to STRINGS. Returns 0, or -1: no
 * memory. */
int captured_split(struct captured *captured, struct interner *strings);

static inline const struct captured_path *captured_path(const struct captured *captured, uint32_t number)
{
    return &captured->paths.items[number - 1];
}

#endif
