/* Rows with two modes: whether they are found, and whether a change within them is. */
#include "tests/unit.h"

#include <math.h>

#include "analysis/diff/diff_modes.h"
#include "tests/analysis/diff/diff_runs.h"

/* `reduce` with 2 % more work. */
static const double slow_reduce[] = {26200, 24648, 24302, 26202, 24539, 24221, 26530, 24310, 24307, 24233, 24529,
                                     26539, 24534, 24216, 24519, 24298, 26237, 24289, 26514, 26226, 24221, 24650,
                                     26229, 26222, 26535, 26203, 24528, 24204, 24219, 24284, 24509, 24516};

#define PAIRS 200
#define MOST_RUNS 64
#define FLOOR floor_of(FLOOR_GPU)
/* As few launches vary so little: the unit is the floor's alone. */
#define UNIT diff_floor_variance(FLOOR.usual)
/* Seven rows are compared, as of the program that was measured. */
#define LIMIT (DIFF_SURE / 7)

struct pair {
    struct diff_run runs[MOST_RUNS];
    size_t count;
};

static void pair_add(struct pair *pair, enum diff_side side, double value)
{
    pair->runs[pair->count++] = (struct diff_run){value, side};
}

static struct diff_modes modes_of(struct pair *pair)
{
    return diff_modes_find(pair->runs, pair->count, log1p(FLOOR.usual / 100));
}

/* The test within modes; not `known` if there are none. */
static struct diff_test test_pair(struct pair *pair)
{
    struct diff_test test = {0};
    struct diff_modes modes = modes_of(pair);
    test.known = modes.known && diff_modes_compare(&modes, FLOOR, UNIT, &test);
    return test;
}

static bool is_slower(struct pair *pair)
{
    struct diff_test test = test_pair(pair);
    return test.known && test.log.p <= LIMIT && test.log.value > 0;
}

/* A sum of twelve, of deviation 1. */
static double noise(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += draw(1000000) / 1e6;
    return sum;
}

/* Runs with MODES modes, each DISTANCE above the one before; a run in four is not in the lowest one. */
struct made {
    unsigned modes;
    double distance, deviation;
};

static void add_made(struct pair *pair, enum diff_side side, const struct made *made, size_t runs, double change)
{
    for (size_t i = 0; i < runs; i++) {
        unsigned mode = draw(4) == 0 ? 1 + draw(made->modes - 1) : 0;
        pair_add(pair, side, change + mode * made->distance + made->deviation * noise());
    }
}

/* Of PAIRS pairs of RUNS on each side, how many differ for sure, if those after take longer by CHANGE. */
static size_t made_found(const struct made *made, size_t runs, double change)
{
    size_t found = 0;
    for (int i = 0; i < PAIRS; i++) {
        struct pair pair = {.count = 0};
        add_made(&pair, BEFORE, made, runs, 0);
        add_made(&pair, AFTER, made, runs, change);
        struct diff_test test = test_pair(&pair);
        found += test.known && test.log.p <= LIMIT;
    }
    return found;
}

/* --- runs of an H200 --- */

static size_t measured_found(size_t runs)
{
    size_t order[MOST_RUNS], other[MOST_RUNS], found = 0;
    for (int i = 0; i < PAIRS; i++) {
        struct pair pair = {.count = 0};
        shuffle(order, COUNT(reduce), runs);
        shuffle(other, COUNT(slow_reduce), runs);
        for (size_t at = 0; at < runs; at++) {
            pair_add(&pair, BEFORE, log(reduce[order[at]]));
            pair_add(&pair, AFTER, log(slow_reduce[other[at]]));
        }
        found += is_slower(&pair);
    }
    return found;
}

UNIT_TEST(a_kernel_with_two_modes_is_found_with_ten_to_fifteen_runs)
{
    assert_in_range(measured_found(10), PAIRS * 75 / 100, PAIRS);
    assert_in_range(measured_found(12), PAIRS * 90 / 100, PAIRS);
    assert_in_range(measured_found(15), PAIRS * 98 / 100, PAIRS);
    assert_int_equal(measured_found(5), 0);
}

UNIT_TEST(the_modes_of_a_kernel_are_seven_per_cent_apart)
{
    struct pair pair = {.count = 0};
    for (size_t i = 0; i < COUNT(reduce); i++)
        pair_add(&pair, i % 2 ? AFTER : BEFORE, log(reduce[i]));
    struct diff_modes modes = modes_of(&pair);
    assert_true(modes.known);
    assert_int_equal(modes.cells[LOW_MODE][BEFORE].count + modes.cells[LOW_MODE][AFTER].count, 32);
    assert_true(modes.distance > 0.065 && modes.distance < 0.08);
    assert_true(modes.deviation > 0.004 && modes.deviation < 0.008);
}

UNIT_TEST(of_200_pairs_of_equal_runs_at_most_2_differ_within_modes)
{
    static const size_t counts[] = {3, 5, 8, 10, 15, 20};
    for (size_t i = 0; i < COUNT(counts); i++) {
        size_t order[MOST_RUNS], alarms = 0, runs = counts[i];
        for (int drawn = 0; drawn < PAIRS; drawn++) {
            struct pair pair = {.count = 0};
            shuffle(order, COUNT(reduce), 2 * runs);
            for (size_t at = 0; at < 2 * runs; at++)
                pair_add(&pair, at < runs ? BEFORE : AFTER, log(reduce[order[at]]));
            struct diff_test test = test_pair(&pair);
            alarms += test.known && test.log.p <= LIMIT;
        }
        assert_in_range(alarms, 0, 2);
    }
}

