/*
 * Merges steps into at most RANK_STEPS_MOST items for each rank, and adds operations and idle time to the item of their
 * time.
 */
#include "analysis/ranks/rank_steps.h"

#include "common/array.h"
#include "analysis/base/cost_sum.h"

void rank_steps_release(struct rank_steps *steps)
{
    array_release(steps);
}

int rank_steps_add(struct rank_steps *steps, uint32_t rank, const struct steps_process *process)
{
    uint32_t width = 1;
    if (steps->count > 0 && steps->items[steps->count - 1].rank == rank)
        return 0;
    while (process->items.count > (size_t)width * RANK_STEPS_MOST)
        width *= 2;
    for (size_t i = 0; i < process->items.count; i++) {
        const struct step *one = &process->items.items[i];
        const struct rank_step first = {.rank = rank, .first = (uint32_t)i, .width = width, .from = one->from};
        if (i % width == 0 && !ADD(array_push, steps, first))
            return -1;
        struct rank_step *step = &steps->items[steps->count - 1];
        step->count++;
        step->to = one->to;
        sum_add(&step->total, one->end - one->start);
        sum_add(&step->gpu, one->gpu);
    }
    return 0;
}

/* The last item of RANK that began by TIME, or NULL. */
static struct rank_step *find(const struct rank_steps *steps, uint32_t rank, int64_t time)
{
    struct rank_step *items = steps->items;
    size_t count =
        COUNT_BEFORE(steps->count, i, items[i].rank < rank || (items[i].rank == rank && items[i].from <= time));
    return count > 0 && items[count - 1].rank == rank ? &items[count - 1] : NULL;
}

int64_t rank_steps_begin(const struct rank_steps *steps, uint32_t rank)
{
    const struct rank_step *step = find(steps, rank, INT64_MAX);
    while (step && step > steps->items && step[-1].rank == rank)
        step--;
    return step ? step->from : INT64_MIN;
}

bool rank_steps_add_operation(struct rank_steps *steps, uint32_t rank, int64_t time, int64_t duration, int64_t waited)
{
    struct rank_step *step = find(steps, rank, time);
    if (!step || time > step->to)
        return false;
    sum_add(&step->communication, duration);
    sum_add(&step->waited, waited);
    return true;
}

static const enum rank_step_cause groups[IDLE_CAUSE_COUNT] = {
    [IDLE_BEFORE... IDLE_AFTER] = RANK_STEP_OTHER,
    [IDLE_SYNC... IDLE_CALL] = RANK_STEP_CALLS,
    [IDLE_OUTSIDE] = RANK_STEP_OUTSIDE,
    [IDLE_LAUNCH] = RANK_STEP_LAUNCH,
    [IDLE_EVENT... IDLE_HELD] = RANK_STEP_QUEUED,
    [IDLE_UNKNOWN] = RANK_STEP_OTHER,
};

void rank_steps_add_idle(struct rank_steps *steps, uint32_t rank, const struct idle_interval *interval)
{
    int64_t end = interval->start + interval->length;
    struct rank_step *step = find(steps, rank, interval->start);
    if (!step) /* it begins before the first step */
        step = find(steps, rank, end);
    while (step && step > steps->items && step[-1].rank == rank && step[-1].to > interval->start)
        step--;
    for (; step && step < steps->items + steps->count && step->rank == rank && step->from < end; step++) {
        int64_t from = step->from > interval->start ? step->from : interval->start,
                to = step->to < end ? step->to : end;
        sum_add(&step->idle[groups[interval->cause]], to > from ? to - from : 0);
    }
}

bool rank_step_is_good(const struct rank_step *step, size_t ranks)
{
    uint32_t width = step->width;
    return step->rank < ranks && width > 0 && width <= STEPS_MOST && (width & (width - 1)) == 0 &&
           step->first < STEPS_MOST && step->first % width == 0 && step->count > 0 && step->count <= width;
}
