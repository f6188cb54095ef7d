/*
 * An event as plain fields: what the analysis keeps of it.
 *
 * Times are ns. A field without a value is FIELD_ABSENT (numbers) or EVENT_NO_TEXT (texts, which are numbers of an
 * interner).
 */
#ifndef GPUTRACE_TRACE_EVENT_FIELDS_H
#define GPUTRACE_TRACE_EVENT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/event.h"

/* Categories that the analysis treats alike. */
#define CATEGORIES_OTHER                                                                                 \
    (CATEGORY_BIT(CATEGORY_OTHER) | CATEGORY_BIT(CATEGORY_CUDA_EVENT) | CATEGORY_BIT(CATEGORY_CAPTURE) | \
     CATEGORY_BIT(CATEGORY_NVTX_MEMORY))

/* Slices of these categories are work of the host. */
#define CATEGORIES_HOST                                                                        \
    (CATEGORIES_API | CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP) | \
     CATEGORY_BIT(CATEGORY_PYTHON_FUNCTION) | CATEGORIES_OTHER)

#define FIELD_ABSENT INT64_MIN
#define EVENT_NO_TEXT UINT32_MAX

/* "pid" and "tid" may be numbers or strings. A number n is stored as 2n, the string with number t in the interner as 2t
 * + 1. */
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

/* Sets *ID to the number that TEXT is. Returns false if TEXT is not 1 to 15 digits. */
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
 * Fields that only some categories have, in a struct for each kind of events; EVENT_KINDS lists the categories of each
 * kind. Kinds share memory, so read their fields with event_kernel() and its like: these check the category.
 */
struct gpu_fields { /* events in a stream */
    int64_t context, stream;
};

struct launch_fields {    /* where a GPU operation was launched */
    uint32_t captured_in; /* replayed by a graph: path of the ranges and operators open at its capture */
    uint32_t forward_at;  /* in the backward pass: the line that called its forward operator */
    uint32_t backward_at; /* in the backward pass: the line that started the backward pass */
    uint32_t in_operator; /* the operator that launched it, if its call stack has no line */
};

struct kernel_fields {
    int64_t grid[3], block[3];
#define NUMBER(name, text, type, field, categories, member, ...) int64_t member;
    KERNEL_NUMBERS(NUMBER)
#undef NUMBER
    int64_t shared_bytes; /* per block */
    uint32_t mangled_name;
};

struct wait_fields { /* synchronisations */
    int64_t stream, event;
    int64_t correlation; /* correlation of the call that recorded the event */
};

struct range_fields {    /* NVTX ranges and PyTorch's operators */
    int64_t open_at_end; /* 1: the program did not end the range */
    uint32_t domain;
};

struct operator_fields {
    int64_t sequence;
    int64_t forward_thread; /* above 0 in the backward pass */
    uint32_t shapes;        /* shapes of its inputs, written by shapes_read() */
};

struct memory_fields { /* allocations and releases, PyTorch's too */
    int64_t address;
    int64_t held; /* bytes that the process held when an allocation was refused */
    int64_t total_allocated, total_reserved, device_type; /* arguments of PyTorch's "[memory]" */
    uint32_t kind, held_by_kind, fault;
};

struct compilation_fields {
    int64_t cache_hit; /* 1: the code was in the cache, 0: it was not */
    uint32_t function; /* the API function that was called */
    uint32_t ending;   /* how the phase ended, if no call's return ended it */
};

struct state_fields { /* times in which a thread was off the processor */
    int64_t waker;    /* the thread that woke it up */
};

