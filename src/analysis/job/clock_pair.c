/*
 * Stores bounds in buckets whose borders are multiples of a power of two, so that two become one by dropping a bit, and
 * times may come in any order.
 *
 * The possible lines of a given drift form a band: each bound is moved along the drift to the middle of the time, and a
 * line is above the highest LEAST bound and below the lowest MOST bound. The width of the band is a concave function of
 * the drift. So are the highest value of lines at a given time, and the negative of the lowest value. Therefore
 * golden-section search finds their maxima.
 */
#include "analysis/job/clock_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define FIRST_SHIFT 20 /* a bucket of about a millisecond */

/* --- buckets --- */

/* Replaces *KNOWN by BOUND if BOUND is tighter. */
static void keep(struct clock_bound *known, enum clock_kind kind, const struct clock_bound *bound)
{
    bool better = kind == CLOCK_LEAST  ? bound->ahead > known->ahead
                  : kind == CLOCK_MOST ? bound->ahead < known->ahead
                                       : bound->length < known->length;
    if (bound->any && (!known->any || better))
        *known = *bound;
}

/* Makes the stretches of all buckets twice as long. */
static void halve(struct clock_pair *pair)
{
    struct clock_bucket *items = pair->buckets.items;
    size_t count = 0;
    for (size_t i = 0; i < pair->buckets.count; i++) {
        items[i].number >>= 1;
        if (count == 0 || items[count - 1].number != items[i].number) {
            items[count++] = items[i];
            continue;
        }
        for (enum clock_kind kind = 0; kind < CLOCK_KINDS; kind++)
            keep(&items[count - 1].bounds[kind], kind, &items[i].bounds[kind]);
    }
    pair->buckets.count = count;
    pair->shift++;
}

void clock_pair_shrink(struct clock_pair *pair, size_t most)
{
    while (pair->buckets.count > most)
        halve(pair);
    if (pair->buckets.capacity > most)
        array_fit(&pair->buckets);
}

static int add(struct clock_pair *pair, enum clock_kind kind, int64_t at, int64_t ahead, int64_t length, size_t most)
{
    const struct clock_bound bound = {true, at, ahead, length};
    if (pair->buckets.count == 0)
        pair->shift = FIRST_SHIFT;
    for (;; halve(pair)) {
        int64_t number = at >> pair->shift;
        struct clock_bucket *items = pair->buckets.items;
        size_t count = pair->buckets.count, place = COUNT_BEFORE(count, i, items[i].number < number);
        if (place < count && items[place].number == number) {
            keep(&items[place].bounds[kind], kind, &bound);
            return 0;
        }
        if (count >= most)
            continue;
        if (!array_push(&pair->buckets))
            return -1;
        items = pair->buckets.items;
        memmove(&items[place + 1], &items[place], (count - place) * sizeof(*items));
        items[place] = (struct clock_bucket){.number = number};
        items[place].bounds[kind] = bound;
        return 0;
    }
}

/* A's first leave is not before B's last entry, so B's clock is ahead by at least their difference; the reverse gives
 * the upper bound. */
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

/* --- the line on which operations end --- */

#define ENDS_MOST ((size_t)48) /* limit of the ends that a line is fitted to */
#define STRETCHES ((size_t)8)  /* the shortest operation of each shows how far the truth may be from a line */

/* A line: VALUE is its value at the middle of all bounds. All times here are relative to this middle. */
struct line {
    double value, drift;
};

struct end {
    double at, ahead, length;
};

struct solving {
    const struct clock_pair *pair;
    struct clock_region *region;
    double middle; /* the middle of the times of all bounds, on A */
    double reach;  /* from the middle to the first and the last bound */
    double slack;  /* ns by which all bounds are loosened */
    size_t count;
    struct point {
        double at, ahead;
        bool most, left_out;
    } *points;
    double *sorted; /* scratch memory: one number for each point */
};

