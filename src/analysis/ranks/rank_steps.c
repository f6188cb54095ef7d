#include "analysis/ranks/rank_steps.h"

#include <stdlib.h>

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
        if (i % width == 0) {
            struct rank_step *added = array_push(steps);
            if (!added)
                return -1;
            *added = (struct rank_step){.rank = rank, .first = (uint32_t)i, .width = width, .from = one->from};
        }
        struct rank_step *step = &steps->items[steps->count - 1];
        step->count++;
        step->to = one->to;
        step->total += one->end - one->start;
        step->gpu += one->gpu;
    }
    return 0;
}

/* The last item of RANK that began by TIME; NULL: none. */
static struct rank_step *find(const struct rank_steps *steps, uint32_t rank, int64_t time)
{
    size_t low = 0, high = steps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rank_step *step = &steps->items[middle];
        if (step->rank < rank || (step->rank == rank && step->from <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && steps->items[low - 1].rank == rank ? &steps->items[low - 1] : NULL;
}

void rank_steps_add_operation(struct rank_steps *steps, uint32_t rank, int64_t time, int64_t duration, int64_t waited)
{
    struct rank_step *step = find(steps, rank, time);
    if (!step || time > step->to)
        return;
    step->communication += duration;
    step->waited += waited;
}

bool rank_step_is_good(const struct rank_step *step, size_t ranks)
{
    uint32_t width = step->width;
    return step->rank < ranks && width > 0 && width <= STEPS_MOST && (width & (width - 1)) == 0 &&
           step->first < STEPS_MOST && step->first % width == 0 && step->count > 0 && step->count <= width;
}
