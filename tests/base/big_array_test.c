#include "tests/unit.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/big_array.h"

struct pair {
    uint64_t key, value;
    uint32_t more;
};

typedef BIG_ARRAY(struct pair) pairs;

static int by_key(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->value < right->value ? -1 : left->value > right->value;
}

/* Numbers in no order, the same each time, some of them twice. */
static uint64_t scatter(uint64_t i)
{
    return (i * UINT64_C(0x9e3779b97f4a7c15)) >> 44;
}

static void fill(pairs *array, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pair *pair = big_array_push(array);
        assert_non_null(pair);
        assert_true(pair->key == 0 && pair->value == 0 && pair->more == 0);
        *pair = (struct pair){.key = scatter(i), .value = i};
        if (i % 10000 == 0)
            big_array_rest(array);
    }
}

static void check_sorted(const char *directory, size_t count, bool in_file)
{
    pairs array = {.memory = {.directory = directory}};
    fill(&array, count);
    assert_int_equal(array.memory.file != 0, in_file);
    for (size_t i = 0; i < count; i += 97)
        assert_true(array.items[i].key == scatter(i) && array.items[i].value == i);
    assert_int_equal(big_array_sort(&array, by_key), 0);
    assert_int_equal(array.count, count);
    uint64_t values = 0;
    for (size_t i = 0; i < count; i++) {
        values += array.items[i].value;
        assert_true(array.items[i].key == scatter(array.items[i].value));
        assert_true(i == 0 || by_key(&array.items[i - 1], &array.items[i]) < 0);
    }
    assert_int_equal(values, (uint64_t)count * (count - 1) / 2);
    assert_int_equal(big_array_sort(&array, by_key), 0); /* what is sorted stays */
    assert_true(by_key(&array.items[0], &array.items[count - 1]) < 0);
    big_array_release(&array);
    assert_non_null(big_array_push(&array)); /* it can be used again */
    big_array_release(&array);
}

static void test_small_ones_are_memory(void **state)
{
    (void)state;
    check_sorted("/nowhere", 2, false);
    check_sorted("/tmp", 1000, false);
}

static void test_large_ones_lie_in_a_file(void **state)
{
    (void)state;
    const char *directory = unit_directory();
    check_sorted(directory, 300000, true);  /* one block */
    check_sorted(directory, 2000000, true); /* several, and more than one step of the file */
    unit_remove(directory);
}

static void test_without_a_place_for_a_file_it_is_memory(void **state)
{
    (void)state;
    check_sorted("/nowhere/at/all", 400000, false);
    check_sorted(NULL, 400000, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_ones_are_memory),
        cmocka_unit_test(test_large_ones_lie_in_a_file),
        cmocka_unit_test(test_without_a_place_for_a_file_it_is_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
