/*
 * A line is a point: its value at the middle of the time, and its drift. A bound is a half-plane of such points. The
 * region is a convex polygon: a large rectangle, cut by one bound after another. Its corners have all that is asked
 * for, because the value of a line at any time is linear in the point.
 */
#include "analysis/job/clock_bounds.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"

#define SLACK_NS 1.0   /* times are whole ns */
#define DRIFT_STEPS 40 /* of the search for the drift: to CLOCK_DRIFT_MOST * 0.618^40, 10^-11 */

struct point {
    double value, drift;
};

struct polygon {
    struct point *corners, *spare; /* both have room for as many corners as cuts can make */
    size_t count;
};

struct solving {
    struct clock_bounds *bounds;
    struct clock_region *region;
    double middle; /* time of a point's value */
    struct polygon polygon;
    double slack;   /* ns by which all bounds are loosened */
    double *sorted; /* memory for all values */
};

void clock_bounds_release(struct clock_bounds *bounds)
{
    array_release(&bounds->values);
}

int clock_bounds_add(struct clock_bounds *bounds, enum clock_side side, int64_t at, int64_t ahead)
{
    bounds->counts[side]++;
    return ADD(array_push, &bounds->values, (struct clock_value){at, (double)ahead, side, false}) ? 0 : -1;
}

/* How far a line is on the right side of a bound; below 0: it violates it. */
static double margin(const struct solving *solving, const struct clock_value *bound, struct point line)
{
    double above = line.value + line.drift * ((double)bound->at - solving->middle) - bound->ahead;
    return bound->side == CLOCK_LEAST ? above : -above;
}

static struct point between(struct point from, struct point to, double part)
{
    return (struct point){from.value + part * (to.value - from.value), from.drift + part * (to.drift - from.drift)};
}

/* --- the region --- */

static void cut(struct solving *solving, const struct clock_value *bound)
{
    struct polygon *polygon = &solving->polygon;
    size_t count = 0;
    for (size_t i = 0; i < polygon->count; i++) {
        struct point from = polygon->corners[i], to = polygon->corners[(i + 1) % polygon->count];
        double inside = margin(solving, bound, from) + solving->slack,
               next = margin(solving, bound, to) + solving->slack;
        if (inside >= 0)
            polygon->spare[count++] = from;
        if ((inside >= 0) != (next >= 0))
            polygon->spare[count++] = between(from, to, inside / (inside - next));
    }
    struct point *corners = polygon->spare;
    polygon->spare = polygon->corners;
    polygon->corners = corners;
    polygon->count = count;
}

static bool cuts(const struct solving *solving, const struct clock_value *bound)
{
    for (size_t i = 0; i < solving->polygon.count; i++)
        if (margin(solving, bound, solving->polygon.corners[i]) < -solving->slack)
            return true;
    return false;
}

static void find_region(struct solving *solving)
{
    const struct clock_bounds *bounds = solving->bounds;
    double reach = CLOCK_DRIFT_MOST * (double)(solving->region->last - solving->region->first) + 2 * solving->slack;
    double least = bounds->values.items[0].ahead, most = least;
    for (size_t i = 0; i < bounds->values.count; i++) {
        least = fmin(least, bounds->values.items[i].ahead);
        most = fmax(most, bounds->values.items[i].ahead);
    }
    solving->polygon.corners[0] = (struct point){least - reach, -CLOCK_DRIFT_MOST};
    solving->polygon.corners[1] = (struct point){most + reach, -CLOCK_DRIFT_MOST};
    solving->polygon.corners[2] = (struct point){most + reach, CLOCK_DRIFT_MOST};
    solving->polygon.corners[3] = (struct point){least - reach, CLOCK_DRIFT_MOST};
    solving->polygon.count = 4;
    for (size_t i = 0; i < bounds->values.count && solving->polygon.count > 0; i++)
        if (!bounds->values.items[i].left_out && cuts(solving, &bounds->values.items[i]))
            cut(solving, &bounds->values.items[i]);
}