static int by_value(const void *left, const void *right)
{
    return ORDER(*(const double *)left, *(const double *)right);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Sets ENDS to the shortest operation of each of at most MOST groups of neighbouring buckets. MIDDLES: uses the middles
 * of the two bounds of a bucket instead of the ends of operations. Returns the number of ENDS. */
static size_t choose_ends(const struct solving *solving, size_t most, bool middles, struct end ends[ENDS_MOST])
{
    struct end best = {.length = INFINITY};
    size_t buckets = solving->pair->buckets.count, count = 0;
    for (size_t i = 0; i < buckets; i++) {
        const struct clock_bound *bounds = solving->pair->buckets.items[i].bounds;
        const struct clock_bound *from = &bounds[middles ? CLOCK_LEAST : CLOCK_END];
        const struct clock_bound *to = &bounds[middles ? CLOCK_MOST : CLOCK_END];
        double length = middles ? (double)(to->ahead - from->ahead) : (double)from->length;
        if (from->any && to->any && length >= 0 && length < best.length)
            best = (struct end){((double)from->at + (double)to->at) / 2 - solving->middle,
                                ((double)from->ahead + (double)to->ahead) / 2, length};
        if ((i + 1) * most / buckets == i * most / buckets || isinf(best.length))
            continue;
        ends[count++] = best;
        best.length = INFINITY;
    }
    return count;
}

/* Fits a line to ends by the Theil-Sen estimator, on which a few late ends have no influence. */
static struct line fit(const struct end *ends, size_t count)
{
    double values[ENDS_MOST * ENDS_MOST / 2];
    struct line line = {0, 0};
    size_t slopes = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (ends[j].at != ends[i].at)
                values[slopes++] = (ends[j].ahead - ends[i].ahead) / (ends[j].at - ends[i].at);
    line.drift = slopes > 0 ? median(values, slopes) : 0;
    for (size_t i = 0; i < count; i++)
        values[i] = ends[i].ahead - line.drift * ends[i].at;
    line.value = median(values, count);
    return line;
}

/* Returns the largest distance of an end from the line, after the BUT largest are dropped. LENGTHS: adds the length of
 * each operation, because the truth is within this length of the end. */
static double miss(const struct end *ends, size_t count, struct line line, bool lengths, size_t but)
{
    double misses[ENDS_MOST];
    for (size_t i = 0; i < count; i++)
        misses[i] = fabs(ends[i].ahead - line.value - line.drift * ends[i].at) + (lengths ? ends[i].length : 0);
    qsort(misses, count, sizeof(*misses), by_value);
    return misses[count - 1 - but];
}

/* --- the region --- */

#define SLACK_NS 1.0 /* times are whole ns */
#define STEPS 60     /* steps of a search for a drift, to a precision of 10^-15 */

/* Returns the width of the band of lines of DRIFT, and sets its borders *LOW and *HIGH. The width is below 0 if bounds
 * contradict each other. */
static double band(const struct solving *solving, double drift, double *low, double *high)
{
    *low = -INFINITY;
    *high = INFINITY;
    for (size_t i = 0; i < solving->count; i++) {
        const struct point *point = &solving->points[i];
        double value = point->ahead - drift * point->at;
        if (point->left_out)
            continue;
        if (point->most)
            *high = fmin(*high, value + solving->slack);
        else
            *low = fmax(*low, value - solving->slack);
    }
    return *high - *low;
}

enum extreme { WIDEST, HIGHEST, LOWEST };

/* Returns the function of DRIFT whose maximum is the EXTREME: the width of the band, the highest value of its lines at
 * time AT, or the negative of the lowest. */
static double extent(const struct solving *solving, double drift, enum extreme extreme, double at)
{
    double low, high, width = band(solving, drift, &low, &high);
    return extreme == WIDEST ? width : extreme == HIGHEST ? high + drift * at : -(low + drift * at);
}

/* Returns the drift between FROM and TO at which extent(), which is concave, is largest, by golden-section search. */
static double find_extreme(const struct solving *solving, double from, double to, enum extreme extreme, double at)
{
    const double golden = 0.6180339887498949;
    double low = to - golden * (to - from), high = from + golden * (to - from);
    double at_low = extent(solving, low, extreme, at), at_high = extent(solving, high, extreme, at);
    for (unsigned i = 0; i < STEPS; i++) {
        if (at_low >= at_high) {
            to = high;
            high = low;
            at_high = at_low;
            low = to - golden * (to - from);
            at_low = extent(solving, low, extreme, at);
        } else {
            from = low;
            low = high;
            at_low = at_high;
            high = from + golden * (to - from);
            at_high = extent(solving, high, extreme, at);
        }
    }
    return (from + to) / 2;
}

/* Returns the drift farthest from GOOD towards FAR that still has possible lines. */
static double find_border(const struct solving *solving, double good, double far)
{
    double low, high;
    if (band(solving, far, &low, &high) >= 0)
        return far;
    for (unsigned i = 0; i < STEPS; i++) {
        double middle = (good + far) / 2;
        *(band(solving, middle, &low, &high) >= 0 ? &good : &far) = middle;
    }
    return good;
}

/* Returns how far LINE is on the wrong side of BOUND; below 0 if it is on the right side. */
static double violation(const struct point *bound, struct line line)
{
    double above = line.value + line.drift * bound->at - bound->ahead;
    return bound->most ? above : -above;
}

/* Handles bounds that contradict each other. First leaves out as few as possible, at most a share of CLOCK_MISTAKES:
 * those that are farthest on the wrong side of a line through the middles of the bounds. If contradictions remain,
 * keeps this choice and loosens all other bounds until there is a line. Returns the drift of the widest band. */
static double settle(struct solving *solving, double drift)
{
    struct clock_region *region = solving->region;
    struct end middles[ENDS_MOST];
    size_t count = choose_ends(solving, ENDS_MOST, true, middles), wrong = 0;
    double low, high, width = band(solving, drift, &low, &high);
    struct line line = count > 0 ? fit(middles, count) : (struct line){(low + high) / 2, drift};
    for (size_t i = 0; i < solving->count; i++)
        if (violation(&solving->points[i], line) > SLACK_NS / 2)
            solving->sorted[wrong++] = violation(&solving->points[i], line);
    qsort(solving->sorted, wrong, sizeof(*solving->sorted), by_value);
    size_t most = (size_t)ceil(CLOCK_MISTAKES * (double)solving->count);
    for (size_t few = 1; few <= most && few <= wrong && width < 0; few++) {
        double least = few < wrong ? solving->sorted[wrong - few - 1] : 0;
        for (size_t i = 0; i < solving->count; i++)
            solving->points[i].left_out = violation(&solving->points[i], line) > least;
        drift = find_extreme(solving, -CLOCK_DRIFT_MOST, CLOCK_DRIFT_MOST, WIDEST, 0);
        width = band(solving, drift, &low, &high);
        region->outliers = few;
    }
    if (width >= 0)
        return drift;
    region->outliers = wrong;
    region->contradicting =
        (double)wrong >= CLOCK_CONTRADICTING * (double)solving->count && -width > 2 * CLOCK_CONTRADICTING_NS;
    solving->slack -= width;
    return drift;
}

/* Sets the best line: the middle of the region, or the line through the ends of operations if the ends are much closer
 * to it than the region is wide. Sets the uncertainty, which grows if ends miss the best line because the clock does
 * not drift evenly. */
static void solve(struct solving *solving)
{
    struct clock_region *region = solving->region;
    double low, high, value[2], drift = find_extreme(solving, -CLOCK_DRIFT_MOST, CLOCK_DRIFT_MOST, WIDEST, 0);
    if (band(solving, drift, &low, &high) < 0)
        drift = settle(solving, drift);
    if (region->contradicting)
        return;
    double least = find_border(solving, drift, -CLOCK_DRIFT_MOST), most = find_border(solving, drift, CLOCK_DRIFT_MOST);
    double highest[2], lowest[2];
    for (int i = 0; i < 2; i++) {
        double at = i ? solving->reach : -solving->reach;
        highest[i] = extent(solving, find_extreme(solving, least, most, HIGHEST, at), HIGHEST, at);
        lowest[i] = -extent(solving, find_extreme(solving, least, most, LOWEST, at), LOWEST, at);
        value[i] = (highest[i] + lowest[i]) / 2;
    }
    struct line best = {(value[0] + value[1]) / 2, (least + most) / 2};
    if (solving->reach > 0)
        best.drift = (value[1] - value[0]) / (2 * solving->reach);
    double width = fmax(highest[0] - value[0], highest[1] - value[1]);
    struct end ends[ENDS_MOST];
    size_t count = choose_ends(solving, ENDS_MOST, false, ends);
    struct line fitted = count > 0 ? fit(ends, count) : best;
    if (count > 0 && 2 * miss(ends, count, fitted, false, count / 24) < width + solving->slack) {
        best.drift = fmax(least, fmin(most, fitted.drift));
        band(solving, best.drift, &low, &high);
        best.value = fmax(low, fmin(high, fitted.value));
    }
    for (int i = 0; i < 2; i++) {
        double own = best.value + best.drift * (i ? solving->reach : -solving->reach);
        region->uncertainty = fmax(region->uncertainty, fmax(highest[i] - own, own - lowest[i]) + solving->slack);
    }
    count = choose_ends(solving, STRETCHES, false, ends);
    if (count > 0) /* drops the worst, which may be a mistake; the truth may be farther off in between */
        region->uncertainty = fmax(region->uncertainty, 1.25 * miss(ends, count, best, true, count > 1));
    region->drift_uncertainty = fmax(most - best.drift, best.drift - least) +
                                fmin(solving->slack / fmax(solving->reach, 0.5), CLOCK_DRIFT_MOST);
    region->start = best.value - best.drift * solving->middle;
    region->drift = best.drift;
}

int clock_pair_solve(const struct clock_pair *pair, struct clock_region *region)
{
    struct solving solving = {.pair = pair, .region = region, .slack = SLACK_NS};
    bool any[CLOCK_KINDS] = {false};
    *region = (struct clock_region){.first = INT64_MAX, .last = INT64_MIN};
    solving.points = calloc(2 * pair->buckets.count + 1, sizeof(*solving.points));
    solving.sorted = calloc(2 * pair->buckets.count + 1, sizeof(*solving.sorted));
    bool memory = solving.points && solving.sorted;
    for (size_t i = 0; i < pair->buckets.count && memory; i++)
        for (enum clock_kind kind = CLOCK_LEAST; kind <= CLOCK_MOST; kind++) {
            const struct clock_bound *bound = &pair->buckets.items[i].bounds[kind];
            if (!bound->any)
                continue;
            any[kind] = true;
            solving.points[solving.count++] =
                (struct point){(double)bound->at, (double)bound->ahead, .most = kind == CLOCK_MOST};
            region->first = bound->at < region->first ? bound->at : region->first;
            region->last = bound->at > region->last ? bound->at : region->last;
        }
    region->bounds = solving.count;
    region->any = any[CLOCK_LEAST] && any[CLOCK_MOST];
    solving.middle = ((double)region->first + (double)region->last) / 2;
    solving.reach = (double)region->last - solving.middle;
    for (size_t i = 0; i < solving.count; i++)
        solving.points[i].at -= solving.middle;
    if (region->any)
        solve(&solving);
    else
        region->first = region->last = 0;
    free(solving.points);
    free(solving.sorted);
    return memory ? 0 : -1;
}
