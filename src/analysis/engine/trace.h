/*
 * One trace as far as it was read: what every section may want to know of it.
 */
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
#include "analysis/engine/captured.h"
#include "analysis/engine/errors.h"
#include "analysis/base/tasks.h"
#include "trace/event_fields.h"
#include "analysis/engine/gpu_ops.h"
#include "analysis/engine/host_samples.h"
#include "analysis/names/pretty_names.h"
#include "common/dense_map.h"
#include "analysis/engine/ranges.h"
#include "analysis/engine/timeline.h"
#include "analysis/base/options.h"
#include "common/sorter.h"

struct cJSON;

/* Bits of --trace that belong together. */
#define TRACE_GPU_WORK (TRACE_KERNEL | TRACE_MEMCPY | TRACE_MEMSET)
#define TRACE_API (TRACE_RUNTIME | TRACE_DRIVER)

/* Rows of threads beyond the first, which gputrace makes for slices that do not nest, have tids from here up. */
#define TRACE_EXTRA_TID INT64_C(0x20000000)

static inline bool trace_in_extra_row(const struct event_fields *event)
{
    return !event_id_is_text(event->thread) && event_id_value(event->thread) >= TRACE_EXTRA_TID;
}

/* The thread whose EVENT is: an event in an extra row names it. */
static inline event_id trace_thread_of(const struct event_fields *event)
{
    bool named = event->of_thread != FIELD_ABSENT && trace_in_extra_row(event);
    return named ? event_id_number(event->of_thread) : event->thread;
}

#define TRACE_APART 64 /* bytes that processors share: a line of their caches */

struct trace_times {
    int64_t first, last;
    bool any;
};

static inline void trace_times_widen(struct trace_times *times, int64_t first, int64_t last)
{
    times->first = !times->any || first < times->first ? first : times->first;
    times->last = !times->any || last > times->last ? last : times->last;
    times->any = true;
}

/* What the system of the host said of its clock when the run began. FIELD_ABSENT: not known. */
struct trace_clock {
    int64_t synchronised; /* 1: by NTP or PTP, 0: it is not */
    int64_t error_us;     /* it is wrong by at most this, as the system says */
};

/* What somebody looks at of a trace, by the names of its members. */
struct trace_wanted {
    bool ranges, operators, host_frames;
    bool calls, gpu_ops;         /* sections with gpu_op() get them without asking, as do those that look at … */
    bool launched_ops, timeline; /* … these; where there are no ranges or captures, launched_ops are not made */
    bool host_calls;
    bool stacks;        /* call stacks: who looks at one of the next gets them without asking */
    bool heap, samples; /* samples: with their stacks */
};

struct trace {
    const struct report_options *options;
    const void *const *states; /* of the sections, by enum report_section; NULL: neither wanted nor needed */
    struct interner strings;

    struct trace_wanted wanted;
    int64_t base;              /* of its times: ns since 1970; 0: not known */
    int64_t start, end;        /* of all events that take or mark time; after trace_finish() */
    bool any;                  /* there was one */
    struct trace_times window; /* if there is one, the trace begins and ends with it, or with what ends later */

    /* What trace_gpu_op() changes. Two threads write to nothing that is near. */
    _Alignas(TRACE_APART) struct trace_times gpu_op_times;
    struct dense_map stream_ids; /* struct trace_stream_id -> streams */
    ARRAY(struct trace_stream) streams;
    struct dense_map device_ids; /* int64_t -> devices */
    ARRAY(struct trace_device) devices;
    struct sorter gpu_ops;
    struct busy busy;         /* streams, by their numbers */
    struct captured captured; /* of gpu_ops, if launched_ops or operators are wanted */
    struct pretty_names pretty_names;

    /* What trace_event() does */
    _Alignas(TRACE_APART) struct trace_times times;
    uint64_t counts[CATEGORY_COUNT]; /* slices; of IN_FLIGHT, instants; of GPU operations after trace_finish() */
    uint64_t marks, async_ranges;
    uint64_t events; /* that take or mark time, but those of GPUs */
    struct dense_map kind_ids;
    ARRAY(uint64_t) kinds;      /* slices of CATEGORY_OTHER by the name of their category, EVENT_NO_TEXT: it has none */
    struct errors failed_calls; /* of the API */
    struct failures failures;   /* the same, by function and error */
    struct pretty_names names_in_flight;    /* of GPU operations that had not finished */
    event_id recent_process, recent_thread; /* of the last host event, and its thread's index + 1 */
    uint32_t recent_index;
    struct dense_map process_ids; /* event_id -> processes */
    ARRAY(struct trace_process) processes;
    struct dense_map thread_ids; /* struct trace_thread_id -> threads */
    ARRAY(struct trace_thread) threads;
    struct sorter calls;
    struct sorter host_calls; /* struct host_call: all API calls */
    struct call_kinds call_kinds;
    struct ranges ranges;
    struct ranges operators;     /* PyTorch's, by the same rules */
    struct sorter timeline;      /* struct timeline_op; after trace_finish() */
    struct ranges host_frames;   /* the same with operators and Python functions, which nest with ranges */
    struct sorter launched_ops;  /* after trace_finish(), if trace_has_ranges() or host_frames are wanted */
    struct autograd autograd;    /* for these */
    struct host_samples samples; /* of processors, and states of threads */
    struct busy compiling;       /* phases of compilation, of all threads and processes: one thing */

