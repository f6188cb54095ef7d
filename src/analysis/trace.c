#include "analysis/trace.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/errors.h"
#include "analysis/heap.h"
#include "analysis/names.h"
#include "analysis/table.h"

/* Slices of these are what a thread of the program did. */
#define HOST_CATEGORIES                                                                        \
    (CATEGORIES_API | CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP) | \
     CATEGORY_BIT(CATEGORY_PYTHON_FUNCTION) | CATEGORIES_OTHER)
/* Instants of these are about the program; others, such as Kineto's "Record Window End", about the recording. */
#define INSTANT_CATEGORIES                                                                                           \
    (CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_MEMORY) | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT) | \
     CATEGORY_BIT(CATEGORY_CPU_INSTANT_EVENT))
/* As model/tracks.h numbers the rows of GPUs where the device's number is taken: this + (process << 10) + device. */
#define GPU_ROW_PID INT64_C(0x40000000)
#define GPU_ROW_DEVICES 1024

void trace_init(struct trace *trace, const struct report_options *options)
{
    *trace = (struct trace){
        .options = options,
        .program = EVENT_NO_TEXT,
        .version = EVENT_NO_TEXT,
        .host = EVENT_NO_TEXT,
        .ending = EVENT_NO_TEXT,
        .missed = EVENT_NO_TEXT,
        .own_room = sorter_room_usual(),
        .room = &trace->own_room,
    };
    calls_init(&trace->calls, trace->room);
    gpu_ops_init(&trace->gpu_ops, trace->room);
    ranges_init(&trace->ranges, trace->room);
    launched_ops_init(&trace->launched_ops, trace->room);
    autograd_init(&trace->autograd, trace->room);
    trace_busy_init(trace);
}

void trace_release(struct trace *trace)
{
    busy_release(&trace->compiling);
    array_release(&trace->processes);
    array_release(&trace->threads);
    array_release(&trace->streams);
    array_release(&trace->devices);
    array_release(&trace->losses);
    array_release(&trace->gpu_rows);
    array_release(&trace->pools);
    array_release(&trace->crashes);
    array_release(&trace->open_calls);
    array_release(&trace->plugins);
    array_release(&trace->plugin_lines);
    array_release(&trace->frames);
    array_release(&trace->stack_frames);
    array_release(&trace->stacks);
    map_release(&trace->stack_of_number);
    array_release(&trace->shown_names);
    groups_release(&trace->process_ids);
    groups_release(&trace->thread_ids);
    groups_release(&trace->stream_ids);
    groups_release(&trace->device_ids);
    sorter_release(&trace->calls.sorter);
    sorter_release(&trace->gpu_ops.sorter);
    sorter_release(&trace->pieces);
    ranges_release(&trace->ranges);
    sorter_release(&trace->launched_ops.sorter);
    autograd_release(&trace->autograd);
    failures_release(&trace->failures);
    interner_release(&trace->strings);
}

int64_t trace_event_device(const struct event_fields *event)
{
    if (event->device != EVENT_NONE)
        return event->device;
    if (event_id_is_text(event->process))
        return EVENT_NONE;
    int64_t pid = event_id_value(event->process);
    return pid >= GPU_ROW_PID ? pid % GPU_ROW_DEVICES : pid;
}

static struct trace_process *write_process(struct trace *trace, event_id id)
{
    size_t before = trace->processes.count;
    struct trace_process *process = groups_item(&trace->process_ids, &id, &trace->processes);
    if (process && trace->processes.count > before)
        process->name = process->label = EVENT_NO_TEXT;
    return process;
}

static struct trace_thread *write_thread(struct trace *trace, const struct event_fields *event)
{
    struct trace_thread_id id = {event->process, event->thread};
    struct trace_process *process = write_process(trace, event->process);
    size_t before = trace->threads.count;
    struct trace_thread *thread = process ? groups_item(&trace->thread_ids, &id, &trace->threads) : NULL;
    if (thread && trace->threads.count > before) {
        thread->name = EVENT_NO_TEXT;
        thread->process = (uint32_t)(process - trace->processes.items);
    }
    return thread;
}

