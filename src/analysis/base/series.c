/*
 * Histograms of values, and series that become histograms when they are long.
 *
 * Medians of short series are found by Hoare's selection. Means and deviations of long series are computed from sums
 * around the average of the first SERIES_EXACT values, which keeps digits that sums of squares would lose.
 */
#include "analysis/base/series.h"

#include <math.h>
#include <stdlib.h>

void histogram_release(struct histogram *histogram)
{
    for (unsigned i = 0; i < HISTOGRAM_POWERS; i++)
        free(histogram->counts[i]);
    *histogram = (struct histogram){0};
}

static unsigned bucket_count(unsigned power)
{
    return power == 0 ? 2 * HISTOGRAM_BUCKETS : HISTOGRAM_BUCKETS;
}

int histogram_make(struct histogram *histogram, unsigned power)
{
    histogram->counts[power] = calloc(bucket_count(power), sizeof(*histogram->counts[power]));
    return histogram->counts[power] ? 0 : -1;
}

static int64_t bucket_middle(unsigned power, unsigned bucket)
{
    uint64_t start = (uint64_t)(bucket + (power ? HISTOGRAM_BUCKETS : 0)) << power;
    return (int64_t)(start + ((UINT64_C(1) << power) - 1) / 2);
}

int64_t histogram_rank(const struct histogram *histogram, uint64_t rank)
{
    for (unsigned power = 0; power < HISTOGRAM_POWERS; power++)
        for (unsigned i = 0; histogram->counts[power] && i < bucket_count(power); i++) {
            if (rank < histogram->counts[power][i])
                return bucket_middle(power, i);
            rank -= histogram->counts[power][i];
        }
    return 0;
}

static int add_to_many(struct series_many *many, int64_t value)
{
    double distance = (double)value - many->origin;
    many->distances += distance;
    many->squares += distance * distance;
    return histogram_add(&many->histogram, value);
}

/* Moves the stored values to a histogram, because more than SERIES_EXACT follow. */
static int begin_many(struct series *series)
{
    struct series_many *many = series->many = calloc(1, sizeof(*many));
    if (!many)
        return -1;
    many->origin = (double)series->total / (double)series->count;
    for (size_t i = 0; i < series->values.count; i++)
        if (add_to_many(many, series->values.items[i]) < 0)
            return -1;
    array_release(&series->values);
    return 0;
}

int series_add(struct series *series, int64_t value)
{
    if (!series->many && series->values.count == SERIES_EXACT && begin_many(series) < 0)
        return -1;
    if (series->many ? add_to_many(series->many, value) < 0 : !ADD(array_push, &series->values, value))
        return -1;
    series->min = series->count == 0 || value < series->min ? value : series->min;
    series->max = series->count == 0 || value > series->max ? value : series->max;
    series->count++;
    if (__builtin_add_overflow(series->total, value, &series->total))
        series->total = value > 0 ? INT64_MAX : INT64_MIN;
    return 0;
}

void series_release(struct series *series)
{
    array_release(&series->values);
    if (series->many)
        histogram_release(&series->many->histogram);
    free(series->many);
    *series = (struct series){0};
}

/* --- */

struct spread {
    double low, scale; /* the logarithm of the least value, and the number of bins per unit of the logarithm */
    uint64_t *counts;
    size_t bins;
};

static void add_to_bin(const struct spread *spread, int64_t value, uint64_t count)
{
    double place = (log((double)(value > 1 ? value : 1)) - spread->low) * spread->scale +
                   1e-9; /* so that values on a bound fall into the upper bin */
    size_t bin = place > 0 ? (size_t)place : 0;
    spread->counts[bin < spread->bins ? bin : spread->bins - 1] += count;
}

void series_spread(const struct series *series, uint64_t *counts, size_t bins)
{
    double low = log((double)(series->min > 1 ? series->min : 1)),
           high = log((double)(series->max > 1 ? series->max : 1));
    const struct spread spread = {low, high > low ? (double)bins / (high - low) : 0, counts, bins};
    for (size_t i = 0; i < series->values.count; i++)
        add_to_bin(&spread, series->values.items[i], 1);
    for (unsigned power = 0; series->many && power < HISTOGRAM_POWERS; power++) {
        const uint64_t *known = series->many->histogram.counts[power];
        for (unsigned i = 0; known && i < bucket_count(power); i++)
            if (known[i] > 0)
                add_to_bin(&spread, bucket_middle(power, i), known[i]);
    }
}

