#include "tests/unit.h"

#include "common/map.h"

UNIT_TEST(an_empty_map_has_nothing)
{
    struct map map = {0};
    assert_null(map_get(&map, 0));
    assert_false(map_remove(&map, 0));
    map_release(&map);
}

UNIT_TEST(what_was_put_is_found)
{
    struct map map = {0};
    bool is_new = false;
    for (uint64_t key = 0; key < 10000; key++) {
        *map_put(&map, key * UINT64_C(0x100000001), &is_new) = key;
        assert_true(is_new);
    }
    assert_int_equal(map_count(&map), 10000);
    for (uint64_t key = 0; key < 10000; key++)
        assert_int_equal(*map_get(&map, key * UINT64_C(0x100000001)), key);
    *map_put(&map, 0, &is_new) += 7;
    assert_false(is_new);
    assert_int_equal(*map_get(&map, 0), 7);
    assert_null(map_get(&map, 1));
    map_release(&map);
}

UNIT_TEST(a_map_whose_keys_are_put_and_removed_does_not_grow)
{
    struct map map = {0};
    for (uint64_t key = 0; key < 100000; key++) {
        *map_put(&map, key, NULL) = key;
        if (key >= 10)
            assert_true(map_remove(&map, key - 10));
    }
    assert_int_equal(map_count(&map), 10);
    assert_true(map.pairs.most <= 32);
    for (uint64_t key = 99990; key < 100000; key++)
        assert_int_equal(*map_get(&map, key), key);
    assert_null(map_get(&map, 99989));
    map_release(&map);
}

UNIT_TEST(a_removed_key_comes_back_as_zero)
{
    struct map map = {0};
    *map_put(&map, 5, NULL) = 55;
    assert_true(map_remove(&map, 5));
    assert_false(map_remove(&map, 5));
    bool is_new = false;
    assert_int_equal(*map_put(&map, 5, &is_new), 0);
    assert_true(is_new);
    map_release(&map);
}

/* Neighbours in the slots move up when one is removed, and the last pair takes its place. */
UNIT_TEST(pairs_that_stay_are_found_after_others_were_removed)
{
    enum { KEYS = 300, STEPS = 100000 };
    uint64_t value_of[KEYS] = {0}, random = 1;
    struct map map = {0};
    size_t count = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t index = (random >> 33) % KEYS, key = index << (index % 2 ? 50 : 0);
        bool was = value_of[index] != 0;
        if (random >> 63) {
            assert_int_equal(map_remove(&map, key), was);
            count -= was;
            value_of[index] = 0;
        } else {
            *map_put(&map, key, NULL) = value_of[index] = step;
            count += !was;
        }
        if (step % 100 != 0)
            continue;
        assert_int_equal(map_count(&map), count);
        for (uint64_t i = 0; i < KEYS; i++) {
            const uint64_t *value = map_get(&map, i << (i % 2 ? 50 : 0));
            assert_int_equal(value ? *value : 0, value_of[i]);
        }
    }
    map_release(&map);
}

/* By the number of slots that are looked at: the slot of each key is at most this far from where its search begins. */
UNIT_TEST(keys_at_equal_distances_are_spread)
{
    enum { KEYS = 1 << 17, FAR = 64 };
    static const uint64_t distances[] = {1, 64, 155 << 3, 341 << 3, 1 << 12, 31 << 16, UINT64_C(227) << 18};
    for (size_t i = 0; i < sizeof(distances) / sizeof(*distances); i++) {
        struct map map = {0};
        for (uint64_t k = 0; k < KEYS; k++)
            assert_non_null(map_put(&map, UINT64_C(0x7f0000000000) + k * distances[i], NULL));
        for (uint64_t k = 0; k < KEYS; k++) {
            uint64_t key = UINT64_C(0x7f0000000000) + k * distances[i];
            size_t slot = dense_map_hash_handle(key) >> map.pairs.shift, steps = 0;
            while (map.pairs.slots[(slot + steps) % (2 * KEYS)] != k + 1)
                steps++;
            assert_true(steps <= FAR);
        }
        map_release(&map);
    }
}

static int add(void *context, uint64_t key, uint64_t *value)
{
    uint64_t *sum = context;
    *sum += key + *value;
    return key == 3 ? 33 : 0;
}

UNIT_TEST(each_pair_is_visited_until_the_function_returns_non_zero)
{
    struct map map = {0};
    uint64_t sum = 0;
    *map_put(&map, 1, NULL) = 10;
    *map_put(&map, 2, NULL) = 20;
    assert_int_equal(map_each(&map, add, &sum), 0);
    assert_int_equal(sum, 33);
    *map_put(&map, 3, NULL) = 0;
    assert_int_equal(map_each(&map, add, &sum), 33);
    map_release(&map);
}

UNIT_TEST(hashes_of_other_lengths_and_contents_differ)
{
    assert_int_not_equal(hash_bytes("", 0), hash_bytes("\0", 1));
    assert_int_not_equal(hash_bytes("12345678", 8), hash_bytes("12345678\0", 9));
    assert_int_not_equal(hash_bytes("abcdefgh1", 9), hash_bytes("abcdefgh2", 9));
    assert_int_equal(hash_bytes("abcdefgh1", 9), hash_bytes("abcdefgh1", 9));
}

/* The agent knows texts by these bits (agent/torch/operators.c). */
UNIT_TEST(the_lowest_9_and_the_highest_40_bits_of_hashes_tell_similar_texts_apart)
{
    struct map seen = {0};
    unsigned count[512] = {0}, texts = 100000;
    for (unsigned i = 0; i < texts; i++) {
        char text[64];
        bool is_new;
        int length = snprintf(text, sizeof(text), "%sstep_%u", i % 2 ? "autograd::engine::evaluate_function: " : "", i);
        uint64_t hash = hash_bytes(text, (size_t)length);
        count[hash % 512]++;
        assert_non_null(map_put(&seen, hash >> 24 << 9 | hash % 512, &is_new));
        assert_true(is_new);
    }
    for (unsigned i = 0; i < 512; i++)
        assert_in_range(count[i], texts / 512 / 2, texts / 512 * 2);
    map_release(&seen);
}

UNIT_TEST(equal_strings_get_one_number)
{
    struct interner interner = {0};
    assert_int_equal(intern(&interner, "one", 3), 0);
    assert_int_equal(intern(&interner, "two", 3), 1);
    assert_int_equal(intern(&interner, "one!", 3), 0);
    assert_int_equal(intern(&interner, "", 0), 2);
    const char *first = interned(&interner, 0);
    char text[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "string %d", i);
        assert_int_equal(intern(&interner, text, strlen(text)), i + 3);
    }
    assert_ptr_equal(interned(&interner, 0), first);
    assert_string_equal(first, "one");
    assert_string_equal(interned(&interner, 1002), "string 999");
    interner_release(&interner);
}

UNIT_TEST(strings_stay_where_they_are)
{
    enum { COUNT = 20000 };
    static const struct interned *places[COUNT];
    struct interner interner = {0};
    char text[16];
    for (uint32_t i = 0; i < COUNT; i++) {
        int length = snprintf(text, sizeof(text), "string %u", i);
        assert_int_equal(intern(&interner, text, (size_t)length), i);
        places[i] = interner_at(&interner, i);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        int length = snprintf(text, sizeof(text), "string %u", i);
        assert_ptr_equal(interner_at(&interner, i), places[i]);
        assert_int_equal(places[i]->length, length);
        assert_string_equal(interned(&interner, i), text);
    }
    interner_release(&interner);
}

UNIT_MAIN(NULL, NULL)
