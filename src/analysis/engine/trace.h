/* struct trace has all that was read of a trace. trace_reader.h fills it, trace_known.h looks things up and names them,
 * trace_stacks.h has the call stacks. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TRACE_H
#define GPUTRACE_ANALYSIS_ENGINE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "common/settings.h"
#include "analysis/base/busy.h"
#include "analysis/engine/errors.h"
#include "trace/event_fields.h"
#include "trace/selection.h"
#include "analysis/engine/host_samples.h"
#include "analysis/names/pretty_names.h"
#include "analysis/engine/autograd.h"
#include "analysis/engine/ranges.h"
#include "analysis/engine/timeline.h"
#include "analysis/base/options.h"
#include "common/sorter.h"

/* Groups of bits of --trace. */
#define TRACE_GPU_WORK (TRACE_KERNEL | TRACE_MEMCPY | TRACE_MEMSET)
#define TRACE_API (TRACE_RUNTIME | TRACE_DRIVER)

/* Returns the thread of EVENT. An event in an extra row names its thread in a field. */
static inline event_id trace_thread_of(const struct event_fields *event)
{
    bool named = event->of_thread != FIELD_ABSENT && trace_in_extra_row(event);
    return named ? event_id_number(event->of_thread) : event->thread;
}

#define TRACE_APART 64 /* bytes of a cache line */

/* The state of the host's clock at the beginning of the run, as its system reported it. FIELD_ABSENT: not known. */
struct trace_clock {
    int64_t synchronised; /* 1: by NTP or PTP; 0: not synchronised */
    int64_t error_us;     /* the largest error of the clock, µs */
};

/* The members of struct trace that sections read; others need not be filled. */
struct trace_wanted {
    bool ranges, operators, host_frames;
    bool calls, gpu_ops;         /* also set for sections with gpu_op(), launched_ops or timeline */
    bool launched_ops, timeline; /* launched_ops are only filled if there are ranges or captures */
    bool host_calls;
    bool stacks;        /* call stacks; also set with heap or samples */
    bool heap, samples; /* samples include states */
};

struct trace {
    const struct report_options *options;
    const void *const *states; /* of the sections, by enum report_section; NULL: not wanted or needed */
    struct interner strings;

    struct trace_wanted wanted;
    int64_t base;              /* time 0 of the trace: ns since 1970; 0: not known */
    int64_t start, end;        /* of all events that take or mark time, ns; set by trace_finish() */
    bool any;                  /* an event takes or marks time */
    struct trace_times window; /* of a filter, if any: the trace begins and ends with it, or ends later */

    /* trace_gpu_op() changes the fields from here on. They share no cache line with those of trace_event(), which runs
     * in another thread. */
    _Alignas(TRACE_APART) struct trace_times gpu_op_times;
    struct dense_map stream_ids; /* struct trace_stream_id -> streams */
    ARRAY(struct trace_stream) streams;
    struct dense_map device_ids; /* int64_t -> devices */
    ARRAY(struct trace_device) devices;
    struct sorter gpu_ops;
    struct busy busy;         /* busy times of streams, by index in `streams` */
    struct captured captured; /* of gpu_ops, if launched_ops or operators are wanted */
    struct pretty_names pretty_names;

    /* trace_event() changes the fields from here on. */
    _Alignas(TRACE_APART) struct trace_times times;
    uint64_t counts[CATEGORY_COUNT]; /* slices; IN_FLIGHT: instants; GPU operations: set by trace_finish() */
    uint64_t marks, async_ranges;
    uint64_t events; /* that take or mark time, without GPU operations */
    struct dense_map kind_ids;
    ARRAY(uint64_t) kinds;      /* numbers of slices of CATEGORY_OTHER by name of the category (EVENT_NO_TEXT: none) */
    struct errors failed_calls; /* of the API */
    struct failures failures;   /* failed_calls by function and error */
    struct pretty_names names_in_flight;    /* of GPU operations that had not finished */
    event_id recent_process, recent_thread; /* of the last event of a host thread */
    uint32_t recent_index;                  /* index + 1 of its thread */
    struct dense_map process_ids;           /* event_id -> processes */
    ARRAY(struct trace_process) processes;
    struct dense_map thread_ids; /* struct trace_thread_id -> threads */
    ARRAY(struct trace_thread) threads;
    struct sorter calls;
    struct sorter host_calls; /* struct host_call: all API calls */
    struct call_kinds call_kinds;
    struct ranges ranges;
    struct ranges operators;     /* of PyTorch */
    struct sorter timeline;      /* struct timeline_op; after trace_finish() */
    struct ranges host_frames;   /* ranges, operators and Python functions, which nest with each other */
    struct sorter launched_ops;  /* after trace_finish(), if trace_has_ranges() or host_frames are wanted */
    struct autograd autograd;    /* for launched_ops */
    struct host_samples samples; /* samples of processors, and states of threads */
    struct busy compiling;       /* phases of compilation of all threads and processes, as one thing */

