/* Merges overlapping intervals as they are added, so that few reach the sorter. A walk by start then sums their
 * unions. */
#include "analysis/base/busy.h"

#include "analysis/base/cost_sum.h"

ORDER_BY(by_start, struct busy_interval, start)

void busy_init(struct busy *busy, struct sorter_space *space)
{
    *busy = (struct busy){0};
    sorter_init(&busy->intervals, space, sizeof(struct busy_interval), by_start);
}

void busy_release(struct busy *busy)
{
    sorter_release(&busy->intervals);
    array_release(&busy->last);
}

int busy_add(struct busy *busy, uint32_t number, int64_t start, int64_t end)
{
    struct busy_interval *last = array_at(&busy->last, number);
    if (!last)
        return -1;
    if (last->any && start >= last->start && start <= last->end) {
        last->end = end > last->end ? end : last->end;
        return 0;
    }
    if (last->any && sorter_add(&busy->intervals, last) < 0)
        return -1;
    *last = (struct busy_interval){start, end, number, true};
    return 0;
}

int busy_ready(struct busy *busy)
{
    for (size_t i = 0; i < busy->last.count; i++)
        if (busy->last.items[i].any && sorter_add(&busy->intervals, &busy->last.items[i]) < 0)
            return -1;
    return sorter_ready(&busy->intervals);
}

void range_busy_release(struct range_busy *busy)
{
    dense_map_release(&busy->ids);
    array_release(&busy->gpus);
    array_release(&busy->totals);
    busy_release(&busy->busy);
}

static struct range_busy_gpu *find_gpu(struct range_busy *busy, uint32_t row, uint32_t gpu)
{
    const uint64_t id[] = {row, gpu};
    struct range_busy_gpu *one = dense_map_item(&busy->ids, &id, &busy->gpus);
    if (one)
        one->row = row;
    return one;
}

int range_busy_add(struct range_busy *busy, uint32_t row, uint32_t gpu, int64_t start, int64_t duration)
{
    struct range_busy_gpu *one = find_gpu(busy, row, gpu);
    return one ? busy_add(&busy->busy, (uint32_t)(one - busy->gpus.items), start, start + duration) : -1;
}

static int make_total(struct range_busy *busy, uint32_t row)
{
    while (busy->totals.count <= row)
        if (!array_push(&busy->totals))
            return -1;
    return 0;
}

static void add_interval(struct range_busy *busy, const struct busy_interval *interval)
{
    struct range_busy_gpu *one = &busy->gpus.items[interval->number];
    sum_add(&busy->totals.items[one->row], busy_sum_add(&one->sum, interval->start, interval->end));
}

int range_busy_finish(struct range_busy *busy)
{
    const struct busy_interval *one;
    for (size_t i = 0; i < busy->gpus.count; i++)
        if (make_total(busy, busy->gpus.items[i].row) < 0)
            return -1;
    return BUSY_EACH(&busy->busy, one, add_interval(busy, one));
}

int range_busy_leave_out(struct range_busy *busy, uint32_t row)
{
    if (make_total(busy, row) < 0)
        return -1;
    busy->totals.items[row] = RANGE_BUSY_UNKNOWN;
    return 0;
}

int64_t range_busy_on(struct range_busy *busy, uint32_t row, uint32_t gpu)
{
    const struct range_busy_gpu *one = find_gpu(busy, row, gpu);
    return one ? one->sum.total : 0;
}
