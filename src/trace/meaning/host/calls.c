/*
 * What threads of the program did: API calls with the starts of their flows, and CUPTI's overhead. For the row
 * "compilation", joins the records of each phase, ends open phases, and finds the threads of JIT operations.
 */
#include "trace/meaning/host/calls.h"

#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/cuda_headers.h"
#include "common/log.h"
#include "common/spool_records.h"
#include "trace/meaning/base/times.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/torch/torch_launches.h"
#include "trace/spool/cupti.h"

/* Why a phase ended. Those before UNKNOWN have the numbers of enum gputrace_ending (callbacks.h).
 *      ending               words in the trace */
#define COMPILATION_ENDINGS(X)                \
    X(RETURNED, "returned")                   \
    X(THREAD_ENDED, "thread ended")           \
    X(CONTEXT_DESTROYED, "context destroyed") \
    X(STREAM_DESTROYED, "stream destroyed")   \
    X(UNKNOWN, "unknown")                     \
    X(PROCESS_ENDED, "process ended")         \
    X(RECORDING_OFF, "recording was turned off")
enum compilation_ending {
#define ENDING(name, text) COMPILATION_##name,
    COMPILATION_ENDINGS(ENDING)
#undef ENDING
        COMPILATION_ENDING_COUNT
};

#define EVICT_STEPS ((size_t)1 << 16) /* pages are evicted after so many steps */

static struct compilation_step *add_step(struct compilation *compilation, const char *what)
{
    struct compilation_step *step = file_vector_push(&compilation->steps);
    if (step)
        step->order = (uint32_t)compilation->steps.count;
    else
        error_no_memory(what);
    return step;
}

int index_phase(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    const struct spool_phase *phase = event->record;
    if (phase->trigger == SPOOL_TRIGGER_NONE || phase->trigger >= SPOOL_TRIGGER_COUNT) {
        process->losses.undecoded++;
        return 0;
    }
    process->cuda = true;
    struct compilation_step *step = add_step(process->compilation, "phases of compilation");
    if (!step)
        return -1;
    step->number = phase->phase;
    step->trigger = phase->trigger;
    step->is_end = phase->head.flags == SPOOL_PHASE_ENDED;
    if (step->is_end) {
        step->end = event->start;
        step->result = phase->result;
        step->ending =
            phase->ending < COMPILATION_UNKNOWN ? (enum compilation_ending)phase->ending : COMPILATION_UNKNOWN;
        return 0;
    }
    step->start = event->start;
    step->thread = event->thread;
    step->correlation = event->correlation;
    step->function = event->text;
    step->function_length = event->text_length;
    return 0;
}

int index_jit(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    struct compilation_step *step = add_step(process->compilation, "JIT operations");
    if (!step)
        return -1;
    step->start = event->start;
    step->end = event->end;
    step->number = event->jit.group;
    step->cache_bytes = event->jit.cache_bytes;
    step->correlation = event->correlation;
    step->thread = event->thread;
    step->operation = event->jit.operation;
    step->entry = event->jit.entry;
    return 0;
}

static bool is_jit(const struct compilation_step *step)
{
    return step->trigger == SPOOL_TRIGGER_NONE;
}

static int by_order(const struct compilation_step *left, const struct compilation_step *right)
{
    return ORDER(left->order, right->order);
}

/* Sorts the records of a phase next to each other, JIT operations last. */
static int by_phase(const void *a, const void *b)
{
    const struct compilation_step *left = a, *right = b;
    int by_number = is_jit(left) ? 0 : ORDER(left->number, right->number);
    return ORDER(is_jit(left), is_jit(right)) ?: by_number ?: by_order(left, right);
}

static void join(struct compilation_step *phase, const struct compilation_step *record)
{
    phase->trigger = record->trigger;
    if (record->is_end) {
        phase->end = record->end;
        phase->result = record->result;
        phase->ending = record->ending;
        return;
    }
    phase->start = record->start;
    phase->thread = record->thread;
    phase->correlation = record->correlation;
    phase->function = record->function;
    phase->function_length = record->function_length;
}

static int join_phases(struct compilation *compilation)
{
    struct compilation_step *steps = compilation->steps.items;
    size_t kept = 0;
    if (file_vector_sort(&compilation->steps, by_phase) != 0)
        return error_no_memory("phases of compilation");
    for (size_t i = 0; i < compilation->steps.count; i++) {
        if (kept > 0 && !is_jit(&steps[i]) && steps[kept - 1].number == steps[i].number)
            join(&steps[kept - 1], &steps[i]);
        else
            steps[kept++] = steps[i];
        if (i % EVICT_STEPS == 0)
            file_vector_evict(&compilation->steps);
    }
    compilation->steps.count = kept;
    return 0;
}

/* Sorts by call; phases of a call come before its JIT operations. */
static int by_call(const void *a, const void *b)
{
    const struct compilation_step *left = a, *right = b;
    return ORDER(left->correlation, right->correlation) ?: ORDER(is_jit(left), is_jit(right)) ?: by_order(left, right);
}