struct trace_device *trace_device(struct trace *trace, int64_t id)
{
    size_t before = trace->devices.count;
    struct trace_device *device = groups_item(&trace->device_ids, &id, &trace->devices);
    if (device && trace->devices.count > before)
        device->name = EVENT_NO_TEXT;
    return device;
}

static int host_event(struct trace *trace, const struct event_fields *event)
{
    if (trace->recent_index && trace->recent_process == event->process && trace->recent_thread == event->thread)
        return 0;
    struct trace_thread *thread = write_thread(trace, event);
    if (!thread)
        return -1;
    bool extra = !event_id_is_text(event->thread) && event_id_value(event->thread) >= TRACE_EXTRA_TID;
    thread->host = !extra;
    trace->processes.items[thread->process].host = true;
    trace->recent_process = event->process;
    trace->recent_thread = event->thread;
    trace->recent_index = (uint32_t)(thread - trace->threads.items) + 1;
    return 0;
}

/* The index of the thread of the last host event; an event in an extra row names its thread. */
static int64_t thread_of(struct trace *trace, const struct event_fields *event)
{
    struct event_fields own = *event;
    if (event->of_thread == EVENT_NONE || event_id_is_text(event->thread) ||
        event_id_value(event->thread) < TRACE_EXTRA_TID)
        return trace->recent_index - 1;
    own.thread = event_id_number(event->of_thread);
    const struct trace_thread *thread = write_thread(trace, &own);
    return thread ? thread - trace->threads.items : -1;
}

static int api_call(struct trace *trace, const struct event_fields *event)
{
    if (errors_is_failure(&trace->strings, event)) {
        errors_add(&trace->failed_calls, event);
        if (failures_add(&trace->failures, event) < 0)
            return -1;
    }
    int64_t thread = thread_of(trace, event);
    if (thread < 0)
        return -1;
    if (!trace->calls.wanted || event->correlation < 0 || event->correlation > UINT32_MAX)
        return 0;
    struct call call = {
        .correlation = (uint32_t)event->correlation,
        .name = event->name,
        .thread = (uint32_t)thread,
        .process = trace->threads.items[thread].process,
        .start = event->start,
        .end = event->start + event->duration,
    };
    return sorter_add(&trace->calls.sorter, &call);
}

/* A stream is new: something runs on the device ID. */
static int use_device(struct trace *trace, struct trace_stream *stream, int64_t id)
{
    struct trace_device *device = trace_device(trace, id);
    if (!device)
        return -1;
    device->used = true;
    stream->device = (uint32_t)(device - trace->devices.items);
    return 0;
}

static int add_gpu_op(struct trace *trace, const struct event_fields *event)
{
    int64_t end = event->start + event->duration;
    struct trace_stream_id id = {event->process, trace_event_device(event), event->context, event->stream};
    size_t before = trace->streams.count;
    struct trace_stream *stream = groups_item(&trace->stream_ids, &id, &trace->streams);
    bool first = trace->streams.count > before;
    if (!stream || (first && use_device(trace, stream, id.device) < 0) ||
        trace_busy_add(trace, stream, event->start, end) < 0)
        return -1;
    stream->gpu_ops[event->category]++;
    stream->first = first || event->start < stream->first ? event->start : stream->first;
    stream->last = first || end > stream->last ? end : stream->last;
    uint32_t number = (uint32_t)(stream - trace->streams.items);
    return trace->gpu_ops.wanted ? gpu_ops_add(&trace->gpu_ops, event, number) : 0;
}

static bool is_gpu_op(const struct event_fields *event)
{
    return event->phase == 'X' && category_in(event->category, CATEGORIES_GPU_OPS);
}

int trace_gpu_op(struct trace *trace, const struct event_fields *event)
{
    if (!is_gpu_op(event))
        return 0;
    trace_times_widen(&trace->gpu_op_times, event->start, event->start + event->duration);
    return add_gpu_op(trace, event);
}

