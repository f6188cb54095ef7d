#include "tool/report/histogram.h"

#include <stdlib.h>

void histogram_release(struct histogram *histogram)
{
    for (unsigned i = 0; i < HISTOGRAM_POWERS; i++)
        free(histogram->counts[i]);
    *histogram = (struct histogram){0};
}

/* Of power 0 buckets are 1 wide and there are twice as many; of power P they are 2^P wide, from 2^P * BUCKETS on. */
static unsigned power_of(uint64_t value)
{
    return value < 2 * HISTOGRAM_BUCKETS ? 0 : 63 - 7 - (unsigned)__builtin_clzll(value);
}
_Static_assert(HISTOGRAM_BUCKETS == 1 << 7, "power_of() knows");

static unsigned bucket_count(unsigned power)
{
    return power == 0 ? 2 * HISTOGRAM_BUCKETS : HISTOGRAM_BUCKETS;
}

int histogram_add(struct histogram *histogram, int64_t value)
{
    uint64_t known = value > 0 ? (uint64_t)value : 0;
    unsigned power = power_of(known);
    uint64_t **counts = &histogram->counts[power];
    if (!*counts && !(*counts = calloc(bucket_count(power), sizeof(**counts))))
        return -1;
    (*counts)[(known >> power) - (power ? HISTOGRAM_BUCKETS : 0)]++;
    histogram->total++;
    return 0;
}

static int64_t middle(unsigned power, unsigned bucket)
{
    uint64_t start = (uint64_t)(bucket + (power ? HISTOGRAM_BUCKETS : 0)) << power;
    return (int64_t)(start + ((UINT64_C(1) << power) - 1) / 2);
}

int64_t histogram_rank(const struct histogram *histogram, uint64_t rank)
{
    for (unsigned power = 0; power < HISTOGRAM_POWERS; power++)
        for (unsigned i = 0; histogram->counts[power] && i < bucket_count(power); i++) {
            if (rank < histogram->counts[power][i])
                return middle(power, i);
            rank -= histogram->counts[power][i];
        }
    return 0;
}
