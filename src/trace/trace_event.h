/*
 * One event as plain fields: what every source of a trace (JSON, .pftrace, spool) gives to the analysis.
 *
 * Times are nanoseconds. A field that an event does not have is EVENT_NONE (numbers) or EVENT_NO_TEXT (texts, which are
 * numbers of an interner).
 */
#ifndef GPUTRACE_TRACE_TRACE_EVENT_H
#define GPUTRACE_TRACE_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
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

/* Fields that most events have come first: an event is copied only up to the last field that is set. */
struct trace_event {
    char phase;               /* "ph": 'X', 'i', 'b', 'e', 'C', 'M', 's', 'f' …; 0: none */
    uint8_t category;         /* "cat": enum event_category */
    uint16_t extent;          /* bytes: from here on it equals event_nothing */
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
    event_id id;          /* "id" of asynchronous ranges and flows; EVENT_NO_ID: none */
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

/* A time beyond 146 years is not accepted, so that the difference of two always fits. */
#define EVENT_TIME_LIMIT (INT64_MAX / 2)

enum field_type { FIELD_NUMBER, FIELD_TEXT, FIELD_TRIPLE };

struct event_field {
    const char *key;
    enum field_type type;
    size_t offset; /* in struct trace_event */
};

/* Call before the two functions below; several threads may call it, more than once. */
void event_fields_init(void);

/* The field of the argument KEY; NULL: the analysis does not use it. */
const struct event_field *event_field_find(const char *key, size_t length);

enum event_category event_category_find(const char *word, size_t length);

/* An event without any field. Its extent is that of the struct, so that fields may be set in any order. */
extern const struct trace_event event_nothing;

/* Sets the extent to the end of the last field that is set. */
void event_find_extent(struct trace_event *event);
/* Makes EVENT a copy of the event whose first EXTENT bytes are BYTES, or of FROM. EVENT is another event before, or
 * event_nothing: only the fields that it has are reset. */
void event_put(struct trace_event *event, const char *bytes, size_t extent);
void event_copy(struct trace_event *event, const struct trace_event *from);

/* Gives each of the event's texts, number N, NUMBERS[N]. */
void event_translate(struct trace_event *event, const uint32_t *numbers);

/* A number as a reader of JSON has it, which reads numbers as doubles; OTHERWISE when it is too large. */
int64_t event_unsigned(uint64_t value, int64_t otherwise);
int64_t event_signed(int64_t value, int64_t otherwise);
int64_t event_real(double value, int64_t otherwise);
/* The number that a text is, "0x7f00"; OTHERWISE when the text is empty. */
int64_t event_number_of_text(const char *text, size_t length, int64_t otherwise);

#define EVENT_RUN_MOST 4096u /* events */

/* Events one after another, each only up to its extent. Their texts are numbered within the run, so that the thread
 * that hands the run on need not look at the events. */
struct event_run {
    const char *bytes; /* anywhere: nothing is aligned */
    size_t size, count;
    unsigned categories;     /* EVENT_BIT() of those that are among them */
    const uint32_t *numbers; /* of their texts in the trace's strings, by the run's numbers */
    size_t number_count;
};

/* Makes EVENT, as event_put() does, the event at BYTES of a run with these NUMBERS. Returns where the next one is. */
const char *event_run_take(const char *bytes, const uint32_t *numbers, struct trace_event *event);

struct cJSON;
struct json_text;

/* The functions that a source calls with the events of a trace, all on one thread. */
struct event_sink {
    void *context;
    unsigned workers; /* threads that read ahead; 0: as many as there are processors */
    /* Returns where the source should put the next event, so that event() need not copy it. NULL: anywhere. */
    struct trace_event *(*place)(void *context);
    /* Takes each event, in the trace's order. EVENT may be changed, and is valid during the call. Returns 0, or -1 to
     * stop. */
    int (*event)(void *context, struct trace_event *event);
    /* Takes all events of RUN, which is valid during the call. NULL: the source calls event() for each. */
    int (*run)(void *context, const struct event_run *run);
    /* Takes each other key of the trace's object, and its value, which is valid during the call. Returns 0, or -1 to
     * stop. */
    int (*metadata)(void *context, const char *key, const struct cJSON *value);
    /* JSON only, instead of the four above: the text of each event, and of each other value of the object with its key,
     * as it stands in the file. Both are valid during the call. */
    int (*text)(void *context, struct json_text event);
    int (*metadata_text)(void *context, const char *key, struct json_text value);
    bool quiet; /* warnings were printed when the file was read before */
};

/* Where to put the next event: in the buffer, or in OWN. */
static inline struct trace_event *event_sink_place(const struct event_sink *buffer, struct trace_event *own)
{
    return buffer->place ? buffer->place(buffer->context) : own;
}

#endif
