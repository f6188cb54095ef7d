/*
 * What the analysis keeps of an event, as plain fields.
 *
 * Times are nanoseconds. A field that an event does not have is FIELD_ABSENT (numbers) or EVENT_NO_TEXT (texts, which
 * are numbers of an interner).
 */
#ifndef GPUTRACE_TRACE_EVENT_FIELDS_H
#define GPUTRACE_TRACE_EVENT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/event.h"

/* The analysis does not distinguish these. */
#define CATEGORIES_OTHER                                                                                 \
    (CATEGORY_BIT(CATEGORY_OTHER) | CATEGORY_BIT(CATEGORY_CUDA_EVENT) | CATEGORY_BIT(CATEGORY_CAPTURE) | \
     CATEGORY_BIT(CATEGORY_NVTX_MEMORY))

/* Slices of these are what the host does. */
#define CATEGORIES_HOST                                                                        \
    (CATEGORIES_API | CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP) | \
     CATEGORY_BIT(CATEGORY_PYTHON_FUNCTION) | CATEGORIES_OTHER)

#define FIELD_ABSENT INT64_MIN
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

/* Sets *ID to the number that a text of 1 to 15 digits is; false: the text is another. */
static inline bool event_id_of_digits(const char *text, size_t length, event_id *id)
{
    int64_t number = 0;
    size_t at = 0;
    for (; at < length && length <= 15 && text[at] >= '0' && text[at] <= '9'; at++)
        number = number * 10 + (text[at] - '0');
    if (length == 0 || at < length)
        return false;
    *id = event_id_number(number);
    return true;
}

#define EVENT_NO_ID UINT64_MAX

/*
 * Fields that events of some categories have, a struct for each kind of events: the rows of EVENT_KINDS say of which.
 * An event of another category has other things in the same place, so they are read by event_kernel() and so on.
 */
struct gpu_fields { /* of what is in a stream */
    int64_t context, stream;
};

struct launch_fields {    /* of a GPU operation: where it was launched */
    uint32_t captured_in; /* where a graph replays it */
    uint32_t forward_at;  /* of the backward pass: the line of its forward operator */
    uint32_t backward_at; /* of the backward pass: the line that called this */
    uint32_t in_operator; /* where its call stack has no line: the operator that launched it */
};

struct kernel_fields {
    int64_t grid[3], block[3];
#define NUMBER(name, text, type, field, categories, member, ...) int64_t member;
    KERNEL_NUMBERS(NUMBER)
#undef NUMBER
    int64_t shared_bytes; /* for each block */
    uint32_t mangled_name;
};

struct wait_fields { /* of a synchronisation */
    int64_t stream, event;
    int64_t correlation; /* of the call that recorded the event */
};

struct range_fields {    /* also of an operator */
    int64_t open_at_end; /* 1: the program did not end it */
    uint32_t domain;
};

struct operator_fields {
    int64_t sequence;
    int64_t forward_thread; /* above 0 if it is of the backward pass */
    uint32_t shapes;        /* of its inputs, as shapes_read() has them */
};

struct memory_fields { /* of an allocation or release, PyTorch's too */
    int64_t address;
    int64_t held;                                         /* by the process, when it was refused */
    int64_t total_allocated, total_reserved, device_type; /* of PyTorch's "[memory]" */
    uint32_t kind, held_by_kind, fault;
};

struct compilation_fields {
    int64_t cache_hit; /* 1: it was found in the cache, 0: it was not */
    uint32_t function; /* that was called */
    uint32_t ending;   /* how a phase ended, when not by the return of a call */
};

struct state_fields { /* of a time in which a thread was off the processor */
    int64_t waker;    /* the thread that ended it */
};

struct communication_fields { /* of the call, of its kernel, and of one in flight */
    uint32_t collective;      /* "AllReduce", "allreduce", "Send" */
    uint32_t communicator;    /* the group of ranks: the same text on all of them */
    uint32_t group_ranks;     /* "[0, 1, 2]": of the job */
    uint32_t dtype;           /* "Float", as PyTorch calls it; "Byte" where only bytes are known */
    int64_t group_size, group_rank;
    int64_t group_sequence; /* of this communicator, the same number on all ranks */
    int64_t in_elements, out_elements;
    int64_t peer;       /* the root, or the other rank of a send or receive */
    int64_t group_call; /* calls of a process that one kernel does, and the kernel, have the same number */
};

