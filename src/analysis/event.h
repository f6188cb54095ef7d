/*
 * One event of a trace file, as plain fields: what is left of its JSON once it is read.
 *
 * Times are nanoseconds; what an event does not tell is EVENT_NONE (numbers) or EVENT_NO_TEXT (texts, which are
 * numbers of an interner).
 */
#ifndef GPUTRACE_ANALYSIS_EVENT_H
#define GPUTRACE_ANALYSIS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* No "cat", but "from" in the "args" of a GPU_RANGE that the program put into its stream. */
#define EVENT_DEVICE_RANGE_WORD "gputrace_device_range"

/*      category         "cat" in the file */
#define EVENT_CATEGORIES(X)                  \
    X(KERNEL, "kernel")                      \
    X(MEMCPY, "gpu_memcpy")                  \
    X(MEMSET, "gpu_memset")                  \
    X(GRAPH, "gpu_graph")                    \
    X(RUNTIME, "cuda_runtime")               \
    X(DRIVER, "cuda_driver")                 \
    X(SYNC, "cuda_sync")                     \
    X(RANGE, "user_annotation")              \
    X(GPU_RANGE, "gpu_user_annotation")      \
    X(DEVICE_RANGE, EVENT_DEVICE_RANGE_WORD) \
    X(MEMORY, "memory")                      \
    X(IN_FLIGHT, "gpu_in_flight")            \
    X(CPU_OP, "cpu_op")                      \
    X(FWDBWD, "fwdbwd")                      \
    X(PYTHON, "python_function")             \
    X(CPU_INSTANT, "cpu_instant_event")      \
    X(OVERHEAD, "overhead")                  \
    X(COMPILATION, "compilation")            \
    X(PLUGIN, "plugin")                      \
    X(SPAN, "Trace")

enum event_category {
    EVENT_OTHER, /* none, or not of the list */
#define CATEGORY(name, word) EVENT_##name,
    EVENT_CATEGORIES(CATEGORY)
#undef CATEGORY
        EVENT_CATEGORY_COUNT
};

#define EVENT_BIT(category) (1u << (category))
#define EVENT_GPU_WORK \
    (EVENT_BIT(EVENT_KERNEL) | EVENT_BIT(EVENT_MEMCPY) | EVENT_BIT(EVENT_MEMSET) | EVENT_BIT(EVENT_GRAPH))
#define EVENT_API (EVENT_BIT(EVENT_RUNTIME) | EVENT_BIT(EVENT_DRIVER))

static inline bool event_category_in(enum event_category category, unsigned bits)
{
    return (bits >> category) & 1;
}

#define EVENT_NONE INT64_MIN
#define EVENT_NO_TEXT UINT32_MAX

/* "pid" and "tid" may be numbers or strings. A number n is 2n, the string of number t is 2t + 1. */
typedef uint64_t event_id;

static inline event_id event_id_number(int64_t number)
{
    return (uint64_t)number << 1;
}
static inline event_id event_id_text(uint32_t text)
{
    return (uint64_t)text << 1 | 1;
}
static inline bool event_id_is_text(event_id id)
{
    return id & 1;
}
static inline int64_t event_id_value(event_id id)
{
    return (int64_t)id >> 1;
}

#define EVENT_NO_ID UINT64_MAX

/* What most events tell comes first: they are copied only up to their last field that tells something. */
struct trace_event {
    char phase;               /* "ph": 'X', 'i', 'b', 'e', 'C', 'M', 's', 'f' …; 0: none */
    uint8_t category;         /* "cat": enum event_category */
    uint16_t extent;          /* bytes: from there on it is as event_nothing */
    uint32_t name;            /* "name" */
    event_id process, thread; /* "pid", "tid"; a missing one is the number 0 */
    int64_t start;            /* "ts" */
    int64_t duration;         /* "dur"; never negative */
    /* from "args" */
    int64_t correlation, device, context, stream;
    union {
        int64_t grid[3];
        struct {
            int64_t sequence, forward_thread; /* of a CPU_OP; forward_thread: above 0 if it is of the backward pass */
        };
    };
    int64_t block[3];
    int64_t bytes;        /* of a copy, set, allocation; of a counter, its value */
    int64_t return_value; /* of an API call or memory operation: 0 is success */
    event_id id;          /* "id" of asynchronous ranges and arrows; EVENT_NO_ID: none */
    int64_t wait_on_stream, wait_on_event;
    int64_t address, held, stack;                         /* of an allocation or release */
    int64_t total_allocated, total_reserved, device_type; /* of PyTorch's "[memory]" */
    int64_t open_at_end;                                  /* 1: a range that the program did not end */
    int64_t cache_hit; /* of a compilation: 1 it was found in the cache, 0 it was not */
    int64_t of_thread; /* whose it is, where the row is not the thread's */
    uint32_t mangled_name;
    uint32_t domain;
    uint32_t memory_kind, fault, held_by_kind;
    uint32_t function; /* that was called */
    uint32_t ending;   /* how a phase ended, when not by the return of a call */
    uint32_t label;    /* args.name or args.labels of a metadata event */
};

#endif
