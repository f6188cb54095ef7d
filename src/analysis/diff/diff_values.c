/*
 * Statistical functions; then the values of rows as logarithms, the shift of each run as the median of its rows, and
 * the variance that the shifts leave.
 */
#include "analysis/diff/diff_values.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"

/* --- statistics --- */

#define BETA_STEPS 300
#define NEARLY_ZERO 1e-300

static double away_from_zero(double value)
{
    return fabs(value) < NEARLY_ZERO ? NEARLY_ZERO : value;
}

/* Returns the continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), result = d;
    for (int m = 1; m <= BETA_STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        result *= d * c;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        result *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return result;
}

/* Returns the regularised incomplete beta function I_x(a, b). */
static double beta_share(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_t_tail(double t, double df)
{
    if (df > 1e6)
        return erfc(fabs(t) / sqrt(2));
    return beta_share(df / 2, 0.5, df / (df + t * t));
}

double statistics_t_95(double df)
{
    double low = 0, high = 1e4;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (statistics_t_tail(middle, df) > 0.05)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct estimate statistics_moderate(double mean, double variance, size_t count, struct prior prior, double unit)
{
    double own = (double)(count - 1), df = own + prior.df;
    double moderate = (own * variance + prior.df * prior.variance * unit) / df;
    return (struct estimate){.mean = mean, .variance = moderate / (double)count, .df = df};
}

/* Returns the degrees of freedom of a sum of two variances, by Satterthwaite's formula. */
static double df_of_sum(double one, double one_df, double other, double other_df)
{
    return (one + other) * (one + other) / (one * one / one_df + other * other / other_df);
}

void statistics_widen(struct estimate *estimate, double variance, double df)
{
    if (variance <= 0)
        return;
    estimate->df = df_of_sum(estimate->variance, estimate->df, variance, df);
    estimate->variance += variance;
}

ORDER_BY(by_value, struct weighed, value)

double statistics_weighed_median(struct weighed *items, size_t count)
{
    double all = 0, passed = 0;
    for (size_t i = 0; i < count; i++)
        all += items[i].weight;
    if (count > 1)
        qsort(items, count, sizeof(*items), by_value);
    for (size_t i = 0; i < count; i++)
        if ((passed += items[i].weight) >= all / 2)
            return items[i].value;
    return 0;
}

struct difference statistics_welch(const struct estimate *before, const struct estimate *after, double slack)
{
    double value = after->mean - before->mean, variance = before->variance + after->variance;
    if (variance <= 0)
        return (struct difference){.value = value, .margin = slack, .p = fabs(value) > slack ? 0 : 1};
    double df = df_of_sum(before->variance, before->df, after->variance, after->df);
    double distance = fabs(value) - slack;
    return (struct difference){
        .value = value,
        .margin = slack + statistics_t_95(df) * sqrt(variance),
        .p = distance > 0 ? statistics_t_tail(distance / sqrt(variance), df) : 1,
    };
}

static int by_chance(const void *left, const void *right, void *context)
{
    const double *p = context;
    double a = p[*(const size_t *)left], b = p[*(const size_t *)right];
    return (a > b) - (a < b);
}

void statistics_adjust(double *p, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), by_chance, p);
    double least = 1;
    for (size_t rank = count; rank > 0; rank--) {
        double adjusted = p[order[rank - 1]] * (double)count / (double)rank;
        least = fmin(least, adjusted);
        p[order[rank - 1]] = least;
    }
}

/* --- runs --- */

/* The usual relative deviation of launches of one kernel, and of calls of one function, with the weight of USUAL_DF
 * degrees of freedom. */
#define USUAL_GPU 0.2
#define USUAL_HOST 0.5
#define USUAL_DF 2

/* The least share of the floor's variance that an estimated variance between runs has. Calls of the host have modes
 * that two or three runs may not show. */
#define LEAST_VARIANCE 0.16
#define LEAST_VARIANCE_HOST 1

/* The degrees of freedom with which the common variance of a section's rows counts for each row. */
#define PRIOR_DF 6

/* The least degrees of freedom with which the launches of a trace show how much they vary. */
#define OFTEN 10

/* The least number of rows from which shifts are derived. */
#define SHIFT_ROWS 4