#define EVENT_KINDS(X)                    \
    X(gpu, ARGS_GPU)                      \
    X(launch, CATEGORIES_GPU_OPS)         \
    X(kernel, ARGS_KERNEL)                \
    X(wait, ARGS_SYNC)                    \
    X(range, ARGS_RANGE | ARGS_OPERATOR)  \
    X(operator, ARGS_OPERATOR)            \
    X(memory, ARGS_MEMORY | ARGS_PYTORCH) \
    X(compilation, ARGS_COMPILATION)      \
    X(state, ARGS_STATE)                  \
    X(communication, ARGS_COMMUNICATION)

struct event_fields {
    char phase;               /* "ph": 'X', 'i', 'b', 'e', 'C', 'M', 's', 'f' …; 0: none */
    uint8_t category;         /* "cat": enum category; set by event_begin() and event_set_category() */
    uint32_t name;            /* "name" */
    uint32_t label;           /* args.name or args.labels of a metadata event; args.reason of managed memory that moves;
                                 "cat" of a slice of CATEGORY_OTHER */
    event_id process, thread; /* "pid", "tid"; a missing one is the number 0 */
    event_id id;              /* "id" of asynchronous ranges and flows; EVENT_NO_ID: none */
    int64_t start;            /* "ts" */
    int64_t duration;         /* "dur"; never negative */
    /* from "args", of any kind: */
    int64_t correlation, device;
    int64_t stack;        /* number of a call stack */
    int64_t of_thread;    /* whose it is, where the row is not the thread's */
    int64_t bytes;        /* of a copy, set, allocation or migration; of a counter, its value */
    int64_t return_value; /* of an API call, memory operation or compilation: 0 is success */
    /* of its kind: */
    struct {
        union {
            struct {
                struct gpu_fields gpu;
                union {
                    struct {
                        struct launch_fields launch;
                        struct kernel_fields kernel;
                    };
                    struct wait_fields wait;
                    struct {
                        struct range_fields range;
                        struct operator_fields operator;
                    };
                };
            };
            struct memory_fields memory;
            struct compilation_fields compilation;
            struct state_fields state;
        };
        struct communication_fields communication;
    } of;
};

/* A time beyond 146 years is not accepted, so that the difference of two always fits, with a little to spare. */
#define EVENT_TIME_LIMIT (INT64_MAX / 2 - 256)

/* From one time to another, ns; 0 if one of them is not known. */
static inline int64_t event_time_between(int64_t from, int64_t to)
{
    return from == FIELD_ABSENT || to == FIELD_ABSENT ? 0 : to - from;
}

enum field_type { FIELD_NONE, FIELD_NUMBER, FIELD_TEXT, FIELD_TRIPLE, FIELD_SHAPES };

/* What the analysis keeps of an argument. */
struct arg_field {
    enum field_type type;
    size_t offset;       /* in struct event_fields */
    unsigned categories; /* CATEGORY_BIT() of those that have the argument */
};
extern const struct arg_field arg_fields[ARG_KEY_COUNT];

/* The field of the argument of this name; NULL: the analysis does not keep it of events of CATEGORY. */
const struct arg_field *arg_field_find(const char *name, size_t length, enum category category);

/* What is known of the events of a category before the first of them. */
struct event_layout {
    size_t size;                 /* bytes, a multiple of 8: an event has no fields behind them */
    struct event_fields nothing; /* one without any field */
};
extern struct event_layout event_layouts[CATEGORY_COUNT]; /* set before main() */

/* The bytes of the event that mean something. */
static inline size_t event_size(const struct event_fields *event)
{
    return event_layouts[event->category].size;
}

/* The event that lies behind EVENT, where as many bytes of each are kept as mean something. */
static inline const struct event_fields *event_after(const struct event_fields *event)
{
    return (const struct event_fields *)(const void *)((const char *)event + event_size(event));
}

/* Most events have little of their kind or nothing, and the size of the rest is a constant for the compiler. */
static inline void event_copy(struct event_fields *event, const struct event_fields *from)
{
    size_t size = event_size(from), common = offsetof(struct event_fields, of);
    memcpy(event, from, common);
    if (size > common)
        memcpy(&event->of, &from->of, size - common);
}

/* Makes EVENT one of CATEGORY without any field. */
static inline void event_begin(struct event_fields *event, enum category category)
{
    event_copy(event, &event_layouts[category].nothing);
}

/* The fields of its kind are lost. */
void event_set_category(struct event_fields *event, enum category category);

/* Fields that EVENT has not and FROM has become EVENT's, but not those that every event has. */
void event_complete(struct event_fields *event, const struct event_fields *from);

