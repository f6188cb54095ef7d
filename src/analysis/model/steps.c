#include "analysis/model/steps.h"

#include "analysis/base/cost_sum.h"

int steps_add(struct steps_process *process, const struct step *one)
{
    if (process->items.count >= STEPS_MOST)
        return 0;
    struct step *step = array_push(&process->items);
    if (!step)
        return -1;
    *step = *one;
    step->number = one->number != EVENT_NONE ? one->number : (int64_t)process->items.count;
    return series_add(&process->times, one->end - one->start);
}

/* --- what is in the steps --- */

static int before_end(const void *item, const void *time)
{
    return ((const struct step *)item)->to <= *(const int64_t *)time ? -1 : 0;
}

/* The step of PROCESS in which the host did something at TIME; its index, or -1. */
static int64_t step_at(const struct steps_process *process, int64_t time)
{
    size_t index = array_before(process->items.items, process->items.count, sizeof(struct step), &time, before_end);
    return index < process->items.count && process->items.items[index].from <= time ? (int64_t)index : -1;
}

static int add_part(struct steps *steps, const struct step_part_key *key, bool slowest, int64_t ns)
{
    struct step_part *part = dense_map_item(&steps->part_keys, key, &steps->parts);
    if (!part)
        return -1;
    sum_add(&part->total, ns);
    part->count++;
    sum_add(&part->slowest, slowest ? ns : 0);
    part->slowest_count += slowest;
    return 0;
}

/* Other threads of the process launch for the step too: PyTorch's backward pass has its own. */
static int add_op(struct steps *steps, const struct trace *trace, size_t number, const struct launched_op *op)
{
    struct steps_process *process = &steps->processes.items[number];
    bool ours = op->thread != LAUNCHED_NO_THREAD && trace->threads.items[op->thread].process == process->process;
    int64_t index = ours ? step_at(process, op->called) : -1;
    if (index < 0)
        return 0;
    sum_add(&process->items.items[index].gpu, op->duration);
    process->items.items[index].launches++;
    const struct step_part_key key = {number, op->kernel ? STEP_KERNEL : STEP_COPY, op->name};
    return add_part(steps, &key, (size_t)index == process->slowest, op->duration);
}

static int add_ops(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    struct sorter_walk walk;
    const struct launched_op *op;
    int status = 0;
    sorter_walk_begin(&walk, launched);
    while (status == 0 && (op = sorter_next(&walk)))
        for (size_t i = 0; i < steps->processes.count && status == 0; i++)
            status = add_op(steps, trace, i, op);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked;
}

static int add_call(struct steps *steps, size_t number, const struct host_call *call)
{
    struct steps_process *process = &steps->processes.items[number];
    int64_t index = call->thread == process->thread ? step_at(process, call->start) : -1;
    const struct step_part_key key = {number, STEP_CALL, call->name};
    return index < 0 ? 0 : add_part(steps, &key, (size_t)index == process->slowest, call->end - call->start);
}

static int add_calls(struct steps *steps, const struct trace *trace)
{
    struct host_calls_walk walk;
    const struct host_call *call;
    int status = 0;
    host_calls_walk_begin(&walk, &trace->host_calls);
    while (status == 0 && (call = host_calls_next(&walk)))
        for (size_t i = 0; i < steps->processes.count && status == 0; i++)
            status = add_call(steps, i, call);
    int walked = host_calls_walk_end(&walk);
    return status ? status : walked;
}

/* What the host's time in calls does not explain. */
static int add_outside(struct steps *steps, size_t number)
{
    const struct steps_process *process = &steps->processes.items[number];
    const struct step *slowest = &process->items.items[process->slowest];
    int64_t total = 0, longest = slowest->to - slowest->from;
    for (size_t i = 0; i < process->items.count; i++)
        sum_add(&total, process->items.items[i].to - process->items.items[i].from);
    for (size_t i = 0; i < steps->parts.count; i++) {
        const struct step_part_key *key = dense_map_row(&steps->part_keys, i);
        if (key->process != number || key->kind != STEP_CALL)
            continue;
        total -= steps->parts.items[i].total;
        longest -= steps->parts.items[i].slowest;
    }
    const struct step_part_key key = {number, STEP_OUTSIDE, 0};
    struct step_part *part = dense_map_item(&steps->part_keys, &key, &steps->parts);
    if (part)
        *part = (struct step_part){.total = total, .slowest = longest, .count = (int64_t)process->items.count};
    return part ? 0 : -1;
}

int64_t step_part_difference(const struct steps_process *process, const struct step_part *part)
{
    int64_t others = (int64_t)process->items.count - 1;
    return others > 0 ? part->slowest - (part->total - part->slowest) / others : 0;
}

static void find_slowest(struct steps_process *process)
{
    const struct step *items = process->items.items;
    for (size_t i = 1; i < process->items.count; i++)
        if (items[i].end - items[i].start > items[process->slowest].end - items[process->slowest].start)
            process->slowest = i;
}

/* LAUNCHED: by thread and call. */
static int gather(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    int status = 0;
    if (steps->processes.count == 0)
        status = steps_find_periods(steps, trace, launched);
    for (size_t i = 0; i < steps->processes.count; i++)
        find_slowest(&steps->processes.items[i]);
    if (status == 0 && steps->processes.count > 0)
        status = add_ops(steps, trace, launched) ?: add_calls(steps, trace);
    for (size_t i = 0; i < steps->processes.count && status == 0; i++)
        status = add_outside(steps, i);
    return status;
}

int steps_gather(struct steps *steps, const struct trace *trace)
{
    int status = steps_find_ranges(steps, trace);
    if (status < 0 || trace->ranges.count > 0)
        return status < 0 ? status : gather(steps, trace, &trace->launched_ops);
    struct sorter launched; /* the trace has these only where it has ranges */
    launched_ops_init(&launched, trace->space);
    status = launched_ops_gather(&launched, &trace->gpu_ops, &trace->calls, &trace->stream_owners);
    if (status == 0)
        status = gather(steps, trace, &launched);
    sorter_release(&launched);
    return status;
}

void steps_release(struct steps *steps)
{
    for (size_t i = 0; i < steps->processes.count; i++) {
        array_release(&steps->processes.items[i].items);
        series_release(&steps->processes.items[i].times);
    }
    array_release(&steps->processes);
    interner_release(&steps->names);
    dense_map_release(&steps->part_keys);
    array_release(&steps->parts);
}
