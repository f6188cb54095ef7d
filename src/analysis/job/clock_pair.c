/*
 * The buckets of a pair of hosts. Their borders are multiples of a power of two, so that two become one by dropping a
 * bit, and times may come in any order.
 */
#include "analysis/job/clock_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/clock_bounds.h"

#define FIRST_SHIFT 20 /* about a millisecond */
#define FIRST_CAPACITY ((size_t)8)

void clock_pair_release(struct clock_pair *pair)
{
    free(pair->buckets);
    pair->buckets = NULL;
    pair->count = pair->capacity = 0;
}

/* Keeps BOUND if it says more than the one of its kind that is there. LENGTH: of an end. */
static void keep(struct clock_bucket *bucket, unsigned kind, struct clock_bound bound, int64_t length)
{
    int64_t ahead = bucket->bounds[kind].ahead;
    bool better = kind == CLOCK_LEAST  ? bound.ahead > ahead
                  : kind == CLOCK_MOST ? bound.ahead < ahead
                                       : length < bucket->length;
    if (bucket->any[kind] && !better)
        return;
    bucket->any[kind] = true;
    bucket->bounds[kind] = bound;
    if (kind == CLOCK_END)
        bucket->length = length;
}

static void halve(struct clock_pair *pair)
{
    int64_t begin = pair->begin >> 1;
    size_t count = 0;
    for (size_t i = 0; i < pair->count; i++) {
        size_t place = (size_t)(((pair->begin + (int64_t)i) >> 1) - begin);
        const struct clock_bucket *bucket = &pair->buckets[i];
        for (unsigned kind = 0; place < count && kind < CLOCK_BOUNDS; kind++)
            if (bucket->any[kind])
                keep(&pair->buckets[place], kind, bucket->bounds[kind], bucket->length);
        if (place >= count) {
            pair->buckets[place] = *bucket;
            count = place + 1;
        }
    }
    pair->begin = begin;
    pair->count = count;
    pair->shift++;
}

void clock_pair_shrink(struct clock_pair *pair, size_t most)
{
    while (pair->count > most)
        halve(pair);
    if (pair->capacity <= most || most == 0)
        return;
    struct clock_bucket *smaller = realloc(pair->buckets, most * sizeof(*smaller));
    if (!smaller)
        return;
    pair->buckets = smaller;
    pair->capacity = most;
}

static int reserve(struct clock_pair *pair, size_t wanted, size_t most)
{
    size_t capacity = pair->capacity > 0 ? pair->capacity : FIRST_CAPACITY;
    if (wanted <= pair->capacity)
        return 0;
    while (capacity < wanted)
        capacity *= 2;
    capacity = capacity < most ? capacity : most;
    struct clock_bucket *grown = realloc(pair->buckets, capacity * sizeof(*grown));
    if (!grown)
        return -1;
    pair->buckets = grown;
    pair->capacity = capacity;
    return 0;
}

/* Returns the number of the bucket of AT, after making all buckets longer until at most MOST are needed. */
static int64_t place_of(struct clock_pair *pair, int64_t at, size_t most)
{
    if (pair->count == 0) {
        pair->shift = FIRST_SHIFT;
        pair->begin = at >> pair->shift;
    }
    for (;; halve(pair)) {
        int64_t index = at >> pair->shift, end = pair->begin + (int64_t)pair->count;
        int64_t from = index < pair->begin ? index : pair->begin, to = index < end ? end : index + 1;
        if (to - from <= (int64_t)most)
            return index - pair->begin;
    }
}

/* The bucket of AT, made when it is new. NULL: no memory. */
static struct clock_bucket *bucket_of(struct clock_pair *pair, int64_t at, size_t most)
{
    int64_t place = place_of(pair, at, most);
    size_t before = place < 0 ? (size_t)-place : 0;
    size_t count = place < (int64_t)pair->count ? pair->count + before : (size_t)place + 1;
    if (reserve(pair, count, most) < 0)
        return NULL;
    if (before > 0) {
        memmove(pair->buckets + before, pair->buckets, pair->count * sizeof(*pair->buckets));
        memset(pair->buckets, 0, before * sizeof(*pair->buckets));
        pair->begin -= (int64_t)before;
    } else if (count > pair->count) {
        memset(pair->buckets + pair->count, 0, (count - pair->count) * sizeof(*pair->buckets));
    }
    pair->count = count;
    return &pair->buckets[place + (int64_t)before];
}

static int add(struct clock_pair *pair, unsigned kind, int64_t at, int64_t ahead, int64_t length, size_t most)
{
    struct clock_bucket *bucket = bucket_of(pair, at, most);
    if (bucket)
        keep(bucket, kind, (struct clock_bound){at, ahead}, length);
    return bucket ? 0 : -1;
}

/* A's first leave, read on A, is not before B's last entry: B had then come at least so far. And the other way round.
 */
int clock_pair_add(struct clock_pair *pair, const struct clock_entry *a, const struct clock_entry *b, size_t most)
{
    int status = 0;
    pair->operations++;
    if (a->receives && b->sends)
        status |= add(pair, CLOCK_LEAST, a->leave, b->enter - a->leave, 0, most);
    if (a->sends && b->receives)
        status |= add(pair, CLOCK_MOST, a->enter, b->leave - a->enter, 0, most);
    if (a->all && b->all) {
        int64_t on_a = a->leave - a->last_enter, on_b = b->leave - b->last_enter, length = on_a < on_b ? on_a : on_b;
        status |= length < 0 ? 0 : add(pair, CLOCK_END, a->leave, b->leave - a->leave, length, most);
    }
    return status;
}

