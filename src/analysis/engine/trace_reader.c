/* Adds events to the sorters, maps and sums of struct trace. After the last event, several threads sort and join. */
#include "analysis/engine/trace_reader.h"

#include <string.h>

#include "analysis/engine/errors.h"
#include "analysis/engine/heap.h"
#include "analysis/base/table.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_stacks.h"
#include "common/log.h"

/* Slices of these categories nest with the ranges of their threads. */
#define FRAME_CATEGORIES (CATEGORY_BIT(CATEGORY_CPU_OP) | CATEGORY_BIT(CATEGORY_PYTHON_FUNCTION))

void trace_init(struct trace *trace, const struct report_options *options)
{
    *trace = (struct trace){
        .options = options,
        .program = EVENT_NO_TEXT,
        .version = EVENT_NO_TEXT,
        .first_call = EVENT_NO_TEXT,
        .host = EVENT_NO_TEXT,
        .ending = EVENT_NO_TEXT,
        .missed = EVENT_NO_TEXT,
        .clock = {FIELD_ABSENT, FIELD_ABSENT},
        .own_space = sorter_space_usual(),
        .space = &trace->own_space,
    };
    calls_init(&trace->calls, trace->space);
    timeline_init(&trace->gpu_ops, &trace->timeline, &trace->host_calls, trace->space);
    ranges_init(&trace->ranges, trace->space);
    ranges_init(&trace->operators, trace->space);
    ranges_init(&trace->host_frames, trace->space);
    ranges_init(&trace->python, trace->space);
    launched_ops_init(&trace->launched_ops, trace->space);
    host_samples_init(&trace->samples, trace->space);
    autograd_init(&trace->autograd, trace->space);
    busy_init(&trace->busy, trace->space);
    busy_init(&trace->compiling, trace->space);
}

void trace_release(struct trace *trace)
{
    busy_release(&trace->compiling);
    array_release(&trace->processes);
    array_release(&trace->ranks);
    map_release(&trace->rank_numbers);
    array_release(&trace->threads);
    array_release(&trace->streams);
    array_release(&trace->stream_owners);
    array_release(&trace->devices);
    array_release(&trace->losses);
    array_release(&trace->gpu_rows);
    map_release(&trace->gpu_row_numbers);
    array_release(&trace->pools);
    array_release(&trace->crashes);
    array_release(&trace->open_calls);
    array_release(&trace->plugins);
    array_release(&trace->plugin_lines);
    array_release(&trace->frames);
    map_release(&trace->stack_of_number);
    map_release(&trace->stack_operators);
    array_release(&trace->shown_names);
    pretty_names_release(&trace->pretty_names);
    pretty_names_release(&trace->names_in_flight);
    dense_map_release(&trace->process_ids);
    dense_map_release(&trace->kind_ids);
    array_release(&trace->kinds);
    dense_map_release(&trace->thread_ids);
    dense_map_release(&trace->stream_ids);
    dense_map_release(&trace->device_ids);
    sorter_release(&trace->calls);
    sorter_release(&trace->gpu_ops);
    busy_release(&trace->busy);
    ranges_release(&trace->ranges);
    ranges_release(&trace->operators);
    ranges_release(&trace->host_frames);
    ranges_release(&trace->python);
    dense_map_release(&trace->python_calls);
    array_release(&trace->python_sums);
    sorter_release(&trace->host_calls);
    sorter_release(&trace->timeline);
    array_release(&trace->call_kinds.items);
    sorter_release(&trace->launched_ops);
    host_samples_release(&trace->samples);
    autograd_release(&trace->autograd);
    captured_release(&trace->captured);
    dense_map_release(&trace->failures.keys);
    array_release(&trace->failures.items);
    interner_release(&trace->strings);
}

static int host_event(struct trace *trace, const struct event_fields *event)
{
    if (trace->recent_index && trace->recent_process == event->process && trace->recent_thread == event->thread)
        return 0;
    struct trace_thread *thread = trace_thread(trace, event->process, event->thread);
    if (!thread)
        return -1;
    thread->host = !trace_in_extra_row(event);
    trace->processes.items[thread->process].host = true;
    trace->recent_process = event->process;
    trace->recent_thread = event->thread;
    trace->recent_index = (uint32_t)(thread - trace->threads.items) + 1;
    return 0;
}

