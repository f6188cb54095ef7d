#include "tool/report/series.h"

#include <math.h>

int series_add(struct series *series, int64_t value)
{
    int64_t *place = array_push(&series->values);
    if (!place)
        return -1;
    *place = value;
    if (__builtin_add_overflow(series->total, value, &series->total))
        series->total = value > 0 ? INT64_MAX : INT64_MIN;
    return 0;
}

void series_release(struct series *series)
{
    array_release(&series->values);
    series->total = 0;
}

int series_by_add(struct series_by *series, const void *key, size_t size, int64_t value)
{
    struct series *one = groups_item_bytes(&series->groups, key, size, (void **)&series->items.items,
                                           &series->items.count, &series->items.capacity, sizeof(*one));
    return one ? series_add(one, value) : -1;
}

int64_t series_by_total(const struct series_by *series)
{
    int64_t total = 0;
    for (size_t i = 0; i < series->items.count; i++)
        if (__builtin_add_overflow(total, series->items.items[i].total, &total))
            return INT64_MAX;
    return total;
}

void series_by_release(struct series_by *series)
{
    for (size_t i = 0; i < series->items.count; i++)
        series_release(&series->items.items[i]);
    array_release(&series->items);
    groups_release(&series->groups);
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Puts the value of rank RANK at its place, none greater before it and none smaller behind it (Hoare's selection, with
 * the median of three as pivot, so that sorted values, the usual ones, are quick). */
static int64_t select_rank(int64_t *values, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle] < values[low])
            swap(&values[middle], &values[low]);
        if (values[high] < values[low])
            swap(&values[high], &values[low]);
        if (values[high] < values[middle])
            swap(&values[high], &values[middle]);
        int64_t pivot = values[middle];
        size_t left = low, right = high;
        for (;;) {
            while (values[left] < pivot)
                left++;
            while (values[right] > pivot)
                right--;
            if (left >= right)
                break;
            swap(&values[left++], &values[right--]);
        }
        if (rank <= right)
            high = right;
        else
            low = right + 1;
    }
    return values[rank];
}

static double median(int64_t *values, size_t count)
{
    int64_t upper = select_rank(values, count, count / 2);
    if (count % 2 == 1)
        return (double)upper;
    int64_t lower = values[0];
    for (size_t i = 1; i < count / 2; i++)
        if (values[i] > lower)
            lower = values[i];
    return ((double)lower + (double)upper) / 2;
}

struct summary series_summary(struct series *series)
{
    struct summary summary = {.count = (int64_t)series->values.count, .total = series->total};
    int64_t *values = series->values.items;
    size_t count = series->values.count;
    if (count == 0)
        return summary;
    summary.min = summary.max = values[0];
    summary.average = (double)series->total / (double)count;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = (double)values[i] - summary.average;
        squares += difference * difference;
        summary.min = values[i] < summary.min ? values[i] : summary.min;
        summary.max = values[i] > summary.max ? values[i] : summary.max;
    }
    summary.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    summary.median = median(values, count);
    return summary;
}
