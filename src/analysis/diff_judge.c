#include "analysis/diff_judge.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/diff_values.h"

#define MANY_DF 1e9

/* The chance that we put on a row that one trace has and another has not: of the GPU's work, and of what the host did,
 * where it is also the least of any other difference; and where several traces of one side do not agree. */
#define CHANCE_GPU_ROW 1e-9
#define CHANCE_HOST 0.01
#define CHANCE_UNSTEADY 0.5

/* --- the test of one figure --- */

/* Of one trace on each side. */
static struct difference compare_two(const struct diff_values sides[DIFF_SIDES], double floor_percent)
{
    struct estimate estimates[DIFF_SIDES];
    for (int side = 0; side < DIFF_SIDES; side++) {
        estimates[side] =
            (struct estimate){.mean = sides[side].mean, .variance = diff_floor_variance(floor_percent), .df = MANY_DF};
        statistics_widen(&estimates[side], sides[side].within, sides[side].within_df);
    }
    return statistics_welch(&estimates[BEFORE], &estimates[AFTER], log1p(floor_percent / 100));
}

/* The comparison with other rows counts only where that of the row with itself is at most this likely to be chance. */
#define GATE 0.05

/*
 * Of several traces. A row is compared with itself, where the shift of each run counts as chance; and with the other
 * rows of the same runs, where it does not. The second question finds smaller changes, but it counts only where the
 * first one does not contradict: if most kernels become slower, the others have not become faster.
 */
