#include "tests/unit.h"

#include "common/sorter.h"

struct thing {
    uint64_t key, order;
};

static int compare(const void *left, const void *right)
{
    const struct thing *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

enum order { RISING, FALLING, RANDOM, NEARLY, EQUAL };

static uint64_t key_of(enum order order, uint64_t i, uint64_t count, unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    switch (order) {
    case RISING: return i;
    case FALLING: return count - i;
    case RANDOM: return *seed >> 4;
    case NEARLY: return i + (*seed >> 8) % 100;
    case EQUAL: break;
    }
    return 7;
}

static void check_walk(const struct sorter *sorter, uint64_t count, uint64_t sum)
{
    struct sorter_walk walk;
    struct thing last = {0};
    const struct thing *thing;
    uint64_t seen = 0;
    sorter_walk_begin(&walk, sorter);
    while ((thing = sorter_next(&walk))) {
        assert_true(seen == 0 || compare(&last, thing) < 0);
        last = *thing;
        sum -= thing->key + 3 * thing->order;
        seen++;
    }
    assert_null(sorter_next(&walk));
    assert_int_equal(sorter_walk_end(&walk), 0);
    assert_int_equal(seen, count);
    assert_int_equal(sum, 0);
}

static void sort(enum order order, uint64_t count, struct sorter_space space)
{
    struct sorter sorter;
    uint64_t sum = 0;
    unsigned seed = 5;
    size_t left = space.left;
    sorter_init(&sorter, &space, sizeof(struct thing), compare);
    for (uint64_t i = 0; i < count; i++) {
        struct thing thing = {key_of(order, i, count, &seed), i};
        sum += thing.key + 3 * i;
        assert_int_equal(sorter_add(&sorter, &thing), 0);
    }
    assert_int_equal(sorter_ready(&sorter), 0);
    check_walk(&sorter, count, sum);
    check_walk(&sorter, count, sum); /* walks change nothing */
    sorter_release(&sorter);
    assert_int_equal(space.left, left);
}

static void sort_in_all_orders(struct sorter_space space)
{
    static const uint64_t counts[] = {0, 1, 2, 63, 64, 65, 1000, 4096, 20000};
    for (enum order order = RISING; order <= EQUAL; order++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
            sort(order, counts[i], space);
}

UNIT_TEST(what_fits_is_held_in_order)
{
    sort_in_all_orders(sorter_space_usual());
    sort_in_all_orders((struct sorter_space){.left = 1 << 20, .run = 1024});
}

UNIT_TEST(what_does_not_fit_is_in_a_file)
{
    sort_in_all_orders((struct sorter_space){.left = 4096, .run = 1024});
    sort_in_all_orders((struct sorter_space){.left = 0, .run = sizeof(struct thing)});
}

UNIT_TEST(two_walks_do_not_disturb_each_other)
{
    struct sorter_space space = {.left = 0, .run = 160};
    struct sorter sorter;
    struct sorter_walk one, other;
    sorter_init(&sorter, &space, sizeof(struct thing), compare);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(sorter_add(&sorter, (&(struct thing){i * 37 % 100, i})), 0);
    assert_int_equal(sorter_ready(&sorter), 0);
    sorter_walk_begin(&one, &sorter);
    sorter_walk_begin(&other, &sorter);
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(((const struct thing *)sorter_next(&one))->key, i);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(((const struct thing *)sorter_next(&other))->key, i);
    for (uint64_t i = 50; i < 100; i++)
        assert_int_equal(((const struct thing *)sorter_next(&one))->key, i);
    assert_int_equal(sorter_walk_end(&one), 0);
    assert_int_equal(sorter_walk_end(&other), 0);
    sorter_release(&sorter);
}

UNIT_TEST(where_there_can_be_no_file_all_is_held)
{
    setenv("TMPDIR", "/nowhere/at/all", 1);
    sort(RANDOM, 20000, (struct sorter_space){.left = 0, .run = 1024});
    unsetenv("TMPDIR");
}

UNIT_MAIN(NULL, NULL)