/* --- */

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves the value of rank RANK to its place, so that no value before it is greater and no value behind it is smaller,
 * and returns the value. This is Hoare's selection; the median of three as pivot makes it fast for sorted values, which
 * are usual. */
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

static double deviation(const int64_t *values, size_t count, double average)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = (double)values[i] - average;
        squares += difference * difference;
    }
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

static int64_t within(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

struct summary series_summary(struct series *series)
{
    struct summary summary = {.count = series->count, .total = series->total, .min = series->min, .max = series->max};
    if (series->count == 0)
        return summary;
    summary.average = (double)series->total / (double)series->count;
    if (series->many) {
        /* The sum of squares around the average follows from the sums around the origin. */
        const struct series_many *many = series->many;
        double count = (double)series->count, squares = many->squares - many->distances * many->distances / count;
        summary.deviation = squares > 0 ? sqrt(squares / (count - 1)) : 0;
        int64_t lower = histogram_rank(&many->histogram, ((uint64_t)series->count - 1) / 2);
        int64_t upper = histogram_rank(&many->histogram, (uint64_t)series->count / 2);
        summary.median =
            ((double)within(lower, series->min, series->max) + (double)within(upper, series->min, series->max)) / 2;
    } else {
        summary.deviation = deviation(series->values.items, series->values.count, summary.average);
        summary.median = median(series->values.items, series->values.count);
    }
    return summary;
}

/* --- the trimmed mean --- */

/* Sums over sorted values. The values of ranks FIRST to LAST count unchanged; lower and higher values count as the
 * nearest of these. */
struct trimming {
    int64_t first, last;
    int64_t passed;      /* the number of values added so far */
    double origin, high; /* the values of ranks FIRST and LAST */
    double sum, distances, squares;
};

/* Adds COUNT equal values. Distances are measured from `origin`, so that the squares do not lose digits. */
static void trim_add(struct trimming *trimming, double value, int64_t count)
{
    int64_t begin = trimming->passed, end = begin + count;
    trimming->passed = end;
    int64_t from = begin > trimming->first ? begin : trimming->first;
    int64_t to = end < trimming->last + 1 ? end : trimming->last + 1;
    if (from >= to)
        return;
    if (from == trimming->first)
        trimming->origin = value;
    trimming->high = value;
    double counted = (double)(to - from), distance = value - trimming->origin;
    trimming->sum += value * counted;
    trimming->distances += distance * counted;
    trimming->squares += distance * distance * counted;
}

ORDER_WITH(compare_values, int64_t, ORDER(*a, *b))

struct trimmed series_trimmed(struct series *series)
{
    int64_t outside = series->count < 5 ? series->count > 2 : series->count / 5;
    struct trimming trimming = {.first = outside, .last = series->count - 1 - outside};
    if (series->count == 0)
        return (struct trimmed){0};
    if (series->many) {
        const struct histogram *histogram = &series->many->histogram;
        for (unsigned power = 0; power < HISTOGRAM_POWERS; power++)
            for (unsigned i = 0; histogram->counts[power] && i < bucket_count(power); i++)
                trim_add(&trimming, (double)within(bucket_middle(power, i), series->min, series->max),
                         (int64_t)histogram->counts[power][i]);
    } else {
        qsort(series->values.items, series->values.count, sizeof(*series->values.items), compare_values);
        for (size_t i = 0; i < series->values.count; i++)
            trim_add(&trimming, (double)series->values.items[i], 1);
    }
    double count = (double)series->count, side = (double)outside, far = trimming.high - trimming.origin;
    double counted = count - 2 * side, distances = trimming.distances + side * far;
    double squares = trimming.squares + side * far * far;
    struct trimmed trimmed = {.mean = trimming.sum / counted, .df = counted - 1};
    double all = squares - distances * distances / count;
    if (trimmed.df > 0 && all > 0)
        trimmed.variance = all / (counted * trimmed.df); /* K. K. Yuen, The two-sample trimmed t, 1974 */
    return trimmed;
}
