/*
 * Ranges of the program (NVTX, PyTorch's record_function), which several sections use. They are collected only where
 * such a section is wanted. As there may be any number, they are sorted in bounded memory, and read in walks (struct
 * range_walk).
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_RANGES_H
#define GPUTRACE_ANALYSIS_ENGINE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "analysis/engine/gpu_ops.h"
#include "common/sorter.h"

/* A range that was started on one thread and ended on another is there twice, once for each thread. */
struct range {
    int64_t start, end;
    uint32_t name, domain; /* EVENT_NO_TEXT: none */
    uint32_t thread;       /* index in trace.threads */
    uint32_t number;       /* by its place in the file */
    bool started;          /* and ended, else it nests */
    uint8_t category;      /* enum category: of trace.host_frames these are operators and Python functions, too */
    uint32_t shapes;       /* of a CPU_OP: those of its inputs; else EVENT_NO_TEXT */
};

/* Chrome's asynchronous events are of one range when category and id are equal. */
static inline uint64_t range_key(const struct event_fields *event)
{
    return event->id ^ (uint64_t)event->category << 56 ^ (uint64_t)(event->label + 1) << 24;
}

/* Ranges that were started and not ended so far, by ids: of those of one id the last ends first. All zero is empty. */
struct range_starts {
    ARRAY(struct range_start) items;
    uint32_t unused;       /* index + 1 of the first free entry */
    struct map last_by_id; /* id -> index + 1 of the last */
};

struct range_start {
    struct range range; /* those whose end is not FIELD_ABSENT are free */
    uint32_t next;      /* index + 1 of the one that was started before with the same id; else of the next unused */
};

void range_starts_release(struct range_starts *starts);
/* The place of a new one, whose end is FIELD_ABSENT. NULL: no memory. */
struct range *range_starts_push(struct range_starts *starts, uint64_t id);
/* Removes the last of ID and NAME, EVENT_NO_TEXT: of any, and copies it to RANGE. False: there is none. */
bool range_starts_pop(struct range_starts *starts, uint64_t id, uint32_t name, struct range *range);

struct ranges {
    uint32_t count;
    struct sorter sorter; /* by thread, then start; outer ones come before what is in them */
    struct range_starts starts;
};

void ranges_init(struct ranges *ranges, struct sorter_space *space);
void ranges_release(struct ranges *ranges);

/* Each returns 0, or -1: no memory. THREAD is an index of the trace. For events 'X', 'b' and 'e' of ranges: */
int ranges_add(struct ranges *ranges, const struct event_fields *event, uint32_t thread);
/* After the last; what is open ends at END. */
int ranges_finish(struct ranges *ranges, int64_t end);

/*
 * A walk over ranges, by thread and then by time, that finds the ranges around a time. It holds only the ranges that
 * are open at that time.
 *
 *     range_walk_begin(&walk, &trace->ranges, false);
 *     for each time, by thread and time:
 *         while (range_walk_open(&walk, thread, time)) …;
 *         … range_walk_innermost(&walk, thread, time) …
 *     status = range_walk_end(&walk);
 */

/* The name of the row of GPU operations that no range is around. */
#define RANGE_OUTSIDE "(outside ranges)"

struct range_open {
    struct range range;
    uint32_t outer; /* index + 1 of the innermost that was open when it started and is around it as a whole; 0: none */
    /* Of range_rows.h */
    uint32_t node;
    int64_t covered; /* the time until which inner ranges took its own */
    uint32_t base;   /* of stacks.c: the node that `node` is below; 0: `node` is not set */
};

struct range_walk {
    struct sorter_walk walk;
    const struct range *next;      /* NULL: there is none */
    bool nesting;                  /* those that were started and ended are left out */
    ARRAY(struct range_open) open; /* by start, longer ones first; some have ended since */
    size_t crowded;                /* at this count, those that have ended are removed */
    bool no_memory;
};

void range_walk_begin(struct range_walk *walk, const struct ranges *ranges, bool nesting);

/* Opens the next range, if it is of an earlier thread than THREAD, or starts on THREAD by TIME. The result is the last
 * of `open`, and valid until the next call. NULL: no range is open, or out of memory. */
struct range_open *range_walk_open(struct range_walk *walk, uint32_t thread, int64_t time);

/* After that: the innermost range around TIME on THREAD, NULL: there is none. TIME never goes back on a thread. */
struct range_open *range_walk_innermost(struct range_walk *walk, uint32_t thread, int64_t time);

/* Returns 0, or -1: no memory, or after error(). */
int range_walk_end(struct range_walk *walk);

/* Calls EACH for all GPU operations, with a walk over RANGES in which it may open the ranges up to the operation's
 * call, and then REST (NULL: nothing), which may open all that are left. Stops when one returns non-zero, and returns
 * that; else 0, or -1: no memory, or after error(). Several threads may do so at a time. */
int range_walk_ops(const struct ranges *ranges, bool nesting, const struct sorter *gpu_ops,
                   int (*each)(void *context, struct range_walk *walk, const struct launched_op *op),
                   int (*rest)(void *context, struct range_walk *walk), void *context);

/*
 * --- autograd.c: PyTorch runs the backward pass on threads of its own (autograd), which have no ranges. Kineto's flows
 * "fwdbwd" name the operator of the forward pass that caused an operator of the backward pass. In a trace without these
 * flows, both operators have the same sequence number. So a GPU operation that an autograd thread launches belongs to a
 * range of the thread that ran the forward pass: to the range that is open there at that time, around the call of
 * backward(), else to the range around the operator of the forward pass.
 */

struct autograd {
    struct sorter flows, operators; /* ends of links, of both kinds */
    struct sorter links;            /* by the thread of the backward pass, then time */
};

void autograd_init(struct autograd *autograd, struct sorter_space *space);
void autograd_release(struct autograd *autograd);

/* An end of a flow "fwdbwd", and an operator with a sequence number. PROCESS and THREAD are indices of the trace. These
 * return 0, or -1: no memory. */
int autograd_flow(struct autograd *autograd, const struct event_fields *event, uint32_t process, uint32_t thread);
int autograd_operator(struct autograd *autograd, const struct event_fields *event, uint32_t process, uint32_t thread);

/* After the last event, when RANGES and OPS are ready: operations in OPS that an autograd thread launched in no
 * range of its own get the thread and the time of the operator that caused them. Returns 0, or -1: no memory, or after
 * error(). */
int autograd_attribute(struct autograd *autograd, const struct ranges *ranges, struct sorter *gpu_ops);

#endif