/* Returns the index of the thread of EVENT, the last host event, or -1 without memory. */
static int64_t thread_of(struct trace *trace, const struct event_fields *event)
{
    event_id own = trace_thread_of(event);
    if (own == event->thread)
        return trace->recent_index - 1;
    const struct trace_thread *thread = trace_thread(trace, event->process, own);
    return thread ? thread - trace->threads.items : -1;
}

static int add_host_call(struct trace *trace, const struct event_fields *event, uint32_t thread)
{
    struct host_call call = {
        .start = event->start,
        .end = event->start + event->duration,
        .thread = thread,
        .name = event->name,
        .correlation = event->correlation,
        .kind = (uint8_t)call_kinds_find(&trace->call_kinds, &trace->strings, event->name),
    };
    return sorter_add(&trace->host_calls, &call);
}

static int api_call(struct trace *trace, const struct event_fields *event)
{
    trace->first_call = trace->first_call == EVENT_NO_TEXT ? event->name : trace->first_call;
    if (errors_is_failure(&trace->strings, event)) {
        errors_add(&trace->failed_calls, event);
        if (failures_add(&trace->failures, event) < 0)
            return -1;
    }
    int64_t thread = thread_of(trace, event);
    if (thread < 0 || (trace->wanted.host_calls && add_host_call(trace, event, (uint32_t)thread) < 0))
        return -1;
    trace->processes.items[trace->threads.items[thread].process].calls = true;
    if (!trace->wanted.calls || event->correlation < 0 || event->correlation > UINT32_MAX)
        return 0;
    struct call call = {
        .correlation = (uint32_t)event->correlation,
        .name = event->name,
        .thread = (uint32_t)thread,
        .process = trace->threads.items[thread].process,
        .start = event->start,
        .end = event->start + event->duration,
    };
    return sorter_add(&trace->calls, &call);
}

static int add_gpu_op(struct trace *trace, const struct event_fields *event)
{
    int64_t end = event->start + event->duration;
    struct trace_stream_id id = {event->process, trace_event_device(event), event_gpu(event)->context,
                                 trace_event_stream(event)};
    size_t before = trace->streams.count;
    struct trace_stream *stream = dense_map_item(&trace->stream_ids, &id, &trace->streams);
    bool first = trace->streams.count > before;
    uint32_t number = (uint32_t)(stream - trace->streams.items);
    struct trace_device *device = stream && first ? trace_device(trace, id.device) : NULL;
    if (!stream || (first && !device) || busy_add(&trace->busy, number, event->start, end) < 0)
        return -1;
    if (device) {
        device->used = true;
        stream->device = (uint32_t)(device - trace->devices.items);
    }
    stream->gpu_ops[event->category]++;
    stream->first = first || event->start < stream->first ? event->start : stream->first;
    stream->last = first || end > stream->last ? end : stream->last;
    if (event->category == CATEGORY_KERNEL && event->name != EVENT_NO_TEXT &&
        pretty_names_add(&trace->pretty_names, event->name) < 0)
        return -1;
    if (!trace->wanted.gpu_ops)
        return 0;
    uint32_t captured = 0, captured_in = event_launch(event)->captured_in;
    if (captured_in != EVENT_NO_TEXT && (trace->wanted.launched_ops || trace->wanted.operators))
        captured = captured_add(&trace->captured, captured_in);
    if (trace_add_stack_operator(trace, event) < 0)
        return -1;
    return captured == CAPTURED_NO_MEMORY ? -1 : gpu_ops_add(&trace->gpu_ops, event, number, stream->device, captured);
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
        struct trace_process *process = trace_process_new(trace, event->process);
        if (!process)
            return -1;
        *(what[strlen("process_")] == 'n' ? &process->name : &process->label) = event->label;
    } else if (strcmp(what, "thread_name") == 0) {
        struct trace_thread *thread = trace_thread(trace, event->process, event->thread);
        if (!thread)
            return -1;
        thread->name = event->label;
    }
    return 0;
}

/* Adds a range, an operator or a Python function. EVENT is the last host event. */
static int frame(struct trace *trace, struct ranges *ranges, const struct event_fields *event)
{
    if (event->phase == 'X' && event->name == EVENT_NO_TEXT)
        return 0;
    int64_t thread = thread_of(trace, event);
    return thread < 0 ? -1 : ranges_add(ranges, event, (uint32_t)thread);
}

