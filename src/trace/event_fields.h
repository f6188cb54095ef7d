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

#include "trace/event.h"

/* The analysis does not distinguish these. */
#define CATEGORIES_OTHER                                                                                 \
    (CATEGORY_BIT(CATEGORY_OTHER) | CATEGORY_BIT(CATEGORY_CUDA_EVENT) | CATEGORY_BIT(CATEGORY_CAPTURE) | \
     CATEGORY_BIT(CATEGORY_NVTX_MEMORY))

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

/* Fields that most events have come first: an event is copied only up to the last field that is set. */
struct event_fields {
    char phase;               /* "ph": 'X', 'i', 'b', 'e', 'C', 'M', 's', 'f' …; 0: none */
    uint8_t category;         /* "cat": enum category */
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
    union {
        int64_t bytes;     /* of a copy, set, allocation; of a counter, its value */
        int64_t registers; /* of a kernel, for each thread */
    };
    union {
        int64_t return_value; /* of an API call or memory operation: 0 is success */
        int64_t shared_bytes; /* of a kernel, for each block */
    };
    event_id id; /* "id" of asynchronous ranges and flows; EVENT_NO_ID: none */
    int64_t wait_on_stream, wait_on_event;
    int64_t wait_on_correlation; /* of the call that recorded the event */
    int64_t address;             /* of an allocation or release */
    union {
        int64_t held;  /* likewise */
        int64_t waker; /* of a THREAD_STATE: the thread that ended it */
    };
    int64_t stack;                                        /* of an allocation or release, a sample, a state */
    int64_t total_allocated, total_reserved, device_type; /* of PyTorch's "[memory]" */
    int64_t open_at_end;                                  /* 1: a range that the program did not end */
    int64_t cache_hit; /* of a compilation: 1 it was found in the cache, 0 it was not */
    int64_t of_thread; /* whose it is, where the row is not the thread's */
    uint32_t mangled_name;
    uint32_t domain;
    union {
        uint32_t memory_kind;
        uint32_t shapes;      /* of a CPU_OP: those of its inputs, as trace/shapes.h has them */
        uint32_t captured_in; /* of a GPU operation that a graph replays */
    };
    union {
        uint32_t fault;
        uint32_t forward_at; /* of a GPU operation of the backward pass: the line of its forward operator */
    };
    union {
        uint32_t held_by_kind;
        uint32_t in_operator; /* of a GPU operation whose call stack has no line: the operator that launched it */
    };
    uint32_t function; /* that was called */
    union {
        uint32_t ending;      /* how a phase ended, when not by the return of a call */
        uint32_t backward_at; /* of a GPU operation of the backward pass: the line that called this */
    };
    uint32_t label; /* args.name or args.labels of a metadata event; args.reason of managed memory that moves; "cat" of
                       a slice of CATEGORY_OTHER */
    /* Of communication: of the call, of its kernel, and of one in flight. */
    uint32_t collective;   /* "AllReduce", "allreduce", "Send" */
    uint32_t communicator; /* the group of ranks: the same text on all of them */
    uint32_t group_ranks;  /* "[0, 1, 2]": of the job */
    uint32_t dtype;        /* "Float", as PyTorch calls it; "Byte" where only bytes are known */
    int64_t group_size, group_rank;
    int64_t group_sequence; /* of this communicator, the same number on all ranks */
    int64_t in_elements, out_elements;
    int64_t peer;       /* the root, or the other rank of a send or receive */
    int64_t group_call; /* calls of a process that one kernel does, and the kernel, have the same number */
};

/* A time beyond 146 years is not accepted, so that the difference of two always fits, with a little to spare. */
#define EVENT_TIME_LIMIT (INT64_MAX / 2 - 256)

/* From one time to another, ns; 0 if one of them is not known. */
static inline int64_t event_time_between(int64_t from, int64_t to)
{
    return from == FIELD_ABSENT || to == FIELD_ABSENT ? 0 : to - from;
}

/* The extent of an event whose last field FIELD is. */
#define FIELD_EXTENT(field) \
    ((offsetof(struct event_fields, field) + sizeof(((struct event_fields *)0)->field) + 7) / 8 * 8)

enum field_type { FIELD_NONE, FIELD_NUMBER, FIELD_TEXT, FIELD_TRIPLE, FIELD_SHAPES };

/* What the analysis keeps of an argument. */
struct arg_field {
    enum field_type type;
    uint32_t extent;     /* of an event whose last field it is */
    size_t offset;       /* in struct event_fields */
    unsigned categories; /* CATEGORY_BIT() of those that have the argument */
};
extern const struct arg_field arg_fields[ARG_KEY_COUNT];

/* The field of the argument of this name; NULL: the analysis does not keep it of events of CATEGORY. */
const struct arg_field *arg_field_find(const char *name, size_t length, enum category category);

/* An event without any field. Its extent is that of the struct, so that fields may be set in any order. */
extern const struct event_fields event_nothing;

/* Sets the extent to the end of the last field that is set. */
void event_find_extent(struct event_fields *event);
/* Makes EVENT a copy of the event whose first EXTENT bytes are BYTES, or of FROM. EVENT is another event before, or
 * event_nothing: only the fields that it has are reset. */
void event_put(struct event_fields *event, const char *bytes, size_t extent);
void event_copy(struct event_fields *event, const struct event_fields *from);

/* Sets each of the event's texts, number N, NUMBERS[N]. */
void event_translate(struct event_fields *event, const uint32_t *numbers);

/* JSON's numbers are read as doubles, which hold integers up to here. A larger argument is not known, so that sizes can
 * be multiplied by small numbers, and the difference of two numbers always fits. */
#define EVENT_NUMBER_LIMIT (INT64_C(1) << 53)

/* A number as a reader of JSON has it; OTHERWISE when it is too large. */
int64_t event_unsigned(uint64_t value, int64_t otherwise);
int64_t event_signed(int64_t value, int64_t otherwise);
int64_t event_real(double value, int64_t otherwise);
/* The number that a text is, "17" or "0x7f00"; OTHERWISE when it is not one. */
int64_t event_number_of_text(const char *text, size_t length, int64_t otherwise);

#endif
