#include "analysis/steps/steps.h"

#include "common/lookup.h"
#include "analysis/base/cost_sum.h"

struct steps_process *steps_process(const struct steps *steps, uint32_t process)
{
    return FIND_ITEM(&steps->processes, &steps->by_process, process);
}

struct steps_process *steps_process_new(struct steps *steps, uint32_t process)
{
    struct steps_process *found = PUT_ITEM(&steps->processes, &steps->by_process, process);
    if (found)
        found->process = process;
    return found;
}

int steps_add(struct steps_process *process, const struct step *one)
{
    if (process->items.count >= STEPS_MOST)
        return 0;
    struct step step = *one;
    step.number = one->number != FIELD_ABSENT ? one->number : (int64_t)process->items.count + 1;
    return ADD(array_push, &process->items, step) ? series_add(&process->times, one->end - one->start) : -1;
}

/* --- what is in the steps --- */

/* The step of PROCESS in which the host did something at TIME; its index, or -1. */
static int64_t step_at(const struct steps_process *process, int64_t time)
{
    size_t index = COUNT_BEFORE(process->items.count, i, process->items.items[i].to <= time);
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
static int add_op(struct steps *steps, const struct trace *trace, const struct launched_op *op)
{
    bool called = op->thread != LAUNCHED_NO_THREAD;
    struct steps_process *process = called ? steps_process(steps, trace->threads.items[op->thread].process) : NULL;
    int64_t index = process ? step_at(process, op->called) : -1;
    if (index < 0)
        return 0;
    sum_add(&process->items.items[index].gpu, op->duration);
    process->items.items[index].launches++;
    uint64_t number = (uint64_t)(process - steps->processes.items);
    const struct step_part_key key = {number, op->kernel ? STEP_KERNEL : STEP_COPY, op->name};
    return add_part(steps, &key, (size_t)index == process->slowest, op->duration);
}

static int add_ops(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    const struct launched_op *op;
    return SORTER_EACH(launched, op, add_op(steps, trace, op));
}

static int add_calls(struct steps *steps, const struct trace *trace)
{
    struct host_calls_walk walk;
    const struct host_call *call;
    int status = 0;
    host_calls_walk_begin(&walk, &trace->host_calls);
    while (status == 0 && (call = host_calls_next(&walk))) {
        const struct steps_process *process = steps_process(steps, trace->threads.items[call->thread].process);
        int64_t index = process && call->thread == process->thread ? step_at(process, call->start) : -1;
        if (index < 0)
            continue;
        const struct step_part_key key = {(uint64_t)(process - steps->processes.items), STEP_CALL, call->name};
        status = add_part(steps, &key, (size_t)index == process->slowest, call->end - call->start);
    }
    return host_calls_walk_end(&walk) ?: status;
}

/* Adds to the part "outside of calls" of each process what its steps took, without the parts that are calls. */
static int add_outside(struct steps *steps)
{
    size_t calls = steps->parts.count; /* and operations */
    for (size_t number = 0; number < steps->processes.count; number++) {
        const struct steps_process *process = &steps->processes.items[number];
        const struct step *slowest = &process->items.items[process->slowest];
        const struct step_part_key key = {number, STEP_OUTSIDE, 0};
        struct step_part *part = dense_map_item(&steps->part_keys, &key, &steps->parts);
        if (!part)
            return -1;
        *part = (struct step_part){.slowest = slowest->to - slowest->from, .count = (int64_t)process->items.count};
        for (size_t i = 0; i < process->items.count; i++)
            sum_add(&part->total, process->items.items[i].to - process->items.items[i].from);
    }
    for (size_t i = 0; i < calls; i++) {
        const struct step_part_key *key = dense_map_row(&steps->part_keys, i);
        struct step_part *outside = &steps->parts.items[calls + key->process];
        sum_add(&outside->total, key->kind == STEP_CALL ? -steps->parts.items[i].total : 0);
        sum_add(&outside->slowest, key->kind == STEP_CALL ? -steps->parts.items[i].slowest : 0);
    }
    return 0;
}

int64_t step_part_difference(const struct steps_process *process, const struct step_part *part)
{
    int64_t others = (int64_t)process->items.count - 1;
    return others > 0 ? part->slowest - (part->total - part->slowest) / others : 0;
}

/* LAUNCHED: by thread and call. */
static int gather(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    int status = 0;
    if (steps->processes.count == 0)
        status = steps_find_periods(steps, trace, launched);
    for (size_t i = 0; i < steps->processes.count; i++) {
        struct steps_process *process = &steps->processes.items[i];
        const struct step *items = process->items.items;
        for (size_t k = 1; k < process->items.count; k++)
            if (items[k].end - items[k].start > items[process->slowest].end - items[process->slowest].start)
                process->slowest = k;
    }
    if (status == 0 && steps->processes.count > 0)
        status = add_ops(steps, trace, launched) ?: add_calls(steps, trace);
    return status ?: add_outside(steps);
}

int steps_gather(struct steps *steps, const struct trace *trace)
{
    int status = steps_find_ranges(steps, trace);
    if (status < 0 || trace->ranges.count > 0)
        return status < 0 ? status : gather(steps, trace, &trace->launched_ops);
    struct sorter launched; /* the trace has these only where it has ranges */
    launched_ops_init(&launched, trace->space);
    status = launched_ops_gather(&launched, &trace->gpu_ops, &trace->calls, &trace->stream_owners);
    status = status ?: gather(steps, trace, &launched);
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
    map_release(&steps->by_process);
    interner_release(&steps->names);
    dense_map_release(&steps->part_keys);
    array_release(&steps->parts);
}
