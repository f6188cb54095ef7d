/*
 * Takes logarithms, estimates the shift of each run by the median of its rows, and the variance that is left.
 */
#include "analysis/diff/diff_values.h"

#include <math.h>
#include <stdlib.h>

/* How much launches of one kernel, and calls of one function, vary usually, of 1: as much as two values say. */
#define USUAL_GPU 0.2
#define USUAL_HOST 0.5
#define USUAL_DF 2

/* Estimated variances between runs are at least this share of the floor's. Calls of the host have modes that two or
 * three runs may not show. */
#define LEAST_VARIANCE 0.16
#define LEAST_VARIANCE_HOST 1
#define LEAST_RATIO 1e-4

/* The degrees of freedom from which on the launches of a trace show how much they vary. */
#define OFTEN 10

/* The least number of rows from which the clock of a GPU is derived. */
#define SHIFT_ROWS 4

/* --- values --- */

static double figure_of(const struct diff_sample *sample, enum diff_figure figure)
{
    return figure == FIGURE_EACH ? sample->each : figure == FIGURE_COUNT ? sample->count : sample->total;
}

static double logarithm(double value)
{
    return log(fmax(value, DIFF_LEAST));
}

double diff_value_of(double logarithm)
{
    double value = round(exp(logarithm) * 1e3) / 1e3;
    return value > DIFF_LEAST ? value : 0;
}

/* A mean and a variance in the making. */
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

/* The variance of the mean of a trace's occurrences, drawn towards what is usual, as few of them say little. */
static double within_of(const struct diff_sample *sample, double usual)
{
    double one = sample->variance * sample->count; /* of one occurrence */
    return (sample->df * one + USUAL_DF * usual * usual) / (sample->df + USUAL_DF) / fmax(sample->count, 1);
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
        double value = logarithm(figure_of(sample, figure));
        moments_add(&values, value);
        moments_add(&left, value - (shifted ? shifts->by_trace[i] : 0));
        moments_add(&within, varies ? within_of(sample, usual) : 0);
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

/* The rows that every trace has, and that take a part of the time. Returns their number. */
static size_t list_references(const struct diff *diff, unsigned section, struct reference *list)
{
    size_t count = 0;
    for (size_t i = 0; i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (row->section != section || row->tiny || row->present[BEFORE] + row->present[AFTER] < diff->traces)
            continue;
        struct reference *reference = &list[count++];
        *reference = (struct reference){.row = row};
        for (enum diff_side side = BEFORE; side < DIFF_SIDES; side++)
            reference->sides[side] = diff_values_of(diff, row, FIGURE_EACH, side, NULL);
        reference->weight = 1 / diff_unit(reference->sides, floor_of(diff_comparable(section)->floor).usual);
    }
    return count;
}

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

/* How much is left of the rows' variances without the shifts; all rows of the section that occur often say so together.
 */
static void find_prior(struct diff_shifts *shifts, const struct diff *diff, const struct reference *list, size_t count,
                       double *ratios, double *dfs)
{
    size_t found = 0;
    enum comparable_floor floor = diff_comparable(list[0].row->section)->floor;
    for (size_t i = 0; i < count; i++) {
        double unit = diff_unit(list[i].sides, floor_of(floor).usual);
        for (enum diff_side side = BEFORE; side < DIFF_SIDES; side++) {
            struct diff_values values = diff_values_of(diff, list[i].row, FIGURE_EACH, side, shifts);
            if (values.count < 2 || !diff_occurs_often(list[i].sides))
                continue;
            ratios[found] = fmax(values.variance / unit, LEAST_RATIO);
            dfs[found++] = (double)(values.count - 1);
        }
    }
    shifts->prior = statistics_prior(ratios, dfs, found, DIFF_USUAL_PRIOR);
    shifts->prior.variance = fmax(shifts->prior.variance, floor == FLOOR_HOST ? LEAST_VARIANCE_HOST : LEAST_VARIANCE);
    shifts->prior.df = fmax(shifts->prior.df, 1);
}

int diff_shifts_init(struct diff_shifts *shifts, const struct diff *diff, unsigned section)
{
    size_t most = diff->rows.count + 1;
    *shifts = (struct diff_shifts){.prior = DIFF_USUAL_PRIOR, .correction = 1};
    if (!diff->compared[section] || !diff_comparable(section)->each || diff->traces == DIFF_SIDES)
        return 0;
    struct reference *list = calloc(most, sizeof(*list));
    struct weighed *items = calloc(most, sizeof(*items));
    double *ratios = calloc(most, DIFF_SIDES * sizeof(*ratios)), *dfs = calloc(most, DIFF_SIDES * sizeof(*dfs));
    shifts->by_trace = calloc(diff->traces, sizeof(*shifts->by_trace));
    int status = list && items && ratios && dfs && shifts->by_trace ? 0 : -1;
    size_t count = status == 0 ? list_references(diff, section, list) : 0;
    if (count >= SHIFT_ROWS) {
        find_shifts(shifts, diff, list, count, items);
        find_prior(shifts, diff, list, count, ratios, dfs);
    }
    free(list);
    free(items);
    free(ratios);
    free(dfs);
    return status;
}

void diff_shifts_release(struct diff_shifts *shifts)
{
    free(shifts->by_trace);
    shifts->by_trace = NULL;
}