/* --- contradictions --- */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The sum of violations by the best line of this drift. As the line rises, fewer of the least and more of the most are
 * violated: it is best where as many bounds lie below it as there are least ones. */
static double violations(struct solving *solving, double drift, struct point *line)
{
    const struct clock_bounds *bounds = solving->bounds;
    size_t count = bounds->values.count, least = bounds->counts[CLOCK_LEAST];
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const struct clock_value *bound = &bounds->values.items[i];
        solving->sorted[i] = bound->ahead - drift * ((double)bound->at - solving->middle);
    }
    qsort(solving->sorted, count, sizeof(*solving->sorted), by_value);
    *line = (struct point){(solving->sorted[least - 1] + solving->sorted[least]) / 2, drift};
    for (size_t i = 0; i < count; i++)
        sum += fmax(0, -margin(solving, &bounds->values.items[i], *line));
    return sum;
}

/* The line of the least sum of violations, which is convex in the drift: by golden sections. */
static struct point least_violating(struct solving *solving)
{
    const double golden = 0.6180339887498949;
    double from = -CLOCK_DRIFT_MOST, to = CLOCK_DRIFT_MOST;
    struct point low_line, high_line;
    double low = to - golden * (to - from), high = from + golden * (to - from);
    double low_sum = violations(solving, low, &low_line), high_sum = violations(solving, high, &high_line);
    for (unsigned i = 0; i < DRIFT_STEPS; i++) {
        if (low_sum <= high_sum) {
            to = high;
            high = low;
            high_sum = low_sum;
            high_line = low_line;
            low = to - golden * (to - from);
            low_sum = violations(solving, low, &low_line);
        } else {
            from = low;
            low = high;
            low_sum = high_sum;
            low_line = high_line;
            high = from + golden * (to - from);
            high_sum = violations(solving, high, &high_line);
        }
    }
    return low_sum <= high_sum ? low_line : high_line;
}

/* Leaves out what is violated by more than NS. */
static void leave_out(struct solving *solving, struct point line, double ns)
{
    for (size_t i = 0; i < solving->bounds->values.count; i++) {
        struct clock_value *bound = &solving->bounds->values.items[i];
        bound->left_out = -margin(solving, bound, line) > ns;
    }
}

/* Sorts what is violated by LINE. Returns how many. */
static size_t sort_violations(struct solving *solving, struct point line)
{
    size_t wrong = 0;
    for (size_t i = 0; i < solving->bounds->values.count; i++) {
        double violation = -margin(solving, &solving->bounds->values.items[i], line);
        if (violation > SLACK_NS / 2)
            solving->sorted[wrong++] = violation;
    }
    qsort(solving->sorted, wrong, sizeof(*solving->sorted), by_value);
    return wrong;
}

/* Some bounds contradict each other. If few are mistakes, the others leave a region: as few as that takes are left out.
 * Else the mistakes are left out, and all others are loosened. */
static void settle(struct solving *solving)
{
    struct clock_region *region = solving->region;
    struct point line = least_violating(solving);
    size_t count = solving->bounds->values.count, wrong = sort_violations(solving, line);
    size_t most = (size_t)ceil(CLOCK_MISTAKES * (double)count), few = 1;
    for (most = most < wrong ? most : wrong; few < most;) {
        size_t half = (few + most) / 2;
        leave_out(solving, line, half < wrong ? solving->sorted[wrong - half - 1] : 0);
        find_region(solving);
        if (solving->polygon.count > 0)
            most = half;
        else
            few = half + 1;
    }
    double least = few < wrong ? solving->sorted[wrong - few - 1] : 0;
    leave_out(solving, line, least);
    find_region(solving);
    region->outliers = few;
    if (solving->polygon.count > 0)
        return;
    region->outliers = wrong;
    region->contradicting = (double)wrong >= CLOCK_CONTRADICTING * (double)count && least > CLOCK_CONTRADICTING_NS;
    solving->slack += least;
    find_region(solving);
}

/* --- the best line --- */

static struct point inner_point(const struct polygon *polygon)
{
    struct point sum = {0, 0};
    for (size_t i = 0; i < polygon->count; i++) {
        sum.value += polygon->corners[i].value / (double)polygon->count;
        sum.drift += polygon->corners[i].drift / (double)polygon->count;
    }
    return sum;
}