static int name_row(struct trace *trace, const struct event_fields *event)
{
    if (event->name == EVENT_NO_TEXT || event->label == EVENT_NO_TEXT)
        return 0;
    const char *what = interned(&trace->strings, event->name);
    if (strcmp(what, "process_name") == 0 || strcmp(what, "process_labels") == 0) {
        struct trace_process *process = write_process(trace, event->process);
        if (!process)
            return -1;
        *(what[strlen("process_")] == 'n' ? &process->name : &process->label) = event->label;
    } else if (strcmp(what, "thread_name") == 0) {
        struct trace_thread *thread = write_thread(trace, event);
        if (!thread)
            return -1;
        thread->name = event->label;
    }
    return 0;
}

/* A range that nests, or one end of another. */
static int range(struct trace *trace, const struct event_fields *event)
{
    if (host_event(trace, event) < 0)
        return -1;
    if (!trace->ranges.wanted || (event->phase == 'X' && event->name == EVENT_NO_TEXT))
        return 0;
    int64_t thread = thread_of(trace, event);
    return thread < 0 ? -1 : ranges_add(&trace->ranges, event, (uint32_t)thread);
}

/* An operator of PyTorch. */
static int operator(struct trace *trace, const struct event_fields *event)
{
    if (!trace->launched_ops.wanted || event->sequence < 0)
        return 0;
    uint32_t thread = trace->recent_index - 1;
    return autograd_operator(&trace->autograd, event, trace->threads.items[thread].process, thread);
}

/* An end of a flow from an operator of the forward pass to one of the backward pass. */
static int flow(struct trace *trace, const struct event_fields *event)
{
    if (event->category != CATEGORY_FWDBWD || event->id == EVENT_NO_ID || !trace->launched_ops.wanted)
        return 0;
    const struct trace_thread *thread = write_thread(trace, event);
    if (!thread)
        return -1;
    return autograd_flow(&trace->autograd, event, thread->process, (uint32_t)(thread - trace->threads.items));
}

static int slice(struct trace *trace, const struct event_fields *event)
{
    trace->counts[event->category]++;
    if (event->category == CATEGORY_TRACE_SPAN || event->category == CATEGORY_PLUGIN) /* not of the program */
        return 0;
    trace_times_widen(&trace->times, event->start, event->start + event->duration);
    if (event->category == CATEGORY_COMPILATION)
        return busy_add(&trace->compiling, event->start, event->start + event->duration);
    if (!category_in(event->category, HOST_CATEGORIES))
        return 0;
    if (event->category == CATEGORY_USER_ANNOTATION)
        return range(trace, event);
    if (host_event(trace, event) < 0)
        return -1;
    if (event->category == CATEGORY_CPU_OP)
        return operator(trace, event);
    return category_in(event->category, CATEGORIES_API) ? api_call(trace, event) : 0;
}

int trace_event(struct trace *trace, const struct event_fields *event)
{
    if (is_gpu_op(event))
        return 0;
    switch (event->phase) {
    case 'X': return slice(trace, event);
    case 'M': return name_row(trace, event);
    case 'b':
        trace->async_ranges++;
        trace_times_widen(&trace->times, event->start, event->start);
        return event->category == CATEGORY_USER_ANNOTATION ? range(trace, event) : 0;
    case 'e':
        trace_times_widen(&trace->times, event->start, event->start);
        return event->category == CATEGORY_USER_ANNOTATION ? range(trace, event) : 0;
    case 's':
    case 'f': return flow(trace, event);
    case 'C': trace_times_widen(&trace->times, event->start, event->start); return 0;
    case 'i':
    case 'I':
        if (!category_in(event->category, INSTANT_CATEGORIES))
            return 0;
        trace->marks += event->category == CATEGORY_USER_ANNOTATION;
        if (event->category == CATEGORY_USER_ANNOTATION && host_event(trace, event) < 0)
            return -1;
        trace->counts[CATEGORY_GPU_IN_FLIGHT] += event->category == CATEGORY_GPU_IN_FLIGHT;
        trace_times_widen(&trace->times, event->start, event->start);
        return trace->heap ? heap_event(trace->heap, event) : 0;
    default: return 0;
    }
}

