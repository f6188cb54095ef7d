/*
 * Cuts the sorted values at the largest gap, or where the least deviation is left. Then averages the differences within
 * the modes, weighted by how exactly each mode shows the difference.
 */
#include "analysis/diff/diff_modes.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"

/* The least gap between two modes, in standard deviations of the runs of a mode. */
#define MODES_GAP 3
/* The least distance between two modes if a change fills the gap, in standard deviations of the runs of a mode and a
 * side. */
#define MODES_DISTANCE 6
/* How far the sides' shares of the modes may differ by chance, in standard deviations. */
#define MODES_SHARES 3
/* How far the expected t must be above the limit, so that t is above it in 19 of 20 cases. */
#define MODES_POWER 1.65
#define MODES_TRACES 1000

/* --- the modes --- */

static struct diff_cell join(const struct diff_cell *one, const struct diff_cell *other)
{
    size_t count = one->count + other->count;
    if (count == 0)
        return *one;
    double share = (double)other->count / (double)count, distance = other->mean - one->mean;
    return (struct diff_cell){
        .count = count,
        .mean = one->mean + share * distance,
        .squares = one->squares + other->squares + (double)one->count * share * distance * distance,
    };
}

/* Returns the modes if the first LOW of the sorted RUNS are in the low mode. */
static struct diff_modes cut_at(const struct diff_run *runs, size_t count, size_t low)
{
    struct diff_modes modes = {0};
    for (size_t i = 0; i < count; i++) {
        struct diff_cell *cell = &modes.cells[i < low ? LOW_MODE : HIGH_MODE][runs[i].side];
        double distance = runs[i].value - cell->mean;
        cell->count++;
        cell->mean += distance / (double)cell->count;
        cell->squares += distance * (runs[i].value - cell->mean);
    }
    double squares = 0;
    size_t filled = 0;
    for (int i = 0; i < DIFF_MODES * DIFF_SIDES; i++) {
        squares += modes.cells[i / DIFF_SIDES][i % DIFF_SIDES].squares;
        filled += modes.cells[i / DIFF_SIDES][i % DIFF_SIDES].count > 0;
    }
    modes.deviation = sqrt(squares / (double)(count - filled));
    return modes;
}

/* Returns the modes for the cut that leaves the least deviation within modes and sides. */
static struct diff_modes cut_by_deviation(const struct diff_run *runs, size_t count)
{
    struct diff_modes best = {.deviation = INFINITY};
    for (size_t low = DIFF_SIDES; low + DIFF_SIDES <= count; low++) {
        struct diff_modes modes = cut_at(runs, count, low);
        const struct diff_cell *lower = modes.cells[LOW_MODE], *upper = modes.cells[HIGH_MODE];
        bool filled = lower[BEFORE].count && lower[AFTER].count && upper[BEFORE].count && upper[AFTER].count;
        if (filled && modes.deviation < best.deviation)
            best = modes;
    }
    const struct diff_cell *lower = best.cells[LOW_MODE], *upper = best.cells[HIGH_MODE];
    best.distance = fmin(upper[BEFORE].mean - lower[BEFORE].mean, upper[AFTER].mean - lower[AFTER].mean);
    best.known = best.distance >= MODES_DISTANCE * best.deviation;
    return best;
}

ORDER_BY(by_value, struct diff_run, value)

struct diff_modes diff_modes_find(struct diff_run *runs, size_t count, double least)
{
    if (count <= (size_t)DIFF_MODES * DIFF_SIDES)
        return (struct diff_modes){0};
    qsort(runs, count, sizeof(*runs), by_value);
    /* Find the largest gap. */
    size_t low = 1;
    for (size_t i = 2; i < count; i++)
        if (runs[i].value - runs[i - 1].value > runs[low].value - runs[low - 1].value)
            low = i;
    struct diff_modes modes = cut_at(runs, count, low);
    struct diff_cell lower = join(&modes.cells[LOW_MODE][BEFORE], &modes.cells[LOW_MODE][AFTER]),
                     upper = join(&modes.cells[HIGH_MODE][BEFORE], &modes.cells[HIGH_MODE][AFTER]);
    double deviation = sqrt((lower.squares + upper.squares) / (double)(count - DIFF_MODES));
    modes.distance = upper.mean - lower.mean;
    modes.known = runs[low].value - runs[low - 1].value >= MODES_GAP * deviation;
    if (!modes.known)
        modes = cut_by_deviation(runs, count);
    modes.known = modes.known && modes.distance >= least;
    return modes;
}