/* --- values --- */

static double logarithm(double value)
{
    return log(fmax(value, DIFF_LEAST));
}

double diff_value_of(double logarithm)
{
    double value = round(exp(logarithm) * 1e3) / 1e3;
    return value > DIFF_LEAST ? value : 0;
}

/* Sums for a mean and a variance. */
struct moments {
    size_t count;
    double mean, squares;
};

static void moments_add(struct moments *moments, double value)
{
    double distance = value - moments->mean;
    moments->count++;
    moments->mean += distance / (double)moments->count;
    moments->squares += distance * (value - moments->mean);
}

static double moments_variance(const struct moments *moments)
{
    return moments->count > 1 ? moments->squares / (double)(moments->count - 1) : 0;
}

struct diff_values diff_values_of(const struct diff *diff, const struct diff_row *row, enum diff_figure figure,
                                  enum diff_side side, const struct diff_shifts *shifts)
{
    struct moments values = {0}, left = {0}, within = {0}, df = {0};
    const struct comparable *comparable = diff_comparable(row->section);
    double usual = comparable->floor < FLOOR_HOST ? USUAL_GPU : USUAL_HOST;
    bool varies = figure == FIGURE_EACH || (figure == FIGURE_TOTAL && comparable->count);
    bool shifted = shifts && shifts->known;
    for (size_t i = 0; i < diff->traces; i++) {
        const struct diff_sample *sample = &row->samples[i];
        if (!sample->present || diff_side_of(diff, i) != side)
            continue;
        double value = logarithm(figure == FIGURE_EACH    ? sample->each
                                 : figure == FIGURE_COUNT ? sample->count
                                                          : sample->total);
        /* The variance of an occurrence is drawn towards the usual one, because few occurrences say little. */
        double one = sample->variance * sample->count;
        double spread = (sample->df * one + USUAL_DF * usual * usual) / (sample->df + USUAL_DF);
        moments_add(&values, value);
        moments_add(&left, value - (shifted ? shifts->by_trace[i] : 0));
        moments_add(&within, varies ? spread / fmax(sample->count, 1) : 0);
        moments_add(&df, sample->df + USUAL_DF);
    }
    return (struct diff_values){
        .count = values.count,
        .mean = values.mean,
        .variance = moments_variance(&left) * (shifted ? shifts->correction : 1),
        .within = within.mean,
        .within_df = df.mean,
    };
}

double diff_whole_mean(const struct diff *diff, size_t at, enum diff_side side)
{
    double sum = 0;
    for (size_t i = 0; i < diff->traces; i++)
        sum += diff_side_of(diff, i) == side ? *(const double *)((const char *)&diff->wholes[i] + at) : 0;
    return sum / (double)diff->options->counts[side];
}

struct diff_values diff_whole_values(const struct diff *diff, size_t at, enum diff_side side)
{
    struct moments values = {0};
    for (size_t i = 0; i < diff->traces; i++)
        if (diff_side_of(diff, i) == side)
            moments_add(&values, logarithm(*(const double *)((const char *)&diff->wholes[i] + at)));
    return (struct diff_values){.count = values.count, .mean = values.mean, .variance = moments_variance(&values)};
}

size_t diff_runs_of(const struct diff *diff, const struct diff_row *row, struct diff_run *runs)
{
    size_t count = 0;
    for (size_t i = 0; i < diff->traces; i++)
        if (row->samples[i].present)
            runs[count++] = (struct diff_run){logarithm(row->samples[i].each), diff_side_of(diff, i)};
    return count;
}

double diff_floor_variance(double floor_percent)
{
    double deviation = floor_percent / 100 / 4;
    return deviation * deviation;
}

double diff_unit(const struct diff_values sides[DIFF_SIDES], double floor_percent)
{
    return diff_floor_variance(floor_percent) + (sides[BEFORE].within + sides[AFTER].within) / 2;
}

bool diff_occurs_often(const struct diff_values sides[DIFF_SIDES])
{
    return sides[BEFORE].within_df >= OFTEN && sides[AFTER].within_df >= OFTEN;
}

/* --- what the rows of a section share --- */