    _Alignas(TRACE_APART) struct sorter_space own_space;
    struct sorter_space *space;  /* for the sorters of this, and of sections: own_space, as a trace stays where it is */
    struct busy_sum compiled;    /* after trace_finish() */
    ARRAY(uint32_t) shown_names; /* of kernels, by the name's number: the number + 1 of what is shown, 0: not known */

    /* Metadata; texts of `strings`, EVENT_NO_TEXT when not known */
    bool without_queries; /* API calls that only ask were left out */
    bool is_cut;          /* it is a part of a trace */
    uint64_t unrecorded;  /* bits of enum trace_bits (common/settings.h) that --trace left out; 0 when not known */
    uint32_t program, version, host, ending;
    bool kineto;         /* PyTorch's profiler wrote it, or gputrace, which has a version */
    uint32_t first_call; /* the name of the first API call; EVENT_NO_TEXT: there is none */
    struct trace_clock clock;
    uint32_t missed; /* a warning about what the user asked for and the trace does not have */
    bool losses_known;
    ARRAY(struct trace_loss) losses;   /* those that are not 0 */
    ARRAY(struct trace_crash) crashes; /* of processes that did not end by exit */
    ARRAY(struct trace_open_call) open_calls;
    ARRAY(struct trace_plugin) plugins;
    ARRAY(struct trace_plugin_line) plugin_lines; /* of one plugin after another */

    /* Call stacks that events refer to: trace_stacks.c */
    ARRAY(struct trace_frame) frames;
    struct map stack_of_number; /* -> index + 1 in frames of the innermost one */
    struct map stack_operators; /* stack without a line -> text + 1: the operator that launched; 0: there are several */
    struct ranges python;       /* functions of Python, where the profiler recorded them: python_stacks.c */
    struct dense_map python_calls; /* struct python_call: calls and operations with such a stack -> python_sums */
    ARRAY(struct python_sum) python_sums;
    struct heap *heap; /* what is allocated; NULL: no section needs it */

    /* The process and device of a GPU's rows: traces of gputrace have these where several processes use one GPU. */
    ARRAY(struct trace_gpu_row) gpu_rows;
    struct map gpu_row_numbers;         /* row -> index + 1 of the first in gpu_rows */
    struct stream_owners stream_owners; /* after trace_finish() */
    ARRAY(struct trace_rank) ranks;
    struct map rank_numbers;        /* process -> index + 1 in ranks: of the first, of EVENT_NO_ID of the last */
    ARRAY(struct trace_pool) pools; /* of stream-ordered memory */
    const struct selected_number *only_rank; /* ranks that are read from now on, if one is given; NULL: all */
    size_t host_processes;                   /* with slices on threads; after trace_finish() */
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
    bool host; /* a thread with slices, not a stream's row or a further row of a thread */
};

struct trace_stream_id {
    event_id process; /* the GPU row's, or 0 */
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
    /* What the metadata says; not above 0: not known. Of each multiprocessor: */
    int64_t multiprocessors, threads, registers, shared_bytes;
    int64_t major, minor; /* compute capability */
};

struct trace_gpu_row {
    event_id row, process;
    int64_t device;
};

struct trace_pool {
    event_id process;
    int64_t device;
    int64_t reserved_peak, used_peak; /* bytes; FIELD_ABSENT: not known */
};

/* A process that is a rank of a job. Those of one host have one clock. */
struct trace_rank {
    event_id process;                     /* EVENT_NO_ID: all of the trace */
    int64_t rank, local_rank, world_size; /* FIELD_ABSENT: not known */
    uint32_t host;                        /* its name; EVENT_NO_TEXT: that of the trace */
};

struct trace_loss {
    uint32_t name;
    int64_t count;
};

/* A plugin of one process that registered callbacks and printed lines. */
struct trace_plugin {
    uint32_t name;
    int64_t pid, calls, ns; /* FIELD_ABSENT: not known */
    size_t lines;           /* of plugin_lines, in the same order */
};