/* --- the comparison --- */

/*
 * Returns the probability that in both modes all runs of one side are larger than all of the other if their order is
 * random, given the numbers of runs before, of runs after and of runs in the low mode. No difference is taken to be
 * less likely: a mode may itself have modes, and few runs say too little about their deviation.
 */
static double chance_of_order(double before, double after, double low)
{
    double ways = fmin(low, before) - fmax(0, low - after) + 1;
    double log_orders = lgamma(before + after + 1) - lgamma(before + 1) - lgamma(after + 1);
    return fmin(1, 2 * ways * exp(-log_orders));
}

static bool shares_agree(const struct diff_cell low[DIFF_SIDES], const struct diff_cell high[DIFF_SIDES])
{
    double before = (double)(low[BEFORE].count + high[BEFORE].count),
           after = (double)(low[AFTER].count + high[AFTER].count);
    double share = (double)(low[BEFORE].count + low[AFTER].count) / (before + after);
    double apart = (double)low[BEFORE].count / before - (double)low[AFTER].count / after;
    return fabs(apart) <= MODES_SHARES * sqrt(share * (1 - share) * (1 / before + 1 / after));
}

/* Sums for the difference between the sides, which is assumed to be equal in each mode that both sides have. */
struct strata {
    double weights, before,
        after;          /* weighted sums of the means; the weight is how exactly a mode shows the difference */
    double differences; /* weighted sum of the squared differences */
    double squares, df; /* squares that the difference does not explain */
};

static void add_stratum(struct strata *strata, const struct diff_cell cells[DIFF_SIDES])
{
    if (cells[BEFORE].count == 0 || cells[AFTER].count == 0)
        return;
    double before = (double)cells[BEFORE].count, after = (double)cells[AFTER].count;
    double weight = before * after / (before + after), difference = cells[AFTER].mean - cells[BEFORE].mean;
    strata->weights += weight;
    strata->before += weight * cells[BEFORE].mean;
    strata->after += weight * cells[AFTER].mean;
    strata->differences += weight * difference * difference;
    strata->squares += cells[BEFORE].squares + cells[AFTER].squares;
    strata->df += before + after - 1;
}

bool diff_modes_compare(const struct diff_modes *modes, struct floor floor, double unit, struct diff_test *test)
{
    const struct diff_cell *low = modes->cells[LOW_MODE], *high = modes->cells[HIGH_MODE];
    const struct prior prior = DIFF_USUAL_PRIOR;
    struct strata strata = {.squares = prior.df * prior.variance * unit, .df = prior.df - 1};
    add_stratum(&strata, low);
    add_stratum(&strata, high);
    if (strata.weights <= 0 || !shares_agree(low, high))
        return false;
    double value = (strata.after - strata.before) / strata.weights;
    strata.squares +=
        fmax(0, strata.differences - strata.weights * value * value); /* more than 0 if the modes disagree */
    double error = sqrt(strata.squares / strata.df / strata.weights);
    double least =
        chance_of_order((double)(low[BEFORE].count + high[BEFORE].count),
                        (double)(low[AFTER].count + high[AFTER].count), (double)(low[BEFORE].count + low[AFTER].count));
    bool counts = fabs(value) > floor_slack(floor);
    test->before = diff_value_of(strata.before / strata.weights);
    test->after = diff_value_of(strata.after / strata.weights);
    test->log = (struct difference){
        .value = value,
        .margin = statistics_t_95(strata.df) * error,
        .p = counts ? fmax(statistics_t_tail(value / error, strata.df), least) : 1,
    };
    return true;
}

size_t diff_modes_needed(double deviation, double change, double chance)
{
    for (size_t traces = FLOOR_SEVERAL; traces < MODES_TRACES; traces++) {
        double count = (double)traces, t = change / (deviation * sqrt(2 / count)) - MODES_POWER;
        if (chance_of_order(count, count, count) <= chance && t > 0 &&
            statistics_t_tail(t, 2 * count - DIFF_MODES - 1) <= chance)
            return traces;
    }
    return MODES_TRACES;
}
