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
            file_vector_evict(array);
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

UNIT_TEST(test_small_ones_are_memory)
{
    check_sorted("/nowhere", 2, false);
    check_sorted("/tmp", 1000, false);
}

UNIT_TEST(test_large_ones_lie_in_a_file)
{
    const char *directory = unit_directory();
    check_sorted(directory, 300000, true);  /* one block */
    check_sorted(directory, 2000000, true); /* several, and more than one step of the file */
    unit_remove(directory);
}

UNIT_TEST(test_without_a_place_for_a_file_it_is_memory)
{
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

UNIT_TEST(test_many_are_not_large_together)
{
    static pairs arrays[ARRAYS];
    const char *directory = unit_directory();
    for (int again = 0; again < 2; again++) { /* what is released counts no more */
        size_t in_files = fill_many(arrays, directory), plain = 0;
        assert_true(in_files > ARRAYS / 2);
        for (size_t i = 0; i < ARRAYS; i++) {
            plain += arrays[i].memory.file ? 0 : arrays[i].capacity * sizeof(struct pair);
            file_vector_release(&arrays[i]);
        }
        assert_true(plain > FILE_VECTORS_PLAIN / 2 && plain <= FILE_VECTORS_PLAIN + ARRAYS * FILE_VECTOR_LEAST);
    }
    unit_remove(directory);
}

UNIT_TEST(test_descriptors_are_left_for_others)
{
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

/* --- */

#define BLOCK ((size_t)32 << 10)

/* Resident memory of this process, in bytes. */
__attribute__((unused)) static size_t resident(void)
{
    char line[256] = "";
    unsigned long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    assert_int_equal(sscanf(line, "%lu %lu", &all, &pages), 2);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t *fill_block(struct spill *spill, size_t number)
{
    uint64_t *block = spill_block(spill, BLOCK);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 4096, 0);
    for (size_t i = 0; i < BLOCK / sizeof(*block); i++) {
        assert_int_equal(block[i], 0);
        block[i] = number + i;
    }
    return block;
}

static void check_blocks(const char *directory, uint64_t most_plain, bool in_file)
{
    enum { BLOCKS = 3000 };
    static uint64_t *blocks[BLOCKS];
    struct spill spill;
    spill_init(&spill, directory);
    spill.most_plain = most_plain;
#ifndef __SANITIZE_THREAD__
    size_t before = resident();
#endif
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = fill_block(&spill, i * 7);
        if (i % 100 == 0)
            spill_evict(&spill);
    }
    spill_evict(&spill);
    assert_int_equal(spill.file_bytes > 0, in_file);
    assert_int_equal(spill_last_in_file(&spill), in_file);
#ifndef __SANITIZE_THREAD__ /* which keeps memory of its own for what was touched */
    if (in_file)
        assert_true(resident() < before + most_plain + ((size_t)16 << 20));
#endif
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < BLOCK / sizeof(uint64_t); k += 511)
            assert_int_equal(blocks[i][k], i * 7 + k);
    spill_release(&spill);
}

UNIT_TEST(test_blocks_keep_what_was_written)
{
    check_blocks(NULL, SPILL_PLAIN_BYTES, false);
}

UNIT_TEST(test_blocks_in_a_file_leave_memory)
{
    const char *directory = unit_directory();
    check_blocks(directory, 0, true);
    check_blocks(directory, (uint64_t)8 << 20, true);
    char command[512], answer[32] = "";
    snprintf(command, sizeof(command), "ls -A '%s' | wc -l", directory);
    FILE *pipe = popen(command, "r");
    assert_non_null(fgets(answer, sizeof(answer), pipe));
    pclose(pipe);
    assert_string_equal(answer, "0\n"); /* it has no name */
    unit_remove(directory);
}

UNIT_TEST(test_blocks_without_a_place_for_a_file_are_memory)
{
    check_blocks("/nowhere/at/all", 0, false);
}

UNIT_TEST(test_blocks_of_several_sizes_are_aligned)
{
    struct spill spill = {0};
    for (unsigned i = 0; i < 2000; i++) {
        size_t size = (size_t)16 << i % 13;
        char *block = spill_block(&spill, size);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % (size < 4096 ? size : 4096), 0);
        memset(block, (int)i, size);
    }
    spill_release(&spill);
}

UNIT_MAIN(NULL, NULL)