/* Sorts enclosing steps first; a phase precedes operations that are as long. */
static int outer_first(const void *a, const void *b)
{
    const struct compilation_step *left = a, *right = b;
    return ORDER(left->start, right->start) ?: ORDER(right->end, left->end)
           ?: ORDER(is_jit(left), is_jit(right)) ?: ORDER(left->number, right->number) ?: by_order(left, right);
}

/* After the last record: ends open phases at TIME, leaves out steps that began while recording was off, sets the
 * threads of JIT operations, and sorts. */
static int close_steps(struct compilation *compilation, const struct capture_intervals *capture_intervals,
                       const struct launches *launches, uint64_t time)
{
    if (join_phases(compilation) != 0)
        return -1;
    /* CUPTI's number of a thread is not always the system's; the call's record has the right one. */
    const struct compilation_step *caller = NULL;
    if (file_vector_sort(&compilation->steps, by_call) != 0)
        return error_no_memory("phases of compilation");
    for (size_t i = 0; i < compilation->steps.count; i++) {
        struct compilation_step *step = &compilation->steps.items[i];
        const struct launch *launch = step->correlation ? launches_get(launches, step->correlation) : NULL;
        if (i % EVICT_STEPS == 0)
            file_vector_evict(&compilation->steps);
        if (!is_jit(step) && step->start != 0 && step->correlation != 0)
            caller = step;
        else if (is_jit(step) && caller && caller->correlation == step->correlation)
            step->thread = caller->thread;
        else if (is_jit(step) && launch && launch->from != LAUNCH_UNKNOWN)
            step->thread = launch->thread;
    }
    size_t kept = 0;
    for (size_t i = 0; i < compilation->steps.count; i++) {
        struct compilation_step *step = &compilation->steps.items[i];
        if (i % EVICT_STEPS == 0)
            file_vector_evict(&compilation->steps);
        if (step->start == 0 || !capture_intervals_hold(capture_intervals, step->start))
            continue; /* the start was not recorded, or recording was off */
        if (!is_jit(step)) {
            if (step->end == 0) {
                uint64_t window_end = capture_intervals_end(capture_intervals, step->start);
                step->ending = window_end < time ? COMPILATION_RECORDING_OFF : COMPILATION_PROCESS_ENDED;
                step->end = window_end < time ? window_end : time;
            }
            if (step->end < step->start)
                step->end = step->start; /* the clock was set back */
        }
        compilation->steps.items[kept++] = *step;
    }
    compilation->steps.count = kept;
    return file_vector_sort(&compilation->steps, outer_first) == 0 ? 0 : error_no_memory("phases of compilation");
}

int resolve_compilation(struct process *process)
{
    struct compilation *compilation = process->compilation;
    if (close_steps(compilation, process->capture_intervals, process->launches, process->last_time) != 0)
        return -1;
    if (compilation->steps.count == 0)
        return 0;
    struct track *track = process_thread(process, TRACK_COMPILATION, 0);
    for (size_t i = 0; i < compilation->steps.count && track; i++) {
        const struct compilation_step *step = &compilation->steps.items[i];
        if (lanes_collect_own(&track->lanes, step->start, step->end, step->thread) != 0)
            return -1;
        process_passed(process, i);
    }
    return track ? 0 : -1;
}

static void add_correlation(struct args *args, const struct process *process, const struct compilation_step *step)
{
    if (step->correlation != 0)
        args_u64(args, ARG_CORRELATION, process_correlation(process, step->correlation));
}

static const char *describe_phase(struct args *args, const struct process *process, const struct compilation_step *step)
{
    static const char *const triggers[SPOOL_TRIGGER_COUNT] = {
#define TRIGGER(name, text) [SPOOL_TRIGGER_##name] = text,
        SPOOL_TRIGGERS(TRIGGER)
#undef TRIGGER
    };
    static const char *const endings[COMPILATION_ENDING_COUNT] = {
#define ENDING(name, text) [COMPILATION_##name] = text,
        COMPILATION_ENDINGS(ENDING)
#undef ENDING
    };
    args_words(args, ARG_TRIGGER, triggers[step->trigger]);
    args_text(args, ARG_FUNCTION, step->function, step->function_length);
    args_u64(args, ARG_PHASE, step->number);
    add_correlation(args, process, step);
    if (step->result != 0)
        args_error(args, ARG_RESULT, step->result, driver_error_name(step->result));
    if (step->ending != COMPILATION_RETURNED)
        args_words(args, ARG_ENDING, endings[step->ending]);
    return triggers[step->trigger];
}