struct communication_fields { /* calls that communicate, and their kernels, also those in flight */
    uint32_t collective;      /* "AllReduce", "allreduce", "Send" */
    uint32_t communicator;    /* id of the group of ranks, equal on all of them */
    uint32_t group_ranks;     /* "[0, 1, 2]": the group's ranks in the job */
    uint32_t dtype;           /* PyTorch's name of the type, "Float"; "Byte" if only bytes are known */
    int64_t group_size, group_rank;
    int64_t group_sequence; /* number of the operation in its communicator; equal on all ranks */
    int64_t in_elements, out_elements;
    int64_t peer;       /* root of the collective, or the other rank of a send or receive */
    int64_t group_call; /* shared by a kernel and all the calls that the kernel carries out */
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
    char phase;               /* "ph": 'X', 'i', 'b', 'e', 'C', 'M', 's', 'f' …; 0: no phase */
    uint8_t category;         /* "cat": enum category; set by event_begin() and event_set_category() */
    uint32_t name;            /* "name" */
    uint32_t label;           /* args.name or args.labels of metadata, args.reason of moving managed memory,
                                 "cat" of a slice of CATEGORY_OTHER */
    event_id process, thread; /* "pid", "tid"; the number 0 if missing */
    event_id id;              /* "id" of asynchronous ranges and flows; EVENT_NO_ID: none */
    int64_t start;            /* "ts" */
    int64_t duration;         /* "dur"; never negative */
    /* arguments that several kinds have: */
    int64_t correlation, device;
    int64_t stack;        /* number of a call stack */
    int64_t of_thread;    /* thread that the event belongs to, if its row is not that thread's */
    int64_t bytes;        /* size of a copy, set, allocation or migration; value of a counter */
    int64_t return_value; /* result of an API call, memory operation or compilation; 0 is success */
    /* fields of one kind: */
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

/* Readers reject times beyond 146 years, so that the difference of two always fits in an int64_t, with room to
 * spare. */
#define EVENT_TIME_LIMIT (INT64_MAX / 2 - 256)

/* Returns the ns between two times; 0 if one of them is absent. */
static inline int64_t event_time_between(int64_t from, int64_t to)
{
    return from == FIELD_ABSENT || to == FIELD_ABSENT ? 0 : to - from;
}

enum field_type { FIELD_NONE, FIELD_NUMBER, FIELD_TEXT, FIELD_TRIPLE, FIELD_SHAPES };

/* The field that the analysis keeps an argument in. */
struct arg_field {
    enum field_type type;
    size_t offset;       /* in struct event_fields */
    unsigned categories; /* CATEGORY_BIT() of each category that has the argument */
};
extern const struct arg_field arg_fields[ARG_KEY_COUNT];

/* Returns the field of the argument called NAME, or NULL if the analysis does not keep that argument for CATEGORY. */
const struct arg_field *arg_field_find(const char *name, size_t length, enum category category);

/* How the events of a category are stored. */
struct event_layout {
    size_t size;                 /* bytes in use, a multiple of 8: the category has no fields beyond them */
    struct event_fields nothing; /* an event with all fields absent */
};
extern struct event_layout event_layouts[CATEGORY_COUNT]; /* set before main() */

/* Returns how many bytes of EVENT are in use. */
static inline size_t event_size(const struct event_fields *event)
{
    return event_layouts[event->category].size;
}

/* Returns the event after EVENT in memory that holds event_size() bytes of each event. */
static inline const struct event_fields *event_after(const struct event_fields *event)
{
    return (const struct event_fields *)(const void *)((const char *)event + event_size(event));
}

/* Copies the bytes in use, in two parts for speed: the first has a constant size, and the second is mostly empty. */
static inline void event_copy(struct event_fields *event, const struct event_fields *from)
{
    size_t size = event_size(from), common = offsetof(struct event_fields, of);
    memcpy(event, from, common);
    if (size > common)
        memcpy(&event->of, &from->of, size - common);
}

/* Sets EVENT to an event of CATEGORY with all fields absent. */
static inline void event_begin(struct event_fields *event, enum category category)
{
    event_copy(event, &event_layouts[category].nothing);
}

/* Changes the category of EVENT, and resets its fields of a kind. */
void event_set_category(struct event_fields *event, enum category category);

/* Copies the fields that are absent in EVENT from FROM, except those that every event has: name, row and times. */
void event_complete(struct event_fields *event, const struct event_fields *from);

/* Replaces the number N of each of the event's texts by NUMBERS[N]. */
void event_translate(struct event_fields *event, const uint32_t *numbers);

/* event_kernel() and its like return the fields of a kind, absent if EVENT is of another kind. */
#define KIND(name, categories)                                                               \
    static inline const struct name##_fields *event_##name(const struct event_fields *event) \
    {                                                                                        \
        if (__builtin_expect(category_in(event->category, categories), true))                \
            return &event->of.name;                                                          \
        return &event_layouts[__builtin_ctz(categories)].nothing.of.name;                    \
    }
EVENT_KINDS(KIND)
#undef KIND

/* Whether EVENT is in an extra row of its thread, which gputrace makes for slices that do not nest. */
static inline bool trace_in_extra_row(const struct event_fields *event)
{
    return !event_id_is_text(event->thread) && event_id_value(event->thread) >= TRACKS_EXTRA_TID;
}

/* Returns the device whose row has the pid PROCESS (see trace/tracks.h), or FIELD_ABSENT if the pid is a text. */
static inline int64_t trace_row_device(event_id process)
{
    int64_t pid = event_id_value(process);
    if (event_id_is_text(process))
        return FIELD_ABSENT;
    return pid >= TRACKS_GPU_PID ? pid % TRACKS_GPU_DEVICES : pid;
}

/* Returns the event's device: its argument, else its row's device. Returns FIELD_ABSENT if there is neither. */
static inline int64_t trace_event_device(const struct event_fields *event)
{
    return event->device != FIELD_ABSENT ? event->device : trace_row_device(event->process);
}

/* Returns the stream of a GPU's event: its argument, else its row's number. Returns FIELD_ABSENT if there is
 * neither. */
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

/* JSON's numbers are read as doubles, which hold integers up to this limit. Larger arguments are absent, so that sizes
 * can be multiplied by small numbers, and the difference of two numbers always fits. */
#define EVENT_NUMBER_LIMIT (INT64_C(1) << 53)

/* Return VALUE, rounded, or OTHERWISE if it exceeds EVENT_NUMBER_LIMIT. */
int64_t event_unsigned(uint64_t value, int64_t otherwise);
int64_t event_signed(int64_t value, int64_t otherwise);
int64_t event_real(double value, int64_t otherwise);
/* Returns the number in a text such as "17", "0x7f00" or "cuda:1", or OTHERWISE if the text has none. */
int64_t event_number_of_text(const char *text, size_t length, int64_t otherwise);

/* Sets *NUMBER to the value of ARG if that is a number. Returns false if the value must first be written as JSON. */
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

/* Shapes of an operator's inputs: PyTorch's argument "Input Dims", an array of arrays of numbers, as one text. The text
 * is the argument's JSON without white space, "[[8,128],[50257,768],[]]". An input that is a list of tensors is an
 * array of such arrays. */
#define SHAPES_MOST 512 /* bytes; a longer text is cut and ends with SHAPES_CUT */
#define SHAPES_CUT "…"

struct shapes_text {
    size_t length;
    bool cut;
    char text[SHAPES_MOST + sizeof(SHAPES_CUT)]; /* without a final NUL */
};

/* Reads the JSON array of arrays and numbers at the start of TEXT. Returns its length in TEXT, or 0 if it has other
 * values, is nested too deep or does not end. SHAPES is changed even if 0 is returned. */
size_t shapes_read(const char *text, size_t length, struct shapes_text *shapes);

#endif