/* Reads a range, or the start or end of an asynchronous range. */
static int range(struct trace *trace, const struct event_fields *event)
{
    if (host_event(trace, event) < 0 || (trace->wanted.host_frames && frame(trace, &trace->host_frames, event) < 0))
        return -1;
    return trace->wanted.ranges ? frame(trace, &trace->ranges, event) : 0;
}

/* Reads an operator of PyTorch. */
static int operator(struct trace *trace, const struct event_fields *event)
{
    uint32_t thread = trace->recent_index - 1;
    if (trace->wanted.operators && event->name != EVENT_NO_TEXT && ranges_add(&trace->operators, event, thread) < 0)
        return -1;
    if (!trace->wanted.launched_ops || event_operator(event)->sequence < 0)
        return 0;
    return autograd_operator(&trace->autograd, event, trace->threads.items[thread].process, thread);
}

/* Reads an end of a flow from an operator of the forward pass to an operator of the backward pass. */
static int flow(struct trace *trace, const struct event_fields *event)
{
    if (event->category != CATEGORY_FWDBWD || event->id == EVENT_NO_ID || !trace->wanted.launched_ops)
        return 0;
    const struct trace_thread *thread = trace_thread(trace, event->process, event->thread);
    if (!thread)
        return -1;
    return autograd_flow(&trace->autograd, event, thread->process, (uint32_t)(thread - trace->threads.items));
}

static int slice(struct trace *trace, const struct event_fields *event)
{
    trace->counts[event->category]++;
    if (event->category == CATEGORY_OTHER) {
        uint64_t kind = event->label, *count = dense_map_item(&trace->kind_ids, &kind, &trace->kinds);
        if (!count)
            return -1;
        ++*count;
    }
    if (category_in(event->category, CATEGORIES_RECORDING))
        return 0;
    trace_times_widen(&trace->times, event->start, event->start + event->duration);
    if (trace_compiles(trace, event) &&
        busy_add(&trace->compiling, 0, event->start, event->start + event->duration) < 0)
        return -1;
    if (event->category == CATEGORY_THREAD_STATE)
        return trace_sample(trace, event);
    if (!category_in(event->category, CATEGORIES_HOST))
        return 0;
    if (event->category == CATEGORY_USER_ANNOTATION)
        return range(trace, event);
    if (host_event(trace, event) < 0)
        return -1;
    if (trace->wanted.host_frames && category_in(event->category, FRAME_CATEGORIES) &&
        frame(trace, &trace->host_frames, event) < 0)
        return -1;
    if (event->category == CATEGORY_CPU_OP)
        return operator(trace, event);
    if (event->category == CATEGORY_PYTHON_FUNCTION)
        return trace->wanted.stacks ? frame(trace, &trace->python, event) : 0;
    return category_in(event->category, CATEGORIES_API) ? api_call(trace, event) : 0;
}

int trace_event(struct trace *trace, const struct event_fields *event)
{
    if (is_gpu_op(event))
        return 0;
    trace->events += event->phase != 'M';
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
        if (!category_in(event->category, CATEGORIES_INSTANT))
            return 0;
        trace->marks += event->category == CATEGORY_USER_ANNOTATION;
        if (event->category == CATEGORY_USER_ANNOTATION && host_event(trace, event) < 0)
            return -1;
        trace->counts[CATEGORY_GPU_IN_FLIGHT] += event->category == CATEGORY_GPU_IN_FLIGHT;
        if (event->category == CATEGORY_GPU_IN_FLIGHT && event->name != EVENT_NO_TEXT &&
            pretty_names_add(&trace->names_in_flight, event->name) < 0)
            return -1;
        trace_times_widen(&trace->times, event->start, event->start);
        if (event->category == CATEGORY_CPU_SAMPLE)
            return trace_sample(trace, event);
        return trace->heap ? heap_event(trace->heap, event) : 0;
    case HEAP_OUTSIDE: return trace->heap ? heap_event(trace->heap, event) : 0;
    default: return 0;
    }
}

int trace_receive_event(void *trace, struct event_fields *event)
{
    return trace_event(trace, event) < 0 || trace_gpu_op(trace, event) < 0 ? error_no_memory("the trace's rows") : 0;
}

int trace_receive_metadata(void *trace, const char *key, const struct cJSON *value)
{
    return trace_metadata(trace, key, value) < 0 ? error_no_memory("the trace's metadata") : 0;
}

/* --- after the last event --- */

