#include "tests/unit.h"

#include "common/map.h"

struct pair {
    uint64_t first;
    int64_t second;
};

UNIT_TEST(keys_are_numbered_as_they_come)
{
    struct dense_map groups = {0};
    const uint64_t keys[] = {7, UINT64_MAX, 0, 7, 0, 8};
    const uint32_t numbers[] = {0, 1, 2, 0, 2, 3};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        assert_int_equal(dense_map_number(&groups, &keys[i], sizeof(*keys)), numbers[i]);
    assert_int_equal(*(const uint64_t *)dense_map_row(&groups, 1), UINT64_MAX);
    dense_map_release(&groups);
}

/* Fields of which few bits differ, at either end of them. */
static struct pair pair_of(uint32_t i)
{
    return (struct pair){(uint64_t)(i % 64) << 58, (int64_t)(i / 64) - 100};
}

UNIT_TEST(many_keys_are_kept_apart)
{
    enum { COUNT = 100000 };
    struct dense_map groups = {0};
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < COUNT; i++) {
            struct pair key = pair_of(i);
            assert_int_equal(dense_map_number(&groups, &key, sizeof(key)), i);
        }
    for (uint32_t i = 0; i < COUNT; i++) {
        struct pair key = pair_of(i);
        assert_memory_equal(dense_map_row(&groups, i), &key, sizeof(key));
    }
    dense_map_release(&groups);
}

UNIT_TEST(a_new_group_has_a_new_item)
{
    struct dense_map groups = {0};
    ARRAY(int) counts = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t key = i * i % 100;
        int *count = dense_map_item(&groups, &key, &counts);
        assert_non_null(count);
        assert_true(i >= 100 || *count < 10);
        ++*count;
    }
    assert_int_equal(counts.count, 22); /* squares modulo 100 */
    int sum = 0;
    for (size_t i = 0; i < counts.count; i++)
        sum += counts.items[i];
    assert_int_equal(sum, 1000);
    array_release(&counts);
    dense_map_release(&groups);
}

UNIT_MAIN(NULL, NULL)
