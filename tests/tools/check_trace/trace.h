/*
 * What is kept of a trace while it is read, and the rules that are checked on it.
 *
 * Rules that one event can break are checked as it is read (event.c, arguments.c). Rules about several events are
 * checked at the end: rows.c (nesting, flows, asynchronous ranges, names of rows), metadata.c (what stands before the
 * events), allocations.c (what is allocated and freed). tally.c counts what happened,
 * statement.c compares the counts with a program's statement.
 */
#ifndef CHECK_TRACE_TRACE_H
#define CHECK_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "check_trace/json.h"
#include "check_trace/names.h"

/* Categories whose events have rules of their own. */
enum category {
    CATEGORY_OTHER,
    CATEGORY_KERNEL,
    CATEGORY_MEMCPY,
    CATEGORY_MEMSET,
    CATEGORY_GRAPH,
    CATEGORY_RUNTIME,
    CATEGORY_DRIVER,
    CATEGORY_SYNC,
    CATEGORY_ANNOTATION,
    CATEGORY_GPU_ANNOTATION,
    CATEGORY_COMPILATION,
    CATEGORY_PLUGIN,
    CATEGORY_MEMORY,
    CATEGORY_OPERATOR,
    CATEGORY_COUNT
};
enum category category_of(const char *cat);

static inline bool category_is_work(enum category category)
{
    return category >= CATEGORY_KERNEL && category <= CATEGORY_GRAPH;
}

static inline bool category_is_api(enum category category)
{
    return category == CATEGORY_RUNTIME || category == CATEGORY_DRIVER;
}

#define TRACE_NOTHING UINT32_MAX

/* An X event. */
struct slice {
    int64_t start, end;   /* ns */
    uint32_t row;         /* number in trace.rows */
    uint32_t number;      /* of the event in the file, from 1 */
    uint32_t name;        /* number in trace.texts */
    uint32_t correlation; /* TRACE_NOTHING: none */
    uint8_t category;
    bool has_flow;
};

/* One end of a flow (s, f) or of an asynchronous range (b, e). */
struct end {
    int64_t time;
    uint32_t key; /* number in trace.texts of category and id (of b and e: and the name) */
    uint32_t row;
    uint32_t number;
    uint32_t slice; /* of flows: the slice it is bound to, index; TRACE_NOTHING: none */
    char phase;
    bool autograd; /* a flow from the forward to the backward pass, between operators */
};

/* A value of a counter. */
struct sample {
    int64_t time;
    double value;
    uint32_t counter; /* number in trace.texts of pid, name and series */
    uint32_t number;
};

struct row {
    int64_t pid, tid;
};

struct count {
    uint64_t events, bytes;
};

/* What is allocated at an address. */
struct place {
    uint64_t live, bytes;
    uint32_t kind; /* number in trace.texts */
};

struct trace {
    const char *path;
    bool kineto, strict;
    bool queries; /* API calls that only ask were recorded */
    uint64_t problems;
    uint32_t events; /* read so far: the number of the one at hand */
    uint64_t line;   /* where it ends in the file */
    struct names texts;
    struct names rows;                   /* struct row as bytes */
    struct names named_pids, named_rows; /* with a process_name, a thread_name */
    struct names titles;                 /* all names of processes and threads */
    struct names used_streams, used_devices, used_pids, api_rows, row_streams;
    struct names keys; /* what counts are of: "kernel add" */
    struct count *counts;
    size_t counts_capacity;
    struct names addresses; /* "pid address" */
    struct place *places;   /* of each of them */
    size_t places_capacity;
    struct names stacks; /* numbers of call stacks in the metadata */
    struct names stated; /* losses in the statement: "loss in_flight" */
    struct names rules;  /* rules that were broken */
    struct count *broken;
    size_t broken_capacity;
#define TRACE_LIST(type, name) \
    struct type *name;         \
    size_t name##_count, name##_capacity
    TRACE_LIST(slice, slices);
    TRACE_LIST(end, flows);
    TRACE_LIST(end, ranges);
    TRACE_LIST(sample, samples);
#undef TRACE_LIST
};

/* Reads the whole file and checks every rule; problems are printed to stderr and counted. */
void trace_read(struct trace *trace, struct json_reader *reader);
void trace_release(struct trace *trace);

/* Counts a problem and prints the first few of each RULE, a word. NUMBER is the event's, 0: not of one event. */
void problem(struct trace *trace, uint32_t number, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* event.c: one element of traceEvents. */
void trace_event(struct trace *trace, const struct json *event);

/* arguments.c: what `args` must hold in each category. */
void trace_arguments(struct trace *trace, const struct json *event, enum category category);

/* metadata.c: a member of the outermost object; and, at the end, what was missing there. */
void trace_metadata(struct trace *trace, const struct json *member);
void trace_metadata_end(struct trace *trace, const struct names *seen);

/* rows.c */
void trace_rows(struct trace *trace);

/* tally.c: adds to the count of a key, made with printf. */
void tally(struct trace *trace, uint64_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
void tally_count(struct trace *trace, uint64_t events, const char *format, ...) __attribute__((format(printf, 3, 4)));
const struct count *tally_of(const struct trace *trace, const char *key);
/* The member "bytes", 0 without one. */
uint64_t bytes_of(const struct json *args);
void tally_slice(struct trace *trace, const struct json *event, enum category category);
void tally_nvtx(struct trace *trace, const struct json *event, const char *what, const char *total);
/* TEXT in quotes, as words of a statement are. */
void tally_quote(char *out, size_t capacity, const char *text);
/* A number in its shortest form. */
void tally_number_words(char *out, size_t capacity, const char *text);
/* nvtx.c: `nvtx WHAT "NAME" arg "PATH" VALUE` for each value in payloads; `nvtx memory "WORDS"` and its arguments.
 */
void tally_payload(struct trace *trace, const struct json *args, const char *what, const struct json *name);
void tally_nvtx_memory(struct trace *trace, const struct json *event);
/* `plugin WHAT "NAME"` */
void tally_plugin(struct trace *trace, const struct json *event, const char *what);
/* Counts that are known at the end alone. */
void tally_end(struct trace *trace);
void tally_print(const struct trace *trace);

/* nvtx.c: "nvtx_resources" of the metadata (NULL: there are none); `WHAT "NAME"` of an event that has the ARGUMENT. */
void trace_nvtx_resources(struct trace *trace, const struct json *resources);
void tally_event_name(struct trace *trace, const struct json *event, const char *argument, const char *what);

/* metadata.c: after the statement. What may not be lost is what it does not state. */
void trace_losses(struct trace *trace);

/* allocations.c: an instant of category "memory"; after the last; the metadata's "stackFrames". */
void trace_memory_event(struct trace *trace, const struct json *event);
void trace_memory_end(struct trace *trace);
void trace_stack_frames(struct trace *trace, const struct json *frames);
/* The same: the stack of an event, if it has one. */
void trace_stack(struct trace *trace, const struct json *event);

/* statement.c: compares with the "expect" lines of the file; differences are problems. Gives -1 when it cannot be read.
 */
int trace_statement(struct trace *trace, const char *path);

#endif