static int make_ready(void *sorter)
{
    return sorter_ready(sorter);
}

static int finish_ranges(void *context)
{
    struct trace *trace = context;
    if (trace->wanted.host_frames && ranges_finish(&trace->host_frames, trace->end) < 0)
        return -1;
    if (trace->python.count > 0 && ranges_finish(&trace->python, trace->end) < 0)
        return -1;
    return trace->wanted.ranges ? ranges_finish(&trace->ranges, trace->end) : 0;
}

static int finish_operators(void *context)
{
    struct trace *trace = context;
    return trace->wanted.operators ? ranges_finish(&trace->operators, trace->end) : 0;
}

static int finish_samples(void *context)
{
    struct trace *trace = context;
    return trace->wanted.samples ? host_samples_finish(&trace->samples) : 0;
}

static int gather_timeline(void *context)
{
    struct trace *trace = context;
    const struct timeline_sources parts = {&trace->gpu_ops, &trace->calls, &trace->stream_owners, &trace->call_kinds,
                                           &trace->strings};
    return trace->wanted.timeline ? timeline_gather(&trace->timeline, &parts) : 0;
}

/* Sorts operations by the calls that launched them, for sections that join them with ranges. */
static int gather_launched_ops(void *context)
{
    struct trace *trace = context;
    if (!trace->wanted.launched_ops ||
        !(trace_has_ranges(trace) || trace->wanted.host_frames || trace->python.count > 0))
        return 0;
    int status = launched_ops_gather(&trace->launched_ops, &trace->gpu_ops, &trace->calls, &trace->stream_owners);
    if (status || trace->ranges.count == 0)
        return status;
    return autograd_attribute(&trace->autograd, &trace->ranges, &trace->launched_ops);
}

int trace_finish(struct trace *trace, unsigned workers)
{
    const struct task tasks[] = {{finish_ranges, trace},           {finish_operators, trace},
                                 {make_ready, &trace->calls},      {make_ready, &trace->gpu_ops},
                                 {make_ready, &trace->host_calls}, {finish_samples, trace}};
    const struct task joins[] = {{gather_launched_ops, trace}, {gather_timeline, trace}};
    struct trace_times all = trace->times;
    if (trace->gpu_op_times.any)
        trace_times_widen(&all, trace->gpu_op_times.first, trace->gpu_op_times.last);
    if (trace->window.any) {
        trace_times_widen(&all, trace->window.first, trace->window.last);
        all.first = trace->window.first;
    }
    trace->start = all.first;
    trace->end = all.last;
    trace->any = all.any;
    for (size_t i = 0; i < trace->streams.count; i++)
        for (unsigned category = 0; category <= CATEGORY_GPU_GRAPH; category++)
            trace->counts[category] += trace->streams.items[i].gpu_ops[category];
    for (size_t i = 0; i < trace->processes.count; i++)
        trace->host_processes += trace->processes.items[i].host;
    const struct busy_interval *one;
    if (trace_set_stream_owners(trace) < 0 ||
        BUSY_EACH(&trace->compiling, one, busy_sum_add(&trace->compiled, one->start, one->end)) < 0 ||
        captured_split(&trace->captured, &trace->strings) < 0)
        return -1;
    int status = tasks_run(tasks, sizeof(tasks) / sizeof(*tasks), workers);
    status = status < 0 ? status : tasks_run(joins, sizeof(joins) / sizeof(*joins), workers);
    return status ?: trace_place_python(trace);
}

static void add_busy(struct trace *trace, const struct busy_interval *interval)
{
    struct trace_stream *stream = &trace->streams.items[interval->number];
    busy_sum_add(&stream->busy, interval->start, interval->end);
    busy_sum_add(&trace->devices.items[stream->device].busy, interval->start, interval->end);
}

static int finish_busy(void *context)
{
    struct trace *trace = context;
    const struct busy_interval *one;
    return BUSY_EACH(&trace->busy, one, add_busy(trace, one));
}

static int finish_heap(void *context)
{
    struct trace *trace = context;
    return trace->heap ? heap_finish(trace->heap) : 0;
}

size_t trace_last_tasks(struct trace *trace, struct task tasks[TRACE_LAST_TASKS])
{
    tasks[0] = (struct task){finish_busy, trace};
    tasks[1] = (struct task){finish_heap, trace};
    return TRACE_LAST_TASKS;
}
