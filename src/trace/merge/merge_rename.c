/*
 * The second reading of a trace: its events with the numbers and times of the output. Metadata and names of rows were
 * written before.
 */
#include <stdlib.h>

#include "common/log.h"
#include "common/memory.h"
#include "trace/merge/merge_parts.h"

static struct merge_rename *rename_of(struct sink *sink)
{
    return (struct merge_rename *)sink;
}

static const struct merge_process *find_process(struct merge_rename *rename, uint32_t pid)
{
    if (!rename->recent || rename->recent->pid != pid)
        rename->recent = merge_process_get(rename->trace, pid);
    return rename->recent;
}

/* All pids were seen when the trace was read before, unless the file has changed since. */
static uint32_t new_pid(const struct merge_process *process, uint32_t pid)
{
    return process ? process->new_pid : pid;
}

static struct slice new_slice(struct merge_rename *rename, const struct slice *slice)
{
    const struct merge_process *process = find_process(rename, slice->row.pid);
    struct slice renamed = *slice;
    renamed.row.pid = new_pid(process, slice->row.pid);
    renamed.start = merge_time(rename->merge, process, slice->start);
    renamed.end = merge_time(rename->merge, process, slice->end);
    renamed.args = merge_args_new(rename, slice->args);
    return renamed;
}

static void rename_slice(struct sink *sink, const struct slice *slice)
{
    struct merge_rename *rename = rename_of(sink);
    struct slice renamed = new_slice(rename, slice);
    rename->to->format->slice(rename->to, &renamed);
}

static void rename_instant(struct sink *sink, const struct slice *instant)
{
    struct merge_rename *rename = rename_of(sink);
    struct slice renamed = new_slice(rename, instant);
    rename->to->format->instant(rename->to, &renamed);
}

static void rename_async(struct sink *sink, const struct async_slice *slice)
{
    struct merge_rename *rename = rename_of(sink);
    const struct merge_process *end = find_process(rename, slice->end_row.pid);
    const struct merge_process *begin = find_process(rename, slice->begin.pid);
    struct async_slice renamed = *slice;
    renamed.begin.pid = new_pid(begin, slice->begin.pid);
    renamed.end_row.pid = new_pid(end, slice->end_row.pid);
    renamed.start = merge_time(rename->merge, begin, slice->start);
    renamed.end = merge_time(rename->merge, end, slice->end);
    renamed.end = renamed.end < renamed.start ? renamed.start : renamed.end; /* of two processes with two clocks */
    renamed.id = rename->next_async++;
    renamed.args = merge_args_new(rename, slice->args);
    rename->to->format->async(rename->to, &renamed);
}

static void rename_counter(struct sink *sink, const struct counter *counter)
{
    struct merge_rename *rename = rename_of(sink);
    const struct merge_process *process = find_process(rename, counter->pid);
    struct counter renamed = *counter;
    renamed.pid = new_pid(process, counter->pid);
    renamed.time = merge_time(rename->merge, process, counter->time);
    rename->to->format->counter(rename->to, &renamed);
}

static void rename_flow(struct sink *sink, const struct flow *flow)
{
    struct merge_rename *rename = rename_of(sink);
    const struct merge_trace *trace = rename->trace;
    const struct merge_process *process = find_process(rename, flow->row.pid);
    struct flow renamed = *flow;
    renamed.row.pid = new_pid(process, flow->row.pid);
    renamed.time = merge_time(rename->merge, process, flow->time);
    renamed.id =
        (uint32_t)merge_ids_new(flow->category == CATEGORY_FWDBWD ? &trace->forward_flows : &trace->flows, flow->id);
    rename->to->format->flow(rename->to, &renamed);
}

/* --- */

static int load_stacks(struct merge_rename *rename)
{
    const struct merge_trace *trace = rename->trace;
    size_t size = trace->stack_count * sizeof(*rename->stacks);
    if (size == 0)
        return 0;
    rename->stacks = malloc(size);
    if (!rename->stacks)
        return error_no_memory("call stacks");
    return file_read_at(rename->merge->store, rename->stacks, size, trace->stacks)
               ? 0
               : error("cannot read a temporary file: %m");
}

int merge_rename_init(struct merge_rename *rename, const struct merge *merge, const struct merge_trace *trace)
{
    *rename = (struct merge_rename){.merge = merge, .trace = trace};
    buffer_init_memory(&rename->text);
    buffer_init_memory(&rename->nothing);
    return load_stacks(rename);
}

void merge_rename_release(struct merge_rename *rename)
{
    free(rename->stacks);
    array_release(&rename->args);
    buffer_release(&rename->text);
    buffer_release(&rename->nothing);
}

struct sink *merge_rename_to(struct merge_rename *rename, struct sink *to)
{
    rename->to = to;
    rename->recent = NULL;
    rename->next_async = rename->trace->first_async;
    rename->format = (struct sink_format){
        .name = rename->merge->format->name,
        .piece_scale = 1,
        .all_flows = rename->merge->format->all_flows,
        .metadata = sink_pass_metadata,
        .begin = sink_set_base,
        .process = sink_pass_row,
        .thread = sink_pass_row,
        .slice = rename_slice,
        .instant = rename_instant,
        .async = rename_async,
        .counter = rename_counter,
        .flow = rename_flow,
        .finish = sink_pass_end,
    };
    sink_init(&rename->sink, &rename->format, &rename->nothing);
    return &rename->sink;
}
