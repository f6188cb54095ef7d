#include "analysis/diff/diff_compare.h"

#include <math.h>

#define MANY_DF 1e9

/* Whether the runs of each side are so much closer to each other than to those of the other side that modes, as those
 * of where memory lies, are unlikely to be the reason. */
static bool sides_agree(const struct diff_values sides[DIFF_SIDES], double difference)
{
    double df = 0, squares = 0;
    for (int side = 0; side < DIFF_SIDES; side++) {
        df += (double)(sides[side].count - 1);
        squares += (double)(sides[side].count - 1) * sides[side].variance;
    }
    return fabs(difference) >= FLOOR_AGREEMENT * sqrt(squares / df);
}

/* What counts as no difference, as a logarithm. */
static double slack_of(const struct diff_values sides[DIFF_SIDES], struct floor floor, double difference)
{
    size_t fewest = sides[BEFORE].count < sides[AFTER].count ? sides[BEFORE].count : sides[AFTER].count;
    bool few = fewest < FLOOR_FEW || (fewest < FLOOR_SEVERAL && !sides_agree(sides, difference));
    return few ? log1p(floor.most / 100) : floor_slack(floor);
}

/* The comparison with other rows counts only where that of the row with itself is at most this likely to be chance. */
#define GATE 0.05

/*
 * Of several traces. A row is compared with itself, where the shift of each run counts as chance; and with the other
 * rows of the same runs, where it does not. The second question finds smaller changes, but it counts only where the
 * first one does not contradict: if most kernels become slower, the others have not become faster.
 */
static struct difference compare_several(const struct diff_values sides[DIFF_SIDES], struct floor floor,
                                         const struct diff_shifts *shifts)
{
    struct estimate own[DIFF_SIDES], shifted[DIFF_SIDES];
    double unit = diff_unit(sides, floor.usual), slack = slack_of(sides, floor, sides[AFTER].mean - sides[BEFORE].mean);
    struct prior prior = diff_occurs_often(sides) ? shifts->prior : DIFF_USUAL_PRIOR;
    for (int side = 0; side < DIFF_SIDES; side++) {
        own[side] = statistics_moderate(sides[side].mean, sides[side].variance, sides[side].count, prior, unit);
        shifted[side] = own[side];
        statistics_widen(&shifted[side], shifts->variance / (double)sides[side].count, shifts->df);
    }
    struct difference alone = statistics_welch(&shifted[BEFORE], &shifted[AFTER], slack);
    if (!shifts->known)
        return alone;
    own[AFTER].mean -= shifts->difference;
    struct difference among = statistics_welch(&own[BEFORE], &own[AFTER], slack);
    bool agree = alone.value * among.value > 0 && alone.p <= GATE;
    alone.p = fmin(1, 2 * (agree ? fmin(alone.p, among.p) : alone.p)); /* two questions were asked */
    return alone;
}

struct diff_test diff_compare(const struct diff_values sides[DIFF_SIDES], struct floor floor,
                              const struct diff_shifts *shifts)
{
    struct diff_test test = {.known = sides[BEFORE].count > 0 && sides[AFTER].count > 0};
    if (!test.known)
        return test;
    test.before = diff_value_of(sides[BEFORE].mean);
    test.after = diff_value_of(sides[AFTER].mean);
    if (sides[BEFORE].count == 1 && sides[AFTER].count == 1) {
        /* Of one trace on each side. */
        struct estimate estimates[DIFF_SIDES];
        for (int side = 0; side < DIFF_SIDES; side++) {
            estimates[side] = (struct estimate){
                .mean = sides[side].mean, .variance = diff_floor_variance(floor.usual), .df = MANY_DF};
            statistics_widen(&estimates[side], sides[side].within, sides[side].within_df);
        }
        test.log = statistics_welch(&estimates[BEFORE], &estimates[AFTER], log1p(floor.most / 100));
    } else
        test.log = compare_several(sides, floor, shifts);
    test.few = !diff_occurs_often(sides);
    test.adjusted = test.log.p;
    return test;
}