/* --- made runs --- */

static const struct made two = {2, 0.07, 0.006}, exact = {2, 0.07, 0.0005}, three = {3, 0.03, 0.003},
                         none = {2, 0, 0.01};

UNIT_TEST(equal_made_runs_do_not_differ)
{
    static const size_t counts[] = {3, 5, 8, 10, 15, 20};
    for (size_t i = 0; i < COUNT(counts); i++) {
        assert_in_range(made_found(&two, counts[i], 0), 0, 2);
        assert_in_range(made_found(&exact, counts[i], 0), 0, 2);
        assert_in_range(made_found(&three, counts[i], 0), 0, 2);
        assert_in_range(made_found(&none, counts[i], 0), 0, 2);
    }
}

UNIT_TEST(a_change_of_two_or_four_per_cent_is_found_within_modes)
{
    assert_in_range(made_found(&two, 15, 0.02), PAIRS * 95 / 100, PAIRS);
    assert_in_range(made_found(&two, 15, 0.04), PAIRS * 90 / 100, PAIRS); /* the gap between the modes is filled */
    assert_in_range(made_found(&exact, 15, 0.02), PAIRS * 95 / 100, PAIRS);
    assert_in_range(made_found(&two, 15, 0.002), 0, 2); /* counts as none */
}

UNIT_TEST(runs_without_modes_have_none)
{
    size_t found = 0;
    for (int i = 0; i < PAIRS; i++) {
        struct pair pair = {.count = 0};
        add_made(&pair, BEFORE, &none, 10, 0);
        add_made(&pair, AFTER, &none, 10, 0);
        found += modes_of(&pair).known;
    }
    assert_in_range(found, 0, PAIRS * 5 / 100);
    struct pair pair = {.count = 0};
    for (int i = 0; i < 20; i++) /* modes 0.8 % apart are of no account */
        pair_add(&pair, i % 2 ? AFTER : BEFORE, i < 10 ? 0 : 0.008);
    assert_false(modes_of(&pair).known);
}

/* Adds COUNT runs near VALUE. */
static void add_near(struct pair *pair, enum diff_side side, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        pair_add(pair, side, value + 0.0002 * noise());
}

UNIT_TEST(sides_without_a_mode_in_common_are_not_compared_within_modes)
{
    struct pair pair = {.count = 0};
    add_near(&pair, BEFORE, 10, 0);
    add_near(&pair, AFTER, 10, 0.07);
    assert_true(modes_of(&pair).known);
    assert_false(test_pair(&pair).known);
}

UNIT_TEST(a_change_of_the_mode_itself_is_not_compared_within_modes)
{
    struct pair moved = {.count = 0}, same = {.count = 0};
    add_near(&moved, BEFORE, 9, 0);
    add_near(&moved, BEFORE, 1, 0.07);
    add_near(&moved, AFTER, 1, 0);
    add_near(&moved, AFTER, 9, 0.07);
    assert_false(test_pair(&moved).known);
    add_near(&same, BEFORE, 9, 0);
    add_near(&same, BEFORE, 1, 0.07);
    add_near(&same, AFTER, 8, 0);
    add_near(&same, AFTER, 2, 0.07);
    assert_true(test_pair(&same).known);
}

UNIT_TEST(modes_that_do_not_agree_on_a_change_make_it_unsure)
{
    struct pair outliers = {.count = 0}, agreeing = {.count = 0};
    add_near(&outliers, BEFORE, 11, 0);
    add_near(&outliers, BEFORE, 1, 0.15);
    add_near(&outliers, AFTER, 11, 0);
    add_near(&outliers, AFTER, 1, 0.25);
    assert_true(test_pair(&outliers).known);
    assert_false(is_slower(&outliers));
    add_near(&agreeing, BEFORE, 11, 0);
    add_near(&agreeing, BEFORE, 1, 0.15);
    add_near(&agreeing, AFTER, 11, 0.02);
    add_near(&agreeing, AFTER, 1, 0.17);
    assert_true(is_slower(&agreeing));
}

/* Within a mode all runs before may by chance be of one more mode, and all after of another. */
UNIT_TEST(nothing_is_less_likely_to_be_chance_than_the_order_of_the_runs)
{
    struct pair pair = {.count = 0};
    add_near(&pair, BEFORE, 4, 0);
    add_near(&pair, BEFORE, 1, 0.07);
    add_near(&pair, AFTER, 4, 0.015);
    add_near(&pair, AFTER, 1, 0.085);
    struct diff_test test = test_pair(&pair);
    assert_true(test.known);
    assert_true(fabs(test.log.value - 0.015) < 0.001);
    assert_true(test.log.p >= 2.0 / 252);
}

UNIT_TEST(the_traces_that_are_needed_grow_with_the_deviation)
{
    assert_in_range(diff_modes_needed(0.0065, log(1.02), LIMIT), 9, 12);
    assert_in_range(diff_modes_needed(0.02, log(1.02), LIMIT), 60, 80);
    assert_in_range(diff_modes_needed(0.0001, log(1.02), LIMIT), 8, 12); /* the order of fewer runs may be chance */
}

UNIT_MAIN(NULL, NULL)
