#include "tests/unit.h"

#include <stdbool.h>

#include "common/spill.h"

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

static uint64_t *fill(struct spill *spill, size_t number)
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
        blocks[i] = fill(&spill, i * 7);
        if (i % 100 == 0)
            spill_rest(&spill);
    }
    spill_rest(&spill);
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

static void test_blocks_keep_what_was_written(void **state)
{
    (void)state;
    check_blocks(NULL, SPILL_PLAIN_BYTES, false);
}

static void test_in_a_file_they_keep_it_and_leave_memory(void **state)
{
    (void)state;
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

static void test_without_a_place_for_a_file_it_is_memory(void **state)
{
    (void)state;
    check_blocks("/nowhere/at/all", 0, false);
}

static void test_blocks_of_several_sizes_are_aligned(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_keep_what_was_written),
        cmocka_unit_test(test_in_a_file_they_keep_it_and_leave_memory),
        cmocka_unit_test(test_without_a_place_for_a_file_it_is_memory),
        cmocka_unit_test(test_blocks_of_several_sizes_are_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