    _Alignas(TRACE_APART) struct sorter_space own_space;
    struct sorter_space *space; /* own_space, for all sorters; so a trace must not be moved */
    struct busy_sum compiled;   /* after trace_finish() */
    ARRAY(uint32_t)
    shown_names; /* by the number of a kernel's name: number + 1 of the shown name; 0: not known */

    /* Metadata. Texts are numbers in `strings`; EVENT_NO_TEXT: not known */
    bool without_queries; /* API calls that are queries were not recorded */
    bool is_cut;          /* the trace was cut from another trace */
    uint64_t unrecorded;  /* bits of enum trace_bits (common/record_kinds.h) that --trace left out; 0: not known */
    uint32_t program, version, host, ending;
    bool kineto;         /* PyTorch's profiler wrote it, or gputrace, if `version` is set */
    uint32_t first_call; /* the name of the first API call; EVENT_NO_TEXT: there is none */
    struct trace_clock clock;
    uint32_t missed; /* a warning about something that was requested and could not be recorded */
    bool losses_known;
    ARRAY(struct trace_loss) losses;   /* those with a count above 0 */
    ARRAY(struct trace_crash) crashes; /* of processes that did not end by exit() */
    ARRAY(struct trace_open_call) open_calls;
    ARRAY(struct trace_plugin) plugins;
    ARRAY(struct trace_plugin_line) plugin_lines; /* the lines of the first plugin, then of the second, … */

    /* Call stacks that events refer to (trace_stacks.h) */
    ARRAY(struct trace_frame) frames;
    struct map stack_of_number;    /* number of a stack -> index + 1 in `frames` of its innermost frame */
    struct map stack_operators;    /* for trace_stack_operator(): stack -> text + 1 of the operator; 0: several */
    struct ranges python;          /* functions of Python, if the profiler recorded them (trace_stacks.h) */
    struct dense_map python_calls; /* struct python_call -> python_sums; only for stacks of Python */
    ARRAY(struct python_sum) python_sums;
    struct heap *heap; /* allocated memory; NULL: no section needs it */

    /* The process and device of each GPU row. Only in traces of gputrace in which several processes use one GPU. */
    ARRAY(struct trace_gpu_row) gpu_rows;
    struct map gpu_row_numbers;         /* id of a row -> index + 1 of its first entry in gpu_rows */
    struct stream_owners stream_owners; /* after trace_finish() */
    ARRAY(struct trace_rank) ranks;
    struct map rank_numbers;                 /* process -> index + 1 of its first rank; EVENT_NO_ID -> of the last */
    ARRAY(struct trace_pool) pools;          /* of stream-ordered memory */
    const struct selected_number *only_rank; /* other ranks are ignored when metadata is read; NULL: all are read */
    size_t host_processes;                   /* processes with slices on threads; after trace_finish() */
};

struct trace_process {
    uint32_t name, label; /* EVENT_NO_TEXT: none */
    bool host;            /* has slices on threads */
    bool calls;           /* has calls of CUDA */
};

struct trace_thread_id {
    event_id process, thread;
};
struct trace_thread {
    uint32_t process; /* index */
    uint32_t name;
    bool host; /* it has slices, and is neither the row of a stream nor an extra row of a thread */
};

struct trace_stream_id {
    event_id process; /* id of the GPU row, or 0 */
    int64_t device, context, stream;
};
struct trace_stream {
    uint64_t gpu_ops[CATEGORY_GPU_GRAPH + 1]; /* by category */
    int64_t first, last;                      /* start of the first, end of the last operation */
    uint32_t device;                          /* index */
    struct busy_sum busy;                     /* after the last tasks */
};

struct trace_device {
    uint32_t name;        /* EVENT_NO_TEXT: not known */
    bool used;            /* something ran on it */
    struct busy_sum busy; /* after the last tasks */
    /* From the metadata; 0 or less: not known. Threads, registers and shared_bytes are of each multiprocessor. */
    int64_t multiprocessors, threads, registers, shared_bytes;
    int64_t major, minor; /* compute capability */
};

