/* The test of one figure on what runs of one program took on an H200: trimmed means of 300 launches of a run, in ns. */
#include "tests/unit.h"

#include <math.h>

#include "analysis/diff/diff_judge.h"
#include "tests/analysis/diff/diff_runs.h"

static const double vector_add[] = {58740, 58799, 58247, 58395, 58506, 58687, 58814, 58587, 58307, 58747,
                                    58826, 58751, 59105, 58242, 58604, 58424, 58809, 58575, 58732, 58355,
                                    59091, 58630, 59022, 58895, 58714, 58747, 58301, 58985, 58918, 58590,
                                    58340, 58861, 59055, 58572, 58701, 58781, 58769, 58608, 58796, 58932};
static const double gemm[] = {279067, 278963, 279076, 279019, 278869, 279183, 279339, 279017, 279218, 279025,
                              278938, 279339, 278828, 279218, 279072, 279066, 279045, 278888, 279142, 278929};
/* With 2 % more work. */
static const double slow_gemm[] = {284446, 284392, 284558, 284471, 284414, 284428, 284512, 284370, 284420, 284517,
                                   284458, 284384, 284454, 284632, 284374, 284548, 284567, 284500, 284424, 284418};
static const double slow_vector_add[] = {59427, 59668, 59352, 60243, 59640, 59641, 59422, 59661, 59465, 59405,
                                         59724, 59680, 59775, 60183, 59557, 59689, 60269, 59518, 60057, 59978};

#define PAIRS 200

/* The values of a side: COUNT runs of LIST. */
static struct diff_values values_of(const double *list, const size_t *order, size_t count)
{
    struct diff_values values = {.count = count, .within = 1e-8, .within_df = 180};
    for (size_t i = 0; i < count; i++)
        values.mean += log(list[order[i]]) / (double)count;
    for (size_t i = 0; i < count && count > 1; i++)
        values.variance += pow(log(list[order[i]]) - values.mean, 2) / (double)(count - 1);
    return values;
}

static bool is_sure(const struct diff_values sides[DIFF_SIDES])
{
    static const struct diff_shifts no_shifts = {.prior = DIFF_USUAL_PRIOR};
    struct diff_test test = diff_compare(sides, floor_of(FLOOR_GPU), &no_shifts);
    return test.log.p <= DIFF_SURE;
}

/* Of PAIRS pairs of two sets of runs without a run in common, how many differ for sure. */
static size_t alarms(const double *list, size_t all, size_t runs)
{
    size_t order[64], count = 0;
    for (int i = 0; i < PAIRS; i++) {
        shuffle(order, all, 2 * runs);
        const struct diff_values sides[] = {values_of(list, order, runs), values_of(list, order + runs, runs)};
        count += is_sure(sides);
    }
    return count;
}

/* Likewise of a set of BEFORE, and one of AFTER. */
static size_t found(const double *before, size_t all_before, const double *after, size_t all_after, size_t runs)
{
    size_t order[64], other[64], count = 0;
    for (int i = 0; i < PAIRS; i++) {
        shuffle(order, all_before, runs);
        shuffle(other, all_after, runs);
        const struct diff_values sides[] = {values_of(before, order, runs), values_of(after, other, runs)};
        count += is_sure(sides);
    }
    return count;
}

UNIT_TEST(of_200_pairs_of_equal_runs_at_most_2_differ)
{
    static const size_t runs[] = {1, 2, 3, 4, 5, 8};
    for (size_t i = 0; i < COUNT(runs); i++) {
        assert_in_range(alarms(reduce, COUNT(reduce), runs[i]), 0, 2);
        assert_in_range(alarms(vector_add, COUNT(vector_add), runs[i]), 0, 2);
        assert_in_range(alarms(gemm, COUNT(gemm), runs[i]), 0, 2);
    }
}

UNIT_TEST(a_kernel_whose_runs_agree_is_found_with_three_runs)
{
    size_t least = PAIRS * 95 / 100;
    assert_in_range(found(gemm, COUNT(gemm), slow_gemm, COUNT(slow_gemm), 3), least, PAIRS);
    assert_int_equal(found(gemm, COUNT(gemm), slow_gemm, COUNT(slow_gemm), 2), 0);
}

UNIT_TEST(a_kernel_whose_runs_differ_by_half_a_per_cent_is_found_with_ten_runs)
{
    size_t least = PAIRS * 95 / 100;
    assert_in_range(found(vector_add, COUNT(vector_add), slow_vector_add, COUNT(slow_vector_add), 10), least, PAIRS);
}

/* One side takes 7 % longer; each side is of one mode. */
UNIT_TEST(sides_of_different_modes_are_not_sure_to_differ_unless_runs_are_several)
{
    static const double low[] = {24099, 24234, 23887, 23804}, high[] = {25738, 26080, 25715, 25763};
    static const size_t order[] = {0, 1, 2, 3};
    for (size_t runs = 1; runs <= 4; runs++) {
        const struct diff_values sides[] = {values_of(low, order, runs), values_of(high, order, runs)};
        assert_int_equal(is_sure(sides), runs >= FLOOR_SEVERAL);
    }
    const struct diff_values uneven[] = {values_of(low, order, 4), values_of(high, order, 1)};
    assert_false(is_sure(uneven));
}

/* Beyond what modes explain. */
UNIT_TEST(a_large_change_is_sure_with_one_run)
{
    static const double before[] = {24099, 24234}, larger[] = {28900, 29060}, slightly[] = {26300, 26450};
    static const size_t order[] = {0, 1};
    for (size_t runs = 1; runs <= 2; runs++) {
        const struct diff_values sides[] = {values_of(before, order, runs), values_of(larger, order, runs)};
        assert_true(is_sure(sides));
        const struct diff_values near[] = {values_of(before, order, runs), values_of(slightly, order, runs)};
        assert_false(is_sure(near));
    }
}

UNIT_MAIN(NULL, NULL)
