/*
 * Tests each figure of all rows, within its modes if a row has two. Then corrects the probabilities of all tests of the
 * GPU, and of all tests of the host, for the number of tests.
 */
#include "analysis/diff/diff_judge.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/diff/diff_modes.h"

/* The probability that a row is in the traces of one side only by chance: for work of the GPU; for work of the host,
 * where it is also the least probability of any other difference; and if the traces of one side do not agree. */
#define CHANCE_GPU_ROW 1e-9
#define CHANCE_HOST 0.01
#define CHANCE_UNSTEADY 0.5

/* --- the test of one figure --- */

#define MANY_DF 1e9

/* Returns whether the runs of each side are so much closer to each other than to the other side that modes, such as
 * those due to memory placement, are unlikely to be the reason. */
static bool sides_agree(const struct diff_values sides[DIFF_SIDES], double difference)
{
    double df = 0, squares = 0;
    for (int side = 0; side < DIFF_SIDES; side++) {
        df += (double)(sides[side].count - 1);
        squares += (double)(sides[side].count - 1) * sides[side].variance;
    }
    return fabs(difference) >= FLOOR_AGREEMENT * sqrt(squares / df);
}

/* The comparison with other rows counts only if the comparison of the row with itself has at most this probability. */
#define GATE 0.05

/*
 * Compares the sides if there are several traces. The row is compared with itself, where the shift of each run counts
 * as chance; and with the other rows of its runs, where the shift does not. The second test finds smaller changes, but
 * it counts only if the first does not contradict: if most kernels become slower, the others have not become faster.
 */