/* WISHED, or where the way from there to INNER enters the region. */
static struct point into_region(const struct solving *solving, struct point wished, struct point inner)
{
    double part = 0;
    for (size_t i = 0; i < solving->bounds->values.count; i++) {
        const struct clock_value *bound = &solving->bounds->values.items[i];
        double outside = -margin(solving, bound, wished), there = margin(solving, bound, inner);
        if (!bound->left_out && outside > 0)
            part = fmax(part, outside / (outside + fmax(there, 0)));
    }
    return between(wished, inner, part);
}

static struct point middle_of(const struct solving *solving)
{
    const struct polygon *polygon = &solving->polygon;
    double time = (double)solving->region->last - solving->middle;
    double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
    for (size_t i = 0; i < polygon->count; i++)
        for (int end = 0; end < 2; end++) {
            struct point corner = polygon->corners[i];
            double value = corner.value + corner.drift * (end ? time : -time);
            least[end] = fmin(least[end], value);
            most[end] = fmax(most[end], value);
        }
    double first = (least[0] + most[0]) / 2, last = (least[1] + most[1]) / 2;
    return (struct point){(first + last) / 2, time > 0 ? (last - first) / (2 * time) : inner_point(polygon).drift};
}

static void solve(struct solving *solving, const struct clock_line *wished)
{
    struct clock_region *region = solving->region;
    find_region(solving);
    if (solving->polygon.count == 0) {
        settle(solving);
        if (region->contradicting)
            return;
    }
    struct point best = middle_of(solving);
    if (wished) {
        double drift = fmax(-CLOCK_DRIFT_MOST, fmin(CLOCK_DRIFT_MOST, wished->drift));
        struct point point = {wished->start + wished->drift * solving->middle, drift};
        best = into_region(solving, point, inner_point(&solving->polygon));
    }
    double time = (double)region->last - solving->middle, span = (double)(region->last - region->first);
    for (size_t i = 0; i < solving->polygon.count; i++) {
        double value = solving->polygon.corners[i].value - best.value;
        double drift = solving->polygon.corners[i].drift - best.drift;
        region->uncertainty = fmax(region->uncertainty, fmax(fabs(value - drift * time), fabs(value + drift * time)));
        region->drift_uncertainty = fmax(region->drift_uncertainty, fabs(drift));
    }
    region->uncertainty += solving->slack;
    region->drift_uncertainty += fmin(2 * solving->slack / fmax(span, 1), CLOCK_DRIFT_MOST);
    region->line = (struct clock_line){best.value - best.drift * solving->middle, best.drift};
}

int clock_bounds_solve(struct clock_bounds *bounds, const struct clock_line *wished, struct clock_region *region)
{
    size_t count = bounds->values.count;
    struct solving solving = {.bounds = bounds, .region = region, .slack = SLACK_NS};
    *region = (struct clock_region){.bounds = count};
    region->any = bounds->counts[CLOCK_LEAST] > 0 && bounds->counts[CLOCK_MOST] > 0;
    if (!region->any)
        return 0;
    region->first = region->last = bounds->values.items[0].at;
    for (size_t i = 0; i < count; i++) {
        bounds->values.items[i].left_out = false;
        int64_t at = bounds->values.items[i].at;
        region->first = at < region->first ? at : region->first;
        region->last = at > region->last ? at : region->last;
    }
    solving.middle = ((double)region->first + (double)region->last) / 2;
    solving.polygon.corners = malloc((count + 5) * sizeof(*solving.polygon.corners));
    solving.polygon.spare = malloc((count + 5) * sizeof(*solving.polygon.spare));
    solving.sorted = malloc(count * sizeof(*solving.sorted));
    bool memory = solving.polygon.corners && solving.polygon.spare && solving.sorted;
    if (memory)
        solve(&solving, wished);
    free(solving.polygon.corners);
    free(solving.polygon.spare);
    free(solving.sorted);
    return memory ? 0 : -1;
}