struct reference {
    const struct diff_row *row;
    struct diff_values sides[DIFF_SIDES];
    double weight;
};

static void find_shifts(struct diff_shifts *shifts, const struct diff *diff, const struct reference *list, size_t count,
                        struct weighed *items)
{
    struct moments squares = {0};
    for (size_t trace = 0; trace < diff->traces; trace++) {
        enum diff_side side = diff_side_of(diff, trace);
        for (size_t i = 0; i < count; i++) {
            double value = logarithm(list[i].row->samples[trace].each);
            items[i] = (struct weighed){value - list[i].sides[side].mean, list[i].weight};
        }
        shifts->by_trace[trace] = statistics_weighed_median(items, count);
        moments_add(&squares, shifts->by_trace[trace] * shifts->by_trace[trace]);
    }
    for (size_t i = 0; i < count; i++)
        items[i] = (struct weighed){list[i].sides[AFTER].mean - list[i].sides[BEFORE].mean, list[i].weight};
    shifts->difference = statistics_weighed_median(items, count);
    double df = (double)(diff->traces - DIFF_SIDES), sum = squares.mean * (double)diff->traces;
    double usual = diff_floor_variance(floor_of(diff_comparable(list[0].row->section)->floor).usual);
    struct prior prior = DIFF_USUAL_PRIOR;
    shifts->df = df + prior.df;
    shifts->variance = (sum + prior.df * usual) / shifts->df;
    shifts->correction = (double)count / (double)(count - 1);
    shifts->known = true;
}

/* Sets the prior for the variances of the section's rows: the mean variance between runs, after the shifts are taken
 * out, of all rows that occur often, in units of diff_unit(). Keeps the usual prior if there are too few such rows. */
static void find_prior(struct diff_shifts *shifts, const struct diff *diff, const struct reference *list, size_t count)
{
    double squares = 0, df = 0;
    enum comparable_floor floor = diff_comparable(list[0].row->section)->floor;
    for (size_t i = 0; i < count; i++) {
        double unit = diff_unit(list[i].sides, floor_of(floor).usual);
        for (enum diff_side side = BEFORE; side < DIFF_SIDES && diff_occurs_often(list[i].sides); side++) {
            struct diff_values values = diff_values_of(diff, list[i].row, FIGURE_EACH, side, shifts);
            squares += values.count > 1 ? (double)(values.count - 1) * values.variance / unit : 0;
            df += values.count > 1 ? (double)(values.count - 1) : 0;
        }
    }
    double least = floor == FLOOR_HOST ? LEAST_VARIANCE_HOST : LEAST_VARIANCE;
    if (df >= PRIOR_DF)
        shifts->prior = (struct prior){.variance = fmax(squares / df, least), .df = PRIOR_DF};
}

int diff_shifts_init(struct diff_shifts *shifts, const struct diff *diff, unsigned section)
{
    size_t most = diff->rows.count + 1;
    *shifts = (struct diff_shifts){.prior = DIFF_USUAL_PRIOR, .correction = 1};
    if (!diff->compared[section] || !diff_comparable(section)->each || diff->traces == DIFF_SIDES)
        return 0;
    struct reference *list = calloc(most, sizeof(*list));
    struct weighed *items = calloc(most, sizeof(*items));
    shifts->by_trace = calloc(diff->traces, sizeof(*shifts->by_trace));
    int status = list && items && shifts->by_trace ? 0 : -1;
    size_t count = 0;
    for (size_t i = 0; i < diff->rows.count && status == 0; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (row->section != section || row->tiny || row->present[BEFORE] + row->present[AFTER] < diff->traces)
            continue; /* only rows that all traces have and that take some time */
        struct reference *reference = &list[count++];
        *reference = (struct reference){.row = row};
        for (enum diff_side side = BEFORE; side < DIFF_SIDES; side++)
            reference->sides[side] = diff_values_of(diff, row, FIGURE_EACH, side, NULL);
        reference->weight = 1 / diff_unit(reference->sides, floor_of(diff_comparable(section)->floor).usual);
    }
    if (count >= SHIFT_ROWS) {
        find_shifts(shifts, diff, list, count, items);
        find_prior(shifts, diff, list, count);
    }
    free(list);
    free(items);
    return status;
}
