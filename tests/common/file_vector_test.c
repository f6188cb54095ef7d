#include "tests/unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/file_vector.h"

struct pair {
    uint64_t key, value;
    uint32_t more;
};

typedef FILE_VECTOR(struct pair) pairs;

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
        struct pair *pair = file_vector_push(array);
        assert_non_null(pair);
        assert_true(pair->key == 0 && pair->value == 0 && pair->more == 0);
        *pair = (struct pair){.key = scatter(i), .value = i};
        if (i % 10000 == 0)
            file_vector_rest(array);
    }
}

static void check_sorted(const char *directory, size_t count, bool in_file)
{
    pairs array = {.memory = {.directory = directory}};
    fill(&array, count);
    assert_int_equal(array.memory.file != 0, in_file);
    for (size_t i = 0; i < count; i += 97)
        assert_true(array.items[i].key == scatter(i) && array.items[i].value == i);
    assert_int_equal(file_vector_sort(&array, by_key), 0);
    assert_int_equal(array.count, count);
    uint64_t values = 0;
    for (size_t i = 0; i < count; i++) {
        values += array.items[i].value;
        assert_true(array.items[i].key == scatter(array.items[i].value));
        assert_true(i == 0 || by_key(&array.items[i - 1], &array.items[i]) < 0);
    }
    assert_int_equal(values, (uint64_t)count * (count - 1) / 2);
    assert_int_equal(file_vector_sort(&array, by_key), 0); /* what is sorted stays */
    assert_true(by_key(&array.items[0], &array.items[count - 1]) < 0);
    file_vector_release(&array);
    assert_non_null(file_vector_push(&array)); /* it can be used again */
    file_vector_release(&array);
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

enum { ARRAYS = 120, EACH = 40000 };

/* Those of many threads, each of which would be small enough for memory. */
static size_t fill_many(pairs *arrays, const char *directory)
{
    size_t in_files = 0;
    for (size_t i = 0; i < ARRAYS; i++) {
        arrays[i] = (pairs){.memory = {.directory = directory}};
        fill(&arrays[i], EACH);
        assert_true(EACH * sizeof(struct pair) < FILE_VECTOR_PLAIN);
        in_files += arrays[i].memory.file != 0;
    }
    for (size_t i = 0; i < ARRAYS; i++)
        for (size_t j = 0; j < EACH; j += 101)
            assert_true(arrays[i].items[j].key == scatter(j) && arrays[i].items[j].value == j);
    return in_files;
}

static void test_many_are_not_large_together(void **state)
{
    (void)state;
    static pairs arrays[ARRAYS];
    const char *directory = unit_directory();
    for (int again = 0; again < 2; again++) { /* what is released counts no more */
        size_t in_files = fill_many(arrays, directory), plain = 0;
        assert_true(in_files > ARRAYS / 2);
        for (size_t i = 0; i < ARRAYS; i++) {
            plain += arrays[i].memory.file ? 0 : arrays[i].capacity * sizeof(struct pair);
            file_vector_release(&arrays[i]);
        }
        assert_true(plain > BIG_ARRAYS_PLAIN / 2 && plain <= BIG_ARRAYS_PLAIN + ARRAYS * FILE_VECTOR_LEAST);
    }
    unit_remove(directory);
}

static void test_descriptors_are_left_for_others(void **state)
{
    (void)state;
    static pairs arrays[ARRAYS];
    const char *directory = unit_directory();
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){.rlim_cur = 64, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(fill_many(arrays, directory), 64 / 2);
    pairs large = {.memory = {.directory = directory}};
    fill(&large, FILE_VECTOR_PLAIN / sizeof(struct pair) + 1);
    assert_true(large.memory.file != 0);
    int fd = dup(STDERR_FILENO);
    assert_true(fd >= 0);
    close(fd);
    file_vector_release(&large);
    for (size_t i = 0; i < ARRAYS; i++)
        file_vector_release(&arrays[i]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    unit_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_ones_are_memory),
        cmocka_unit_test(test_large_ones_lie_in_a_file),
        cmocka_unit_test(test_many_are_not_large_together),
        cmocka_unit_test(test_descriptors_are_left_for_others),
        cmocka_unit_test(test_without_a_place_for_a_file_it_is_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