static struct difference compare_several(const struct diff_values sides[DIFF_SIDES], struct floor floor,
                                         const struct diff_shifts *shifts)
{
    struct estimate own[DIFF_SIDES], shifted[DIFF_SIDES];
    double unit = diff_unit(sides, floor.usual), apart = sides[AFTER].mean - sides[BEFORE].mean;
    size_t fewest = sides[BEFORE].count < sides[AFTER].count ? sides[BEFORE].count : sides[AFTER].count;
    bool few = fewest < FLOOR_FEW || (fewest < FLOOR_SEVERAL && !sides_agree(sides, apart));
    /* The largest difference that counts as none, as a logarithm. */
    double slack = few ? log1p(floor.most / 100) : floor_slack(floor);
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
    alone.p = fmin(1, 2 * (agree ? fmin(alone.p, among.p) : alone.p)); /* two tests were made */
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
        /* With one trace on each side, only the floor and the occurrences in the traces tell how values vary. */
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

/* --- rows --- */

static const struct diff_shifts no_shifts = {.prior = DIFF_USUAL_PRIOR};

static struct diff_test test_figure(const struct diff *diff, const struct diff_row *row, enum diff_figure figure,
                                    const struct diff_shifts *shifts)
{
    struct diff_values sides[DIFF_SIDES] = {diff_values_of(diff, row, figure, BEFORE, shifts),
                                            diff_values_of(diff, row, figure, AFTER, shifts)};
    enum comparable_floor floor = diff_comparable(row->section)->floor;
    return diff_compare(sides, figure == FIGURE_COUNT ? floor_of_counts(floor) : floor_of(floor), shifts);
}

/* Returns the probability that all values of one side are larger than all of the other if their order is random. */
static double chance_of_order(const struct diff *diff)
{
    double chance = 2;
    for (size_t i = 1; i <= diff->options->counts[BEFORE]; i++)
        chance *= (double)i / (double)(diff->options->counts[AFTER] + i);
    return fmin(1, chance);
}

/*
 * Raises the probabilities of host rows. A call that is made few times in a run has no known distribution: the first
 * call pays for what CUDA does lazily, and which call is first may differ. So only the order of the runs counts as
 * evidence. With one run on each side, no difference of the host is sure.
 */
static void doubt_host(const struct diff *diff, struct diff_row *row)
{
    if (diff_comparable(row->section)->floor < FLOOR_HOST)
        return;
    if (row->each.few)
        row->each.log.p = fmax(row->each.log.p, chance_of_order(diff));
    if (diff->traces > DIFF_SIDES)
        return;
    for (unsigned i = 0; i < DIFF_FIGURES; i++)
        row->figures[i].log.p = fmax(row->figures[i].log.p, CHANCE_HOST);
}

/* Compares a row within its modes if it has two. RUNS: scratch memory with room for each trace. */
static void test_modes(const struct diff *diff, struct diff_row *row, struct diff_run *runs)
{
    const struct comparable *comparable = diff_comparable(row->section);
    if (comparable->floor >= FLOOR_HOST || diff_type(row->section) != TYPE_NS || row->present[BEFORE] < FLOOR_FEW ||
        row->present[AFTER] < FLOOR_FEW)
        return;
    struct floor floor = floor_of(comparable->floor);
    struct diff_modes modes = diff_modes_find(runs, diff_runs_of(diff, row, runs), log1p(floor.usual / 100));
    if (!modes.known)
        return;
    struct diff_values sides[DIFF_SIDES] = {diff_values_of(diff, row, FIGURE_EACH, BEFORE, NULL),
                                            diff_values_of(diff, row, FIGURE_EACH, AFTER, NULL)};
    diff_modes_compare(&modes, floor, diff_unit(sides, floor.usual), &row->each);
    row->apart = modes.distance;
    row->deviation = modes.deviation;
}

static int test_section(struct diff *diff, unsigned section)
{
    struct diff_shifts shifts;
    struct diff_run *runs = calloc(diff->traces, sizeof(*runs));
    int status = diff_shifts_init(&shifts, diff, section);
    if (!runs)
        status = -1;
    const struct comparable *comparable = diff_comparable(section);
    for (size_t i = 0; i < diff->rows.count && status == 0; i++) {
        struct diff_row *row = &diff->rows.items[i];
        if (row->section != section)
            continue;
        if (comparable->each) {
            row->each = test_figure(diff, row, FIGURE_EACH, &shifts);
            test_modes(diff, row, runs);
        } else if (comparable->total) {
            row->total = test_figure(diff, row, FIGURE_TOTAL, &no_shifts);
        }
        if (comparable->count)
            row->count = test_figure(diff, row, FIGURE_COUNT, &no_shifts);
        doubt_host(diff, row);
    }
    free(runs);
    free(shifts.by_trace);
    return status;
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

/* Returns the probability that a row is on one side only by chance. Small causes of idle time and small findings come
 * and go from run to run: they are derived from the times of a run and not counted. */
static double chance_of_presence(const struct diff *diff, const struct diff_row *row, double span)
{
    const struct comparable *comparable = diff_comparable(row->section);
    enum diff_side side = row->present[BEFORE] > 0 ? BEFORE : AFTER;
    if (row->present[side] < diff->options->counts[side])
        return CHANCE_UNSTEADY;
    if (comparable->floor >= FLOOR_HOST && !comparable->count && row->totals[side] < DIFF_STEADY / 100 * span)
        return fmax(chance_of_order(diff), CHANCE_HOST);
    return comparable->part == PART_OF_GPU_TIME || diff->traces > 3 ? CHANCE_GPU_ROW : CHANCE_HOST;
}

/* --- many comparisons --- */

/* A difference of logarithms below this is none: counts that never differ are not tests, because nothing could be
 * chance. */
#define NOTHING 1e-9

struct family {
    struct diff_test **tests;
    double *p;
    size_t *order;
    size_t count, all; /* number of tests that are corrected together; of all tests of the family */
};

/* Corrects the tests of all rows of the host, or of all other rows, for their number. */
static void adjust_family(struct diff *diff, struct family *family, bool host)
{
    family->count = family->all = 0;
    for (size_t i = 0; i < diff->rows.count; i++) {
        struct diff_row *row = &diff->rows.items[i];
        bool of_host = diff_comparable(row->section)->floor == FLOOR_HOST;
        for (unsigned k = 0; of_host == host && k < DIFF_FIGURES; k++) {
            struct diff_test *test = &row->figures[k];
            if (!test->known || fabs(test->log.value) < NOTHING)
                continue;
            family->all++;
            if (row->tiny)
                continue;
            family->p[family->count] = test->log.p;
            family->tests[family->count++] = test;
        }
    }
    statistics_adjust(family->p, family->order, family->count);
    for (size_t i = 0; i < family->count; i++)
        family->tests[i]->adjusted = family->p[i];
    for (size_t i = 0; i < diff->rows.count; i++) {
        struct diff_row *row = &diff->rows.items[i];
        bool of_host = diff_comparable(row->section)->floor == FLOOR_HOST;
        for (unsigned k = 0; row->tiny && of_host == host && k < DIFF_FIGURES; k++)
            row->figures[k].adjusted = fmin(1, row->figures[k].log.p * fmax(1, (double)family->all));
    }
}

/* --- the whole --- */

/* Tests a figure of whole traces. Means are arithmetic, so that busy and idle times of GPUs add up to the time of the
 * run. */
static struct diff_test test_whole(const struct diff *diff, size_t at, struct floor floor)
{
    struct diff_values sides[DIFF_SIDES] = {diff_whole_values(diff, at, BEFORE), diff_whole_values(diff, at, AFTER)};
    struct diff_test test = diff_compare(sides, floor, &no_shifts);
    test.before = diff_whole_mean(diff, at, BEFORE);
    test.after = diff_whole_mean(diff, at, AFTER);
    if (diff->traces == DIFF_SIDES && floor.usual > floor_of(FLOOR_GPU).usual)
        test.log.p = fmax(test.log.p, CHANCE_HOST);
    return test;
}

int diff_judge(struct diff *diff)
{
    double sum = 0;
    for (size_t i = 0; i < diff->traces; i++)
        sum += diff->wholes[i].span;
    double span = sum / (double)diff->traces;
    int status = 0;
    for (size_t i = 0; i < diff->rows.count; i++) {
        struct diff_row *row = &diff->rows.items[i];
        for (size_t k = 0; k < diff->traces; k++) {
            enum diff_side side = diff_side_of(diff, k);
            row->present[side] += row->samples[k].present;
            row->totals[side] += row->samples[k].total;
            row->counts[side] += row->samples[k].count;
        }
        for (int side = 0; side < DIFF_SIDES; side++) {
            row->totals[side] /= (double)diff->options->counts[side];
            row->counts[side] /= (double)diff->options->counts[side];
        }
        row->tiny = diff_type(row->section) == TYPE_NS &&
                    fmax(row->totals[BEFORE], row->totals[AFTER]) < DIFF_TINY / 100 * span;
    }
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (diff->compared[i])
            status = test_section(diff, i);
    if (status == 0) {
        /* Times of the host vary by far more than those of GPUs, so the two are corrected as separate families. */
        size_t most = diff->rows.count * 3 + 1;
        struct family family = {.tests = calloc(most, sizeof(*family.tests)),
                                .p = calloc(most, sizeof(*family.p)),
                                .order = calloc(most, sizeof(*family.order))};
        status = family.tests && family.p && family.order ? 0 : -1;
        for (int host = 0; host < 2 && status == 0; host++)
            adjust_family(diff, &family, host);
        free(family.tests);
        free(family.p);
        free(family.order);
    }
    for (size_t i = 0; i < diff->rows.count && status == 0; i++) {
        struct diff_row *row = &diff->rows.items[i];
        bool timed = diff_type(row->section) == TYPE_NS;
        if (!diff->compared[row->section])
            continue;
        if (row->present[BEFORE] == 0 || row->present[AFTER] == 0) {
            row->change = row->present[BEFORE] == 0 ? APPEARED : VANISHED;
            row->sure = sure_of(chance_of_presence(diff, row, span));
            continue;
        }
        consider(row, &row->each, timed ? SLOWER : LARGER, timed ? FASTER : SMALLER);
        consider(row, &row->count, MORE, FEWER);
        consider(row, &row->total, LARGER, SMALLER);
    }
    diff->span = test_whole(diff, offsetof(struct diff_whole, span), FLOOR_OF_SPAN);
    diff->busy = test_whole(diff, offsetof(struct diff_whole, busy), floor_of(FLOOR_GPU));
    if (diff->by_steps)
        diff->step = test_whole(diff, offsetof(struct diff_whole, step), FLOOR_OF_SPAN);
    diff->idle = test_whole(diff, offsetof(struct diff_whole, idle), FLOOR_OF_IDLE);
    return status;
}