static const char *describe_jit(struct args *args, const struct process *process, const struct compilation_step *step)
{
    static const char *const operations[EVENT_JIT_OPERATION_COUNT] = {
        [EVENT_JIT_UNKNOWN] = "JIT operation",
        [EVENT_JIT_CACHE_LOAD] = "JIT cache load",
        [EVENT_JIT_CACHE_STORE] = "JIT cache store",
        [EVENT_JIT_COMPILE] = "JIT compile",
    };
    static const char *const entries[EVENT_JIT_ENTRY_COUNT] = {
        [EVENT_JIT_FROM_PTX] = "PTX",
        [EVENT_JIT_FROM_NVVM_IR] = "NVVM IR",
    };
    add_correlation(args, process, step);
    if (step->operation == EVENT_JIT_CACHE_LOAD)
        args_add(args, ARG_CACHE_HIT, ARG_TYPE_TRUE);
    else if (step->operation == EVENT_JIT_COMPILE)
        args_add(args, ARG_CACHE_HIT, ARG_TYPE_FALSE);
    args_u64(args, ARG_GROUP, step->number);
    if (step->cache_bytes != 0)
        args_u64(args, ARG_CACHE_LIMIT, step->cache_bytes);
    if (entries[step->entry])
        args_words(args, ARG_FROM, entries[step->entry]);
    return operations[step->operation];
}

int write_compilation(struct piece_writer *out, struct process *process)
{
    struct track *track = tracks_get(&process->tracks, TRACK_COMPILATION, 0, 0, 0);
    for (size_t i = 0; i < process->compilation->steps.count && track; i++) {
        const struct compilation_step *step = &process->compilation->steps.items[i];
        bool phase = step->trigger != SPOOL_TRIGGER_NONE;
        struct args args = {0};
        const char *name = phase ? describe_phase(&args, process, step) : describe_jit(&args, process, step);
        args_u64(&args, ARG_THREAD, step->thread);
        struct row row = track_row_own(track, step->start, step->end, step->thread);
        piece_writer_slice(out, CATEGORY_COMPILATION, name_plain(name), row, step->start, step->end, &args);
        piece_writer_passed(out, process);
    }
    return 0;
}

#define NAME_SPACE 32 /* bytes for a name that is composed */

int resolve_api(struct process *process, const struct event *event)
{
    struct track *thread = tracks_look(&process->tracks, &process->tracks.recent, TRACK_THREAD, 0, 0, event->thread);
    return lanes_collect(&thread->lanes, event->start, event->end);
}

int write_api(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct track *thread = piece_writer_track(out, process, TRACK_THREAD, 0, 0, event->thread);
    if (!thread || !process_knows_span(process, event))
        return 0;
    bool runtime = event->api.domain == EVENT_API_RUNTIME;
    int64_t returned = event->api.result;
    struct args args;
    char space[NAME_SPACE];
    args.count = 0;
    args_u64(&args, ARG_CBID, event->api.cbid);
    args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    if (returned != 0)
        args_error(&args, ARG_RETURN_VALUE, returned,
                   runtime ? runtime_error_name(returned) : driver_error_name(returned));
    if (process->stacks->calls.count > 0)
        args_stack(&args, process, call_stack(process, event->correlation), ARG_CALLED_AT);
    add_operator_around(out, &args, process, event->correlation, event->thread, event->start);
    struct row row = track_row(thread, event->start, event->end);
    write_compiled_operator(out, process, event, row);
    if (row.tid != event->thread) /* the slice is in another lane of the thread */
        args_u64(&args, ARG_THREAD, event->thread);
    const char *known = api_name(event->api.domain, event->api.cbid);
    if (!known) /* a call of a newer CUDA than the headers */
        snprintf(space, sizeof(space), "%s call %u", runtime ? "runtime" : "driver", event->api.cbid);
    piece_writer_slice(out, runtime ? CATEGORY_CUDA_RUNTIME : CATEGORY_CUDA_DRIVER, name_plain(known ? known : space),
                       row, event->start, event->end, &args);
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    if (!launch || launch->gpu_ops == 0 || !launch_is_call(launch, event))
        return 0;
    struct flow flow = {.row = row, .time = event->start};
    for (uint32_t i = 0; i < launch->gpu_ops; i++) {
        flow.id = launch_flow(process->launches, launch, event->correlation, i);
        if (flow.id != 0)
            out->sink.format->flow(&out->sink, &flow);
    }
    return 0;
}

static const char *overhead_name(uint32_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER: return "Driver Compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH: return "Buffer Flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION: return "Instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: return "Resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING: return "Runtime Triggered Module Loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING: return "Lazy Function Loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL: return "Command Buffer Full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST: return "Activity Buffer Request";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT: return "UVM Activity Init";
    default: return "Unknown";
    }
}

int index_overhead(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    struct track *track = process_thread(process, TRACK_OVERHEAD, event->thread);
    return track ? lanes_collect(&track->lanes, event->start, event->end) : -1;
}

int write_overhead(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct track *track = piece_writer_track(out, process, TRACK_OVERHEAD, 0, 0, event->thread);
    if (!track || !process_knows_span(process, event))
        return 0;
    const CUpti_ActivityOverhead3 *overhead = event->record;
    struct args args = {0};
    if (event->correlation != 0)
        args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    struct row row = track_row(track, event->start, event->end);
    struct name name = name_plain(overhead_name(overhead->overheadKind));
    piece_writer_slice(out, CATEGORY_OVERHEAD, name, row, event->start, event->end, &args);
    return 0;
}