const struct trace_gpu_row *trace_gpu_row(const struct trace *trace, event_id row)
{
    for (size_t i = 0; i < trace->gpu_rows.count; i++)
        if (trace->gpu_rows.items[i].row == row)
            return &trace->gpu_rows.items[i];
    return NULL;
}

const struct trace_process *trace_process(const struct trace *trace, event_id id)
{
    for (size_t i = 0; i < trace->processes.count; i++)
        if (*(const event_id *)groups_key(&trace->process_ids, i) == id)
            return &trace->processes.items[i];
    return NULL;
}

int64_t trace_find_thread(const struct trace *trace, event_id process, int64_t id)
{
    for (size_t i = 0; i < trace->threads.count; i++) {
        const struct trace_thread_id *known = groups_key(&trace->thread_ids, i);
        if (known->process == process && known->thread == event_id_number(id))
            return (int64_t)i;
    }
    return EVENT_NONE;
}

/*
 * Names of kernels as the user wants to see them.
 */

static uint32_t shorten(struct trace *trace, uint32_t name)
{
    const char *whole = interned(&trace->strings, name);
    size_t length = strlen(whole);
    char *short_name = malloc(length + 1);
    if (!short_name)
        return INTERN_NO_MEMORY;
    uint32_t number = intern(&trace->strings, short_name, name_shorten(whole, length, short_name));
    free(short_name);
    return number;
}

bool trace_renames(const struct trace *trace)
{
    return trace->options->names != REPORT_NAMES_FULL;
}

int trace_rename(struct trace *trace, struct event_fields *event)
{
    enum report_names names = trace->options->names;
    if (names == REPORT_NAMES_MANGLED && event->mangled_name != EVENT_NO_TEXT)
        event->name = event->mangled_name;
    else if (names == REPORT_NAMES_MANGLED && event->name < trace->shown_names.count &&
             trace->shown_names.items[event->name] != 0)
        event->name = trace->shown_names.items[event->name] - 1;
    if (names != REPORT_NAMES_SHORT)
        return 0;
    while (trace->shown_names.count <= event->name)
        if (!array_push(&trace->shown_names))
            return -1;
    uint32_t *shown = &trace->shown_names.items[event->name];
    if (*shown == 0) {
        uint32_t number = shorten(trace, event->name);
        if (number == INTERN_NO_MEMORY)
            return -1;
        *shown = number + 1;
    }
    event->name = *shown - 1;
    return 0;
}

struct cell trace_process_cell(const struct trace *trace, struct table *table, event_id id)
{
    const struct trace_process *process = trace_process(trace, id);
    const char *name = process && process->name != EVENT_NO_TEXT ? interned(&trace->strings, process->name) : "process";
    if (event_id_is_text(id))
        return trace_text_cell(trace, table, (uint32_t)(id >> 1));
    return table_format(table, "%s (%lld)", name, (long long)event_id_value(id));
}

struct cell trace_text_cell(const struct trace *trace, struct table *table, uint32_t text)
{
    return text == EVENT_NO_TEXT ? (struct cell){0} : table_text(table, interned(&trace->strings, text));
}

struct cell trace_number_cell(int64_t number)
{
    return number == EVENT_NONE ? (struct cell){0} : cell_integer(number);
}

struct cell trace_count_cell(const struct trace *trace, uint64_t source, int64_t count)
{
    return trace->unrecorded & source ? (struct cell){.kind = CELL_UNRECORDED} : cell_integer(count);
}

struct cell trace_thread_cell(const struct trace *trace, struct table *table, uint32_t thread)
{
    const struct trace_thread_id *id = groups_key(&trace->thread_ids, thread);
    uint32_t name = trace->threads.items[thread].name;
    if (name != EVENT_NO_TEXT && *interned(&trace->strings, name))
        return trace_text_cell(trace, table, name);
    if (event_id_is_text(id->thread))
        return trace_text_cell(trace, table, (uint32_t)(id->thread >> 1));
    return table_format(table, "thread %lld", (long long)event_id_value(id->thread));
}
