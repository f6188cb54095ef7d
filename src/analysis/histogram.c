#include "analysis/histogram.h"

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
