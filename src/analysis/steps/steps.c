/*
 * Gathers the steps of all processes, then sums the operations, calls and other host time in them by name.
 */
#include "analysis/steps/steps.h"

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/steps/steps_periods.h"
#include "analysis/steps/steps_ranges.h"

/* --- what is in the steps --- */

/* The index of the step of PROCESS that TIME of the host is in, or -1. */
static int64_t step_at(const struct steps_process *process, int64_t time)
{
    size_t index = COUNT_BEFORE(process->items.count, i, process->items.items[i].to <= time);
    return index < process->items.count && process->items.items[index].from <= time ? (int64_t)index : -1;
}

static int add_work(struct steps *steps, const struct step_work_key *key, bool slowest, int64_t ns)
{
    struct step_work *work = dense_map_item(&steps->work_keys, key, &steps->works);
    if (!work)
        return -1;
    sum_add(&work->total, ns);
    work->count++;
    sum_add(&work->slowest, slowest ? ns : 0);
    work->slowest_count += slowest;
    return 0;
}

/* Adds an operation. Other threads of the process launch for the step, too, such as that of PyTorch's backward pass. */
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
    const struct step_work_key key = {number, op->kernel ? STEP_KERNEL : STEP_COPY, op->name};
    return add_work(steps, &key, (size_t)index == process->slowest, op->duration);
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
        const struct step_work_key key = {(uint64_t)(process - steps->processes.items), STEP_CALL, call->name};
        status = add_work(steps, &key, (size_t)index == process->slowest, call->end - call->start);
    }
    return host_calls_walk_end(&walk) ?: status;
}

/* Adds the work "outside of calls" of each process: the time of its steps without their calls. */
static int add_outside(struct steps *steps)
{
    size_t calls = steps->works.count; /* the works so far: calls and operations */
    for (size_t number = 0; number < steps->processes.count; number++) {
        const struct steps_process *process = &steps->processes.items[number];
        const struct step *slowest = &process->items.items[process->slowest];
        const struct step_work_key key = {number, STEP_OUTSIDE, 0};
        struct step_work *work = dense_map_item(&steps->work_keys, &key, &steps->works);
        if (!work)
            return -1;
        *work = (struct step_work){.slowest = slowest->to - slowest->from, .count = (int64_t)process->items.count};
        for (size_t i = 0; i < process->items.count; i++)
            sum_add(&work->total, process->items.items[i].to - process->items.items[i].from);
    }
    for (size_t i = 0; i < calls; i++) {
        const struct step_work_key *key = dense_map_row(&steps->work_keys, i);
        struct step_work *outside = &steps->works.items[calls + key->process];
        sum_add(&outside->total, key->kind == STEP_CALL ? -steps->works.items[i].total : 0);
        sum_add(&outside->slowest, key->kind == STEP_CALL ? -steps->works.items[i].slowest : 0);
    }
    return 0;
}

int64_t step_work_difference(const struct steps_process *process, const struct step_work *work)
{
    int64_t others = (int64_t)process->items.count - 1;
    return others > 0 ? work->slowest - (work->total - work->slowest) / others : 0;
}

/* Sums the work of all steps. LAUNCHED is sorted by thread and call. */
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
    const struct launched_op *op;
    if (status == 0 && steps->processes.count > 0)
        status = SORTER_EACH(launched, op, add_op(steps, trace, op)) ?: add_calls(steps, trace);
    return status ?: add_outside(steps);
}

int steps_gather(struct steps *steps, const struct trace *trace)
{
    int status = steps_find_ranges(steps, trace);
    if (status < 0 || trace->ranges.count > 0)
        return status < 0 ? status : gather(steps, trace, &trace->launched_ops);
    struct sorter launched; /* the trace has launched_ops only if it has ranges */
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
    dense_map_release(&steps->work_keys);
    array_release(&steps->works);
}
