/*
 * The memory that is allocated during a trace, by its instants of category "memory" or PyTorch's instants "[memory]".
 *
 * Allocations of one process, device, kind, size and call stack are a group. Memory use depends on the number of groups
 * and of live allocations, not on the number of all allocations. gputrace writes the instants of a process in order and
 * they are applied at once; PyTorch's come thread by thread, so they are collected, and sorted by time and applied at
 * the end.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_HEAP_H
#define GPUTRACE_ANALYSIS_ENGINE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/windows.h"

/* The size of an address space; allocations with a larger size are ignored. */
#define HEAP_SIZE_MAX (INT64_C(1) << 48)

/* Allocations that live for less than this are short-lived. */
#define HEAP_BRIEF_NS INT64_C(1000000)

/* The phase of an instant that the filter (filter.h) leaves out: it only changes what is allocated. */
#define HEAP_OUTSIDE '-'

enum heap_source { HEAP_OF_GPUTRACE, HEAP_OF_PYTORCH };

struct heap_group_id {
    int64_t source; /* enum heap_source */
    event_id process;
    int64_t device; /* FIELD_ABSENT: memory of the host */
    uint64_t kind;  /* a text; for PyTorch, its device type */
    int64_t size;   /* bytes of each */
    int64_t stack;  /* FIELD_ABSENT: none; HEAP_BEFORE: bytes that PyTorch had before the trace */
};
#define HEAP_BEFORE (-2)

struct heap_group {
    uint32_t place;
    int64_t allocations; /* the number of all allocations */
    int64_t live;        /* the number of live allocations */
    int64_t live_asked;  /* `live` at the time of --snapshot */
    int64_t live_then;   /* `live` at the peak of its place, if it changed since the peak */
    uint64_t epoch;      /* epoch of its place when `live_then` was saved */
    struct heap_brief {
        int64_t count, time, shortest, longest; /* lifetimes, ns */
    } brief;                                    /* of short-lived allocations */
};

/* A place of memory, such as a GPU's; each has its own peak. */
struct heap_place_id {
    int64_t source;
    event_id process;
    int64_t device;
};

struct heap_place {
    int64_t bytes, peak, peak_at;
    int64_t released;   /* bytes released since the last allocation */
    uint64_t epoch;     /* counts the peaks so far */
    bool unseen;        /* it changed outside of the windows since the peak was updated */
    int64_t changed_at; /* time of the last change outside of the windows */
};

struct heap_live {
    uint32_t group;
    uint32_t next; /* index + 1 of the next younger allocation at the address, or of the next free entry */
    uint64_t address;
    int64_t time;
    bool used;
};

/* The addresses of a source and process. */
struct heap_space {
    struct map oldest; /* address -> index + 1 of the oldest live allocation there */
    bool passed;       /* an event after the time of --snapshot came */
};

struct heap_failure {
    struct heap_group_id asked;
    int64_t time, held, result; /* FIELD_ABSENT: not known */
    uint32_t held_by_kind;      /* text */
};

struct heap_step {
    int64_t time, bytes, device, type; /* bytes < 0: released */
    int64_t total;                     /* bytes of the device after this step; FIELD_ABSENT: not known */
    uint64_t address;
    event_id process;
    uint64_t order;
    bool outside;
};

struct heap {
    const struct interner *strings;
    const struct windows *windows; /* the windows of the filter; owned by the caller; NULL: all time */
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
    ARRAY(struct heap_failure) failures; /* sorted by time in heap_finish() */
};

/* STRINGS are the texts of the events; they must outlive HEAP. */
void heap_init(struct heap *heap, const struct interner *strings);
void heap_release(struct heap *heap);

/* Reads an instant; ignores events that are not about memory. Returns 0, or -1: no memory. */
int heap_event(struct heap *heap, const struct event_fields *event);
/* Applies the collected instants of PyTorch, after the last instant. Returns 0, or -1: no memory. */
int heap_finish(struct heap *heap);

static inline const struct heap_group_id *heap_group_id(const struct heap *heap, size_t group)
{
    return dense_map_row(&heap->group_ids, group);
}

/* Returns the bytes of COUNT allocations of the group ID. */
static inline int64_t heap_group_bytes(const struct heap_group_id *id, int64_t count)
{
    int64_t bytes;
    return __builtin_mul_overflow(count, id->size, &bytes) ? INT64_MAX : bytes;
}

/* Returns how many allocations of a group were live at the peak of its place. */
int64_t heap_group_at_peak(const struct heap *heap, size_t group);

#define HEAP_PYTORCH_FAILURE "[OutOfMemory]"
/* Whether an event is of PyTorch's caching allocator. */
bool heap_is_pytorch(const struct interner *strings, const struct event_fields *event);

/* PyTorch's "Device Type" of memory of the host. */
#define HEAP_PYTORCH_CPU 0

/* Returns the name of PyTorch's allocator for a device type. */
static inline const char *heap_pytorch_name(uint64_t type)
{
    return type == HEAP_PYTORCH_CPU ? "PyTorch's allocator, host" : "PyTorch's allocator";
}

#endif