/* Sets each of the event's texts, number N, NUMBERS[N]. */
void event_translate(struct event_fields *event, const uint32_t *numbers);

/* The fields of a kind; of an event of another one, such without any. */
#define KIND(name, categories)                                                               \
    static inline const struct name##_fields *event_##name(const struct event_fields *event) \
    {                                                                                        \
        if (__builtin_expect(category_in(event->category, categories), true))                \
            return &event->of.name;                                                          \
        return &event_layouts[__builtin_ctz(categories)].nothing.of.name;                    \
    }
EVENT_KINDS(KIND)
#undef KIND

/* Whether it is in a row beyond the first of its thread, which gputrace makes for slices that do not nest. */
static inline bool trace_in_extra_row(const struct event_fields *event)
{
    return !event_id_is_text(event->thread) && event_id_value(event->thread) >= TRACKS_EXTRA_TID;
}

/* The device of the row of a GPU, as trace/tracks.h numbers them. FIELD_ABSENT: of none. */
static inline int64_t trace_row_device(event_id process)
{
    int64_t pid = event_id_value(process);
    if (event_id_is_text(process))
        return FIELD_ABSENT;
    return pid >= TRACKS_GPU_PID ? pid % TRACKS_GPU_DEVICES : pid;
}

/* The device that an event is of: its argument's, else its row's. FIELD_ABSENT: of none. */
static inline int64_t trace_event_device(const struct event_fields *event)
{
    return event->device != FIELD_ABSENT ? event->device : trace_row_device(event->process);
}

/* The stream of a GPU's event: its argument's, else its row's number. FIELD_ABSENT: neither is known. */
static inline int64_t trace_event_stream(const struct event_fields *event)
{
    int64_t stream = event_gpu(event)->stream;
    if (stream != FIELD_ABSENT || event_id_is_text(event->thread) || trace_in_extra_row(event))
        return stream;
    return event_id_value(event->thread);
}

static inline bool event_communicates(const struct event_fields *event)
{
    return event_communication(event)->collective != EVENT_NO_TEXT;
}

/* JSON's numbers are read as doubles, which hold integers up to here. A larger argument is not known, so that sizes can
 * be multiplied by small numbers, and the difference of two numbers always fits. */
#define EVENT_NUMBER_LIMIT (INT64_C(1) << 53)

/* A number as a reader of JSON has it; OTHERWISE when it is too large. */
int64_t event_unsigned(uint64_t value, int64_t otherwise);
int64_t event_signed(int64_t value, int64_t otherwise);
int64_t event_real(double value, int64_t otherwise);
/* The number that a text is, "17" or "0x7f00"; OTHERWISE when it is not one. */
int64_t event_number_of_text(const char *text, size_t length, int64_t otherwise);

/* Sets *NUMBER to what ARG is, unless it is not a number. False: JSON alone says what it means. */
static inline bool event_take_number(const struct arg *arg, int64_t *number)
{
    switch (arg->type) {
    case ARG_TYPE_U64:
    case ARG_TYPE_HEX: *number = event_unsigned(arg->u64, *number); return true;
    case ARG_TYPE_I64: *number = event_signed(arg->i64, *number); return true;
    case ARG_TYPE_REAL:
    case ARG_TYPE_FIXED: *number = event_real(arg->real, *number); return true;
    case ARG_TYPE_TEXT: *number = event_number_of_text(arg->text, arg->length, *number); return true;
    case ARG_TYPE_TRUE: *number = 1; return true;
    case ARG_TYPE_FALSE: *number = 0; return true;
    case ARG_TYPE_SIZE3: return true;
    default: return false;
    }
}

/* Shapes of an operator's inputs: PyTorch's argument "Input Dims", an array of arrays of numbers, as one text. It is
 * the argument's JSON without white space, "[[8,128],[50257,768],[]]"; an input that is a list of tensors is an array
 * of such arrays. */
#define SHAPES_MOST 512 /* bytes; a longer text is cut, and ends with SHAPES_CUT */
#define SHAPES_CUT "…"

struct shapes_text {
    size_t length;
    bool cut;
    char text[SHAPES_MOST + sizeof(SHAPES_CUT)]; /* without a final NUL */
};

/* Reads the JSON array of arrays and numbers that TEXT begins with. Returns its bytes, or 0: it is something else, or
 * nested deeper, or does not end. Sets SHAPES, also when 0 is returned. */
size_t shapes_read(const char *text, size_t length, struct shapes_text *shapes);

#endif