static struct difference compare_several(const struct diff_values sides[DIFF_SIDES], double floor_percent,
                                         const struct diff_shifts *shifts)
{
    struct estimate own[DIFF_SIDES], shifted[DIFF_SIDES];
    double unit = diff_unit(sides, floor_percent), slack = log1p(floor_percent / 100 / 4);
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

/* The geometric mean, without the digits that logarithms make up; 0 for what counts as the least. */
static double mean_of(const struct diff_values *values)
{
    double mean = round(exp(values->mean) * 1e3) / 1e3;
    return mean > DIFF_LEAST ? mean : 0;
}

static struct diff_test test_sides(const struct diff_values sides[DIFF_SIDES], double floor_percent,
                                   const struct diff_shifts *shifts)
{
    struct diff_test test = {.known = sides[BEFORE].count > 0 && sides[AFTER].count > 0};
    if (!test.known)
        return test;
    test.before = mean_of(&sides[BEFORE]);
    test.after = mean_of(&sides[AFTER]);
    if (sides[BEFORE].count == 1 && sides[AFTER].count == 1)
        test.log = compare_two(sides, floor_percent);
    else
        test.log = compare_several(sides, floor_percent, shifts);
    test.few = !diff_occurs_often(sides);
    test.adjusted = test.log.p;
    return test;
}

static const struct diff_shifts no_shifts = {.prior = DIFF_USUAL_PRIOR};

static struct diff_test test_figure(const struct diff *diff, const struct diff_row *row, enum diff_figure figure,
                                    const struct diff_shifts *shifts)
{
    struct diff_values sides[DIFF_SIDES] = {diff_values_of(diff, row, figure, BEFORE, shifts),
                                            diff_values_of(diff, row, figure, AFTER, shifts)};
    return test_sides(sides, diff_comparable(row->section)->floor, shifts);
}

/* --- rows --- */

static void add_means(const struct diff *diff, struct diff_row *row)
{
    for (size_t i = 0; i < diff->traces; i++) {
        enum diff_side side = diff_side_of(diff, i);
        row->present[side] += row->samples[i].present;
        row->totals[side] += row->samples[i].total;
        row->counts[side] += row->samples[i].count;
    }
    for (int side = 0; side < DIFF_SIDES; side++) {
        row->totals[side] /= (double)diff->options->counts[side];
        row->counts[side] /= (double)diff->options->counts[side];
    }
}

static double mean_span(const struct diff *diff)
{
    double sum = 0;
    for (size_t i = 0; i < diff->traces; i++)
        sum += diff->wholes[i].span;
    return sum / (double)diff->traces;
}

/* Their means, and whether they are tiny. */
static void begin_row(const struct diff *diff, struct diff_row *row, double span)
{
    add_means(diff, row);
    row->tiny =
        diff_type(row->section) == TYPE_NS && fmax(row->totals[BEFORE], row->totals[AFTER]) < DIFF_TINY / 100 * span;
}

/* The chance that all values of one side are larger than all of the other, if their order is chance. */
static double chance_of_order(const struct diff *diff)
{
    double chance = 2;
    for (size_t i = 1; i <= diff->options->counts[BEFORE]; i++)
        chance *= (double)i / (double)(diff->options->counts[AFTER] + i);
    return fmin(1, chance);
}

/*
 * What the host does few times in a run has no known distribution: the first call pays for what CUDA does lazily, and
 * which call is the first may differ. Only the order of the runs says something about it. And of one run on each side
 * nothing that the host does is sure.
 */
static void doubt_host(const struct diff *diff, struct diff_row *row)
{
    if (diff_comparable(row->section)->floor < FLOOR_HOST)
        return;
    if (row->each.few)
        row->each.log.p = fmax(row->each.log.p, chance_of_order(diff));
    if (diff->traces > DIFF_SIDES)
        return;
    row->each.log.p = fmax(row->each.log.p, CHANCE_HOST);
    row->count.log.p = fmax(row->count.log.p, CHANCE_HOST);
    row->total.log.p = fmax(row->total.log.p, CHANCE_HOST);
}

static void test_row(const struct diff *diff, struct diff_row *row, const struct diff_shifts *shifts)
{
    const struct comparable *comparable = diff_comparable(row->section);
    if (comparable->each)
        row->each = test_figure(diff, row, FIGURE_EACH, shifts);
    else if (comparable->total)
        row->total = test_figure(diff, row, FIGURE_TOTAL, &no_shifts);
    if (comparable->count)
        row->count = test_figure(diff, row, FIGURE_COUNT, &no_shifts);
    doubt_host(diff, row);
}

static int test_section(struct diff *diff, unsigned section)
{
    struct diff_shifts shifts;
    int status = diff_shifts_init(&shifts, diff, section);
    for (size_t i = 0; i < diff->rows.count && status == 0; i++)
        if (diff->rows.items[i].section == section)
            test_row(diff, &diff->rows.items[i], &shifts);
    diff_shifts_release(&shifts);
    return status;
}

/* Small causes of idle time and small findings come and go from run to run: they are not counted as what a program does
 * is, but found in the times of a run. */
static bool comes_and_goes(const struct diff_row *row, double span)
{
    const struct comparable *comparable = diff_comparable(row->section);
    double most = fmax(row->totals[BEFORE], row->totals[AFTER]);
    return comparable->floor >= FLOOR_HOST && !comparable->count && most < DIFF_STEADY / 100 * span;
}

static double chance_of_presence(const struct diff *diff, const struct diff_row *row, double span)
{
    enum diff_side side = row->present[BEFORE] > 0 ? BEFORE : AFTER;
    if (row->present[side] < diff->options->counts[side])
        return CHANCE_UNSTEADY;
    if (comes_and_goes(row, span))
        return fmax(chance_of_order(diff), CHANCE_HOST);
    bool on_gpu = diff_comparable(row->section)->part == PART_OF_GPU_TIME;
    return on_gpu || diff->traces > 3 ? CHANCE_GPU_ROW : CHANCE_HOST;
}

static enum diff_sure sure_of(double p)
{
    return p <= DIFF_SURE ? SURE : p <= DIFF_LIKELY ? LIKELY : NOT_SURE;
}

enum diff_sure diff_sure_alone(const struct diff_test *test)
{
    return test->known ? sure_of(test->log.p) : NOT_SURE;
}

static void consider(struct diff_row *row, const struct diff_test *test, enum diff_change grown,
                     enum diff_change shrunk)
{
    enum diff_sure sure = test->known ? sure_of(test->adjusted) : NOT_SURE;
    bool larger = row->why && fabs(test->log.value) > fabs(row->why->log.value);
    if (sure == NOT_SURE || sure < row->sure || (sure == row->sure && row->why && !larger))
        return;
    row->sure = sure;
    row->why = test;
    row->change = test->log.value > 0 ? grown : shrunk;
}

static void conclude(const struct diff *diff, struct diff_row *row, double span)
{
    bool timed = diff_type(row->section) == TYPE_NS;
    if (row->present[BEFORE] == 0 || row->present[AFTER] == 0) {
        row->change = row->present[BEFORE] == 0 ? APPEARED : VANISHED;
        row->sure = sure_of(chance_of_presence(diff, row, span));
        return;
    }
    consider(row, &row->each, timed ? SLOWER : LARGER, timed ? FASTER : SMALLER);
    consider(row, &row->count, MORE, FEWER);
    consider(row, &row->total, LARGER, SMALLER);
}

/* --- many comparisons --- */

/* A difference below this, of 1, is none, as of counts that never differ: there is nothing that could be chance. */
#define NOTHING 1e-9

struct family {
    struct diff_test **tests;
    double *p;
    size_t *order;
    size_t count, all; /* tests in it; and of all rows */
};

static void family_add(struct family *family, struct diff_test *test, bool tiny)
{
    if (!test->known || fabs(test->log.value) < NOTHING)
        return;
    family->all++;
    if (tiny)
        return;
    family->p[family->count] = test->log.p;
    family->tests[family->count++] = test;
}

static void strictly(struct diff_test *test, size_t comparisons)
{
    test->adjusted = fmin(1, test->log.p * fmax(1, (double)comparisons));
}

static int adjust_all(struct diff *diff)
{
    size_t most = diff->rows.count * 3 + 1;
    struct family family = {.tests = calloc(most, sizeof(*family.tests)),
                            .p = calloc(most, sizeof(*family.p)),
                            .order = calloc(most, sizeof(*family.order))};
    int status = family.tests && family.p && family.order ? 0 : -1;
    for (size_t i = 0; i < diff->rows.count && status == 0; i++) {
        struct diff_row *row = &diff->rows.items[i];
        family_add(&family, &row->each, row->tiny);
        family_add(&family, &row->count, row->tiny);
        family_add(&family, &row->total, row->tiny);
    }
    if (status == 0)
        statistics_adjust(family.p, family.order, family.count);
    for (size_t i = 0; i < family.count && status == 0; i++)
        family.tests[i]->adjusted = family.p[i];
    for (size_t i = 0; i < diff->rows.count && status == 0; i++) {
        struct diff_row *row = &diff->rows.items[i];
        if (!row->tiny)
            continue;
        strictly(&row->each, family.all);
        strictly(&row->count, family.all);
        strictly(&row->total, family.all);
    }
    free(family.tests);
    free(family.p);
    free(family.order);
    return status;
}

/* --- the whole --- */

static struct diff_test test_whole(const struct diff *diff, size_t at, double floor_percent)
{
    struct diff_values sides[DIFF_SIDES] = {diff_whole_values(diff, at, BEFORE), diff_whole_values(diff, at, AFTER)};
    struct diff_test test = test_sides(sides, floor_percent, &no_shifts);
    if (diff->traces == DIFF_SIDES && floor_percent > FLOOR_GPU)
        test.log.p = fmax(test.log.p, CHANCE_HOST);
    return test;
}

int diff_judge(struct diff *diff)
{
    double span = mean_span(diff);
    int status = 0;
    for (size_t i = 0; i < diff->rows.count; i++)
        begin_row(diff, &diff->rows.items[i], span);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (diff->compared[i])
            status = test_section(diff, i);
    if (status == 0)
        status = adjust_all(diff);
    for (size_t i = 0; i < diff->rows.count && status == 0; i++)
        if (diff->compared[diff->rows.items[i].section])
            conclude(diff, &diff->rows.items[i], span);
    diff->span = test_whole(diff, offsetof(struct diff_whole, span), FLOOR_SPAN);
    diff->busy = test_whole(diff, offsetof(struct diff_whole, busy), FLOOR_GPU);
    diff->idle = test_whole(diff, offsetof(struct diff_whole, idle), FLOOR_HOST);
    return status;
}