struct trace_plugin_line {
    uint32_t text, stack; /* EVENT_NO_TEXT: none; the stack's frames from the innermost on, separated by " < " */
};

/* A process that did not run its exit handlers. */
struct trace_crash {
    int64_t pid, signal, thread, sender, time; /* FIELD_ABSENT: not known */
    int64_t alive;                             /* the time at which it is last known to have lived */
    int64_t stack;                             /* of the thread */
    uint32_t state, words, address;            /* EVENT_NO_TEXT: not known */
    uint32_t place;                            /* the line of the program that the thread was in */
};

/* A call that had not returned when its process ended. */
struct trace_open_call {
    int64_t pid, thread, stream, time;
    uint32_t function, waits_for, handle;
};

/* A frame, of all stacks in which it is called by the same one. */
struct trace_frame {
    uint32_t words;    /* function, file and line, with calls that were inlined */
    uint32_t place;    /* the same, the file without its folders */
    uint32_t name;     /* the function */
    uint32_t function; /* the same; EVENT_NO_TEXT: not known, as the next ones may be … */
    uint32_t file;
    uint32_t module; /* … its path */
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

void trace_init(struct trace *trace, const struct report_options *options);
void trace_release(struct trace *trace);

/* These return 0, or -1: no memory. The first two see all events, in one thread each: trace_gpu_op() handles slices
 * of GPU operations, trace_event() everything else. */
int trace_event(struct trace *trace, const struct event_fields *event);
int trace_gpu_op(struct trace *trace, const struct event_fields *event);
/* Part of trace_event(): a CPU_SAMPLE or a THREAD_STATE. */
int trace_sample(struct trace *trace, const struct event_fields *event);
/* Part of trace_gpu_op(): the operator around the launch, for trace_stack_operator(). */
int trace_note_operator(struct trace *trace, const struct event_fields *event);
int trace_metadata(struct trace *trace, const char *key, const struct cJSON *value);
/* All of these for a struct fields_receiver whose context is a trace. Return 0, or -1 after error(). */
int trace_take_event(void *trace, struct event_fields *event);
int trace_take_metadata(void *trace, const char *key, const struct cJSON *value);
/* Writes the words of --trace for BITS, "kernel, memset", into the SIZE bytes of TEXT. */
void trace_bit_words(uint64_t bits, char *text, size_t size);
/* Part of trace_finish(): sets stream_owners. Returns 0, or -1: no memory. */
int trace_own_streams(struct trace *trace);
/* After the last event: sets the trace's start and end, and, in so many threads, makes calls, GPU operations and ranges
 * ready. Returns 0, or -1: no memory. */
int trace_finish(struct trace *trace, unsigned workers);
#define TRACE_LAST_TASKS 2
/* Lists what is left to do after that, while others look at what is ready. Returns the number of tasks. */
size_t trace_last_tasks(struct trace *trace, struct task tasks[TRACE_LAST_TASKS]);

/* TEXT, which is written for traces of gputrace, as it is said of this one: without options of gputrace run and NVTX
 * where another profiler wrote it, and without CUDA where its calls are not CUDA's. */
struct trace_said {
    char text[1024];
};
struct trace_said trace_said(const struct trace *trace, const char *text);

/* Whether ranges are known, or GPU operations that were captured in ranges. */
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

/* The thread of these ids, made when it is new. NULL: no memory. */
struct trace_thread *trace_thread(struct trace *trace, event_id process, event_id thread);

/* The device of number ID, made when it is new. NULL: no memory. */
struct trace_device *trace_device(struct trace *trace, int64_t id);

/* The device that an event is of: its argument's, else its process row's number. FIELD_ABSENT: of none. */
int64_t trace_event_device(const struct event_fields *event);

/* The stream of a GPU's event: its argument's, else its row's number. FIELD_ABSENT: neither is known. */
int64_t trace_event_stream(const struct event_fields *event);

/* Return the new rank and 0, or NULL and -1: no memory. */
struct trace_rank *trace_add_rank(struct trace *trace, event_id process);
int trace_add_gpu_row(struct trace *trace, const struct trace_gpu_row *row);
/* NULL: not known. */
const struct trace_gpu_row *trace_gpu_row(const struct trace *trace, event_id row);
/* The rank that a process is; NULL: none is known. */
const struct trace_rank *trace_rank_of(const struct trace *trace, event_id process);
/* NULL: no event is about it. */
const struct trace_process *trace_process(const struct trace *trace, event_id id);

/* The index of the thread ID of the process, for trace_thread_cell(). FIELD_ABSENT: no event is about it. */
int64_t trace_find_thread(const struct trace *trace, event_id process, int64_t id);

/* The number of the text that people read in place of a text of trace.strings: of a kernel's name its pretty form where
 * --names=pretty shows it. After the last event. */
static inline uint32_t trace_shown(const struct trace *trace, uint32_t text)
{
    return text == EVENT_NO_TEXT ? text : pretty_names_shown(&trace->pretty_names, text);
}

/* A text of trace.strings; "" for EVENT_NO_TEXT. */
static inline const char *trace_text(const struct trace *trace, uint32_t text)
{
    return text == EVENT_NO_TEXT ? "" : interned(&trace->strings, text);
}

/* Whether EVENT is a phase of compilation, or one of XLA's ranges around a module that it compiles. */
static inline bool trace_compiles(const struct trace *trace, const struct event_fields *event)
{
    bool range = event->category == CATEGORY_USER_ANNOTATION;
    return event->category == CATEGORY_COMPILATION ||
           (range && strncmp(trace_text(trace, event->name), "XlaCompile:", strlen("XlaCompile:")) == 0);
}

/* The thread ID that woke a thread of index THREAD: of the same process if there is one, else of another. The result is
 * an index, too; LAUNCHED_NO_THREAD: no event is about it. */
uint32_t trace_find_waker(const struct trace *trace, uint32_t thread, int64_t id);

/* What a thread is called without its number: "python3" of "thread 583 (python3)", LENGTH bytes; "" if it has no name.
 */
const char *trace_thread_comm(const struct trace *trace, uint32_t thread, size_t *length);

struct cell;
struct table;
/* Cells that name something as a user knows it: "thread 583 (python3)", "GPU 0 stream 7". */
struct cell trace_thread_cell(const struct trace *trace, struct table *table, uint32_t thread);
/* The same of the thread ID of a process, which may have no event; empty for FIELD_ABSENT. */
struct cell trace_thread_id_cell(const struct trace *trace, struct table *table, event_id process, int64_t id);
/* "GPU 0 stream 7", or what of it is known. */
#define TRACE_STREAM_WORDS 64
void trace_stream_words(char words[TRACE_STREAM_WORDS], int64_t device, int64_t stream);
struct cell trace_stream_cell(struct table *table, int64_t device, int64_t stream);
struct cell trace_process_cell(const struct trace *trace, struct table *table, event_id process); /* "python3 (583)" */
struct cell trace_text_cell(const struct trace *trace, struct table *table, uint32_t text);

/*
 * Call stacks: trace_stacks.c.
 */

/* Adds a frame without a parent. NULL: no memory. */
struct stack_frame;
struct trace_frame *trace_add_frame(struct trace *trace, const struct stack_frame *frame);
/* Part of trace_finish(), python_stacks.c: gives launched_ops, and calls in python_calls, the stacks of `python`.
 * Returns 0, or -1: no memory, or after error(). */
int trace_place_python(struct trace *trace);
/* "stackFrames", and the lists "frames" and "stacks" of earlier traces. Return 0, or -1: no memory. */
int trace_read_frames(struct trace *trace, const struct cJSON *frames);
int trace_read_stacks(struct trace *trace, const struct cJSON *frames, const struct cJSON *stacks);
/* A list of frames that stands by itself becomes one text, innermost first. Returns 0, or -1: no memory. */
int trace_read_frame_list(struct trace *trace, const struct cJSON *frames, uint32_t *text);
/* Puts at most MOST frames of stack NUMBER into FRAMES, innermost first. Returns how many. */
#define TRACE_STACK_FRAMES 512 /* a tree that was made up may go round in a circle */
size_t trace_stack(const struct trace *trace, int64_t number, const struct trace_frame **frames, size_t most);
/* The operator that launched with a stack that has no line of the program; EVENT_NO_TEXT: none is known, or several
 * did. */
uint32_t trace_stack_operator(const struct trace *trace, int64_t number);
/* The same without those that lie within CUDA, and those that start the program or a thread. */
size_t trace_program_frames(const struct trace *trace, int64_t number, const struct trace_frame **frames, size_t most);
/* The frame that a stack is known by (frames_place()); NULL: the stack is not known. */
const struct trace_frame *trace_stack_place(const struct trace *trace, int64_t number);
/* Of a call stack: where the program asked, "keep (leak.cu:12)"; and all of it. Empty when it is not known. */
struct cell trace_place_cell(const struct trace *trace, struct table *table, int64_t stack);
struct cell trace_stack_cell(const struct trace *trace, struct table *table, int64_t stack);
/* The same from that place outwards: functions of the program alone, or, where none is, a few of the others. */
struct cell trace_callers_cell(const struct trace *trace, struct table *table, int64_t stack);

#endif