/* The number of ends that a line is fitted to. Each is the best of several neighbouring buckets. */
#define FIT_ENDS ((size_t)48)

struct ends {
    struct clock_bound items[FIT_ENDS];
    int64_t lengths[FIT_ENDS]; /* of their operations, since the last entry */
    size_t count;
};

static void choose_ends(const struct clock_pair *pair, struct ends *ends)
{
    size_t best = SIZE_MAX;
    ends->count = 0;
    for (size_t i = 0; i < pair->count; i++) {
        const struct clock_bucket *bucket = &pair->buckets[i];
        if (bucket->any[CLOCK_END] && (best == SIZE_MAX || bucket->length < pair->buckets[best].length))
            best = i;
        bool last_of_them = (i + 1) * FIT_ENDS / pair->count != i * FIT_ENDS / pair->count;
        if (!last_of_them || best == SIZE_MAX)
            continue;
        ends->lengths[ends->count] = pair->buckets[best].length;
        ends->items[ends->count++] = pair->buckets[best].bounds[CLOCK_END];
        best = SIZE_MAX;
    }
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The line along which operations ended on both hosts at once: by Theil and Sen, which a few late ends do not move. */
static struct clock_line fit(const struct ends *ends)
{
    double values[FIT_ENDS * FIT_ENDS / 2];
    const struct clock_bound *items = ends->items;
    struct clock_line line = {0, 0};
    size_t slopes = 0;
    for (size_t i = 0; i < ends->count; i++)
        for (size_t j = i + 1; j < ends->count; j++)
            if (items[j].at != items[i].at)
                values[slopes++] = (double)(items[j].ahead - items[i].ahead) / (double)(items[j].at - items[i].at);
    line.drift = slopes > 0 ? median(values, slopes) : 0;
    for (size_t i = 0; i < ends->count; i++)
        values[i] = (double)items[i].ahead - line.drift * (double)items[i].at;
    line.start = median(values, ends->count);
    return line;
}

static double miss(const struct ends *ends, size_t i, struct clock_line line)
{
    const struct clock_bound *end = &ends->items[i];
    return fabs((double)end->ahead - line.start - line.drift * (double)end->at);
}

/* By how much all ends but one in 24 miss the line at most. */
static double usual_miss(const struct ends *ends, struct clock_line line)
{
    double misses[FIT_ENDS];
    for (size_t i = 0; i < ends->count; i++)
        misses[i] = miss(ends, i, line);
    qsort(misses, ends->count, sizeof(*misses), by_value);
    return misses[(ends->count * 23 - 1) / 24];
}

/* How far the truth may be from the line by the shortest operation of each of some stretches: it is within its length
 * of its end. One of them may be a mistake. */
#define STRETCHES ((size_t)8)
static double farthest_truth(const struct ends *ends, struct clock_line line)
{
    double far[STRETCHES];
    size_t count = 0, best = SIZE_MAX;
    for (size_t i = 0; i < ends->count; i++) {
        if (best == SIZE_MAX || ends->lengths[i] < ends->lengths[best])
            best = i;
        if ((i + 1) * STRETCHES / ends->count == i * STRETCHES / ends->count)
            continue;
        far[count++] = miss(ends, best, line) + (double)ends->lengths[best];
        best = SIZE_MAX;
    }
    qsort(far, count, sizeof(*far), by_value);
    return 1.25 * far[count > 1 ? count - 2 : 0]; /* more of it may lie between them */
}

/* The middle of the region; or where ends agree far better than that, as those of a host that is always late do, the
 * line of the ends. A clock that does not drift evenly shows in ends that miss the line. */
static int solve(const struct ends *ends, struct clock_bounds *bounds, struct clock_region *region)
{
    int status = clock_bounds_solve(bounds, NULL, region);
    if (status < 0 || !region->any || region->contradicting || ends->count == 0)
        return status;
    struct clock_line fitted = fit(ends);
    if (2 * usual_miss(ends, fitted) < region->uncertainty)
        status = clock_bounds_solve(bounds, &fitted, region);
    region->uncertainty = fmax(region->uncertainty, farthest_truth(ends, region->line));
    return status;
}

int clock_pair_solve(const struct clock_pair *pair, struct clock_region *region)
{
    struct clock_bounds bounds = {0};
    struct ends ends;
    int status = 0;
    choose_ends(pair, &ends);
    for (size_t i = 0; i < pair->count && status == 0; i++) {
        const struct clock_bucket *bucket = &pair->buckets[i];
        for (enum clock_side side = CLOCK_LEAST; side <= CLOCK_MOST; side++)
            if (bucket->any[side])
                status |= clock_bounds_add(&bounds, side, bucket->bounds[side].at, bucket->bounds[side].ahead);
    }
    if (status == 0)
        status = solve(&ends, &bounds, region);
    clock_bounds_release(&bounds);
    return status;
}