struct trace_pool {
    event_id process;
    int64_t device;
    int64_t reserved_peak, used_peak; /* bytes; FIELD_ABSENT: not known */
};

/* A process that is a rank of a job. Ranks on one host share a clock. */
struct trace_rank {
    event_id process;                     /* EVENT_NO_ID: the whole trace */
    int64_t rank, local_rank, world_size; /* FIELD_ABSENT: not known */
    uint32_t host;                        /* name of its host; EVENT_NO_TEXT: the host of the trace */
};

struct trace_loss {
    uint32_t name;
    int64_t count;
};

/* A plugin of one process that registered callbacks and printed lines. */
struct trace_plugin {
    uint32_t name;
    int64_t pid, calls, ns; /* FIELD_ABSENT: not known */
    size_t lines;           /* number of its lines in plugin_lines, which are in the same order */
};

struct trace_plugin_line {
    uint32_t text, stack; /* EVENT_NO_TEXT: none; the stack's frames from the innermost on, separated by " < " */
};

/* A process that did not run its exit handlers. */
struct trace_crash {
    int64_t pid, signal, thread, sender, time; /* FIELD_ABSENT: not known */
    int64_t alive;                             /* the last time at which it was known to be alive, ns */
    int64_t stack;                             /* of the thread */
    uint32_t state, words, address;            /* EVENT_NO_TEXT: not known */
    uint32_t place;                            /* the line of the program in which the thread was */
};

/* A call that had not returned when its process ended. */
struct trace_open_call {
    int64_t pid, thread, stream, time;
    uint32_t function, waits_for, handle;
};

/* A node of the tree of stacks: a frame of all stacks in which it has the same callers. */
struct trace_frame {
    uint32_t words;    /* function, file and line, with calls that were inlined */
    uint32_t place;    /* function, file without folders, and line */
    uint32_t name;     /* the function, or the module and offset */
    uint32_t function; /* the function. This, file and module: EVENT_NO_TEXT: not known */
    uint32_t file;
    uint32_t module; /* path of the library */
    uint32_t parent; /* index + 1 of the frame that called it; 0: none */
    uint8_t owner;   /* enum frame_owner */
};

struct python_call {
    uint64_t name; /* of a call, or of a GPU operation */
    int64_t stack;
};
struct python_sum {
    int64_t ns, count; /* ns of the calls */
};

/* Whether the trace has ranges, or GPU operations that were captured in ranges. */
static inline bool trace_has_ranges(const struct trace *trace)
{
    return trace->ranges.count > 0 || trace->captured.paths.count > 0;
}

static inline int64_t trace_span(const struct trace *trace)
{
    return trace->any ? trace->end - trace->start : 0;
}

static inline const struct trace_stream_id *trace_stream_id(const struct trace *trace, size_t stream)
{
    return dense_map_row(&trace->stream_ids, stream);
}
static inline int64_t trace_device_id(const struct trace *trace, size_t device)
{
    return *(const int64_t *)dense_map_row(&trace->device_ids, device);
}

/* Returns the number of the text that is shown in place of TEXT: if TEXT is the name of a kernel and --names=pretty is
 * used, its pretty form. May be called after the last event. */
static inline uint32_t trace_shown(const struct trace *trace, uint32_t text)
{
    return text == EVENT_NO_TEXT ? text : pretty_names_shown(&trace->pretty_names, text);
}

/* Returns a text of trace.strings; "" for EVENT_NO_TEXT. */
static inline const char *trace_text(const struct trace *trace, uint32_t text)
{
    return text == EVENT_NO_TEXT ? "" : interned(&trace->strings, text);
}

/* Whether EVENT is a phase of compilation, or a range of XLA around the compilation of a module. */
static inline bool trace_compiles(const struct trace *trace, const struct event_fields *event)
{
    bool range = event->category == CATEGORY_USER_ANNOTATION;
    return event->category == CATEGORY_COMPILATION ||
           (range && strncmp(trace_text(trace, event->name), "XlaCompile:", strlen("XlaCompile:")) == 0);
}

struct cJSON;

/* Reads the metadata VALUE of KEY. Returns 0, or -1: no memory. */
int trace_metadata(struct trace *trace, const char *key, const struct cJSON *value);
/* Writes the words of --trace for BITS, "kernel, memset", into the SIZE bytes of TEXT. */
void trace_bit_words(uint64_t bits, char *text, size_t size);

#endif
