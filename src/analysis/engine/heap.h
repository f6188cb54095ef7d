/*
 * The memory that is allocated during a trace, by its instants of category "memory", or by PyTorch's "[memory]".
 *
 * Allocations that are alike (of one process, device, kind, size and call stack) are a group. Memory is needed for the
 * groups and for what is live, however many allocations there are. gputrace writes the instants of a process in their
 * order; PyTorch's come thread by thread, so these are collected, sorted by time and applied at the end.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_HEAP_H
#define GPUTRACE_ANALYSIS_ENGINE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/windows.h"

/* No memory is larger than an address space: greater sizes are ignored. */
#define HEAP_SIZE_MAX (INT64_C(1) << 48)

/* Allocations are short-lived if they live for less than this. */
#define HEAP_BRIEF_NS INT64_C(1000000)

/* The phase of an instant outside of the filter (filter.h): it only changes what is allocated. */
#define HEAP_OUTSIDE '-'

enum heap_source { HEAP_OF_GPUTRACE, HEAP_OF_PYTORCH };

struct heap_group_id {
    int64_t source; /* enum heap_source */
    event_id process;
    int64_t device; /* FIELD_ABSENT: memory of the host */
    uint64_t kind;  /* a text; of PyTorch its device type */
    int64_t size;   /* bytes of each */
    int64_t stack;  /* FIELD_ABSENT: not kept; HEAP_BEFORE: bytes that PyTorch had before the trace begins */
};
#define HEAP_BEFORE (-2)

struct heap_group {
    uint32_t place;
    int64_t allocations; /* in all */
    int64_t live;        /* number that is live */
    int64_t live_asked;  /* live at the time of --snapshot, of memory from before the trace */
    int64_t live_then;   /* live at the peak of its place, if it changed since then */
    uint64_t epoch;      /* epoch of its place at that peak */
    struct heap_brief {
        int64_t count, time, shortest, longest; /* lifetimes, ns */
    } brief;                                    /* of short-lived allocations */
};

/* A place of memory, which has a peak of its own. */
struct heap_place_id {
    int64_t source;
    event_id process;
    int64_t device;
};

struct heap_place {
    int64_t bytes, peak, peak_at;
    int64_t released;   /* bytes, since the last allocation */
    uint64_t epoch;     /* counts the peaks so far */
    bool unseen;        /* it changed outside of the windows since the peak was updated */
    int64_t changed_at; /* the last time at which that happened */
};

struct heap_live {
    uint32_t group;
    uint32_t next; /* index + 1 of the next younger allocation at its address, or of the next free entry */
    uint64_t address;
    int64_t time;
    bool used;
};

/* The addresses of one process. */
struct heap_space {
    struct map oldest; /* address -> index + 1 of the oldest live allocation there */
    bool passed;       /* the time of --snapshot is over */
};

struct heap_failure {
    struct heap_group_id asked;
    int64_t time, held, result; /* FIELD_ABSENT: not known */
    uint32_t held_by_kind;      /* text */
};

struct heap_step {
    int64_t time, bytes, device, type; /* BYTES below 0: released */
    int64_t total;                     /* of the device after it; FIELD_ABSENT: not known */
    uint64_t address;
    event_id process;
    uint64_t order;
    bool outside;
};

struct heap {
    const struct interner *strings;
    const struct windows *windows; /* the time of the report; owned by the caller; NULL: all time */
    int64_t asked_at;              /* the time of --snapshot; FIELD_ABSENT: there is none */
    struct dense_map group_ids;
    ARRAY(struct heap_group) groups;
    struct dense_map place_ids;
    ARRAY(struct heap_place) places;
    struct dense_map space_ids; /* struct heap_space_id */
    ARRAY(struct heap_space) spaces;
    ARRAY(struct heap_live) lives;
    uint32_t free;                /* index + 1 of the first free entry */
    ARRAY(struct heap_live) then; /* allocations that were live at `asked_at` */
    ARRAY(struct heap_step) steps;
    ARRAY(struct heap_failure) failures; /* once finished: by time */
};

/* STRINGS has the texts of events. */
void heap_init(struct heap *heap, const struct interner *strings);
void heap_release(struct heap *heap);

/* Adds an instant. Returns 0, or -1: no memory. */
int heap_event(struct heap *heap, const struct event_fields *event);
/* Applies what was collected, after the last instant. Returns 0, or -1: no memory. */
int heap_finish(struct heap *heap);

static inline const struct heap_group_id *heap_group_id(const struct heap *heap, size_t group)
{
    return dense_map_row(&heap->group_ids, group);
}

/* The size of COUNT allocations of the group ID. */
static inline int64_t heap_group_bytes(const struct heap_group_id *id, int64_t count)
{
    int64_t bytes;
    return __builtin_mul_overflow(count, id->size, &bytes) ? INT64_MAX : bytes;
}

/* How many of a group were live at the peak of its place. */
int64_t heap_group_at_peak(const struct heap *heap, size_t group);

#define HEAP_PYTORCH_FAILURE "[OutOfMemory]"
/* Whether an event is of PyTorch's caching allocator. */
bool heap_is_pytorch(const struct interner *strings, const struct event_fields *event);

/* PyTorch's "Device Type" of memory of the host. */
#define HEAP_PYTORCH_CPU 0

/* The name of PyTorch's allocator for a device type. */
static inline const char *heap_pytorch_name(uint64_t type)
{
    return type == HEAP_PYTORCH_CPU ? "PyTorch's allocator, host" : "PyTorch's allocator";
}

#endif
