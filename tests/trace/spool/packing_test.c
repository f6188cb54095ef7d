#include "tests/unit.h"

#include <stdalign.h>

#include "trace/spool/packing.h"

enum { SIZE = 4096 };
static uint16_t sizes[SPOOL_CUPTI_KINDS];
static alignas(8) uint8_t records[SIZE], columns[COLUMNS_BYTES_MAX(SIZE)], again[SIZE];

UNIT_FIXTURE(set_up)
{
    memset(records, 0, sizeof(records));
    memset(sizes, 0, sizeof(sizes));
    sizes[5] = 40;
    sizes[10] = 216;
    return 0;
}

/* Records of two kinds, of which times and correlation vary. Returns their bytes. */
static size_t put_records(unsigned count)
{
    size_t at = 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t *words = (uint32_t *)(void *)(records + at);
        words[0] = i % 3 ? 5 : 10 | (i % 2 ? SPOOL_IN_FLIGHT : 0);
        words[2] = 1000 + 7 * i * i;
        words[5] = i;
        words[8] = 42;
        at += sizes[words[0] & ~SPOOL_IN_FLIGHT];
    }
    return at;
}

static void come_back(size_t size, const uint16_t *record_bytes)
{
    size_t bytes = columns_split(records, size, record_bytes, columns);
    assert_true(bytes <= COLUMNS_BYTES_MAX(size));
    memset(again, 0xee, sizeof(again));
    assert_true(columns_join(columns, bytes, again, size));
    assert_memory_equal(records, again, size);
}

UNIT_TEST_WITH(records_come_back_as_they_were, set_up, NULL)
{
    for (unsigned count = 0; count <= 40; count++)
        come_back(put_records(count), sizes);
}

UNIT_TEST_WITH(what_does_not_vary_is_kept_once, set_up, NULL)
{
    size_t size = put_records(40);
    assert_true(columns_split(records, size, sizes, columns) < size / 3);
}

UNIT_TEST_WITH(what_is_not_known_stays_as_it_is, set_up, NULL)
{
    size_t size = put_records(6);
    for (size_t i = 0; i < 100; i++)
        records[size + i] = (uint8_t)(i * 37 + 99);
    come_back(size + 100, sizes); /* no kind */
    come_back(size - 8, sizes);   /* a record that is cut */
    sizes[10] = 4;                /* no size of a record */
    come_back(size, sizes);
    sizes[10] = COLUMNS_WORDS_MAX * 4 + 8;
    come_back(size, sizes);
}

/* --- the library's own --- */

/* At AT, of WORDS words, all else but its head and its time made of NUMBER. Returns its end. */
static size_t put_own(size_t at, uint16_t type, uint16_t flags, uint32_t words, uint32_t number)
{
    uint32_t *record = (uint32_t *)(void *)(records + at);
    record[0] = type | (uint32_t)flags << 16;
    record[1] = 4 * words;
    record[2] = 1000 + 7 * number;
    for (uint32_t i = 4; i < words; i++)
        record[i] = number / 8 * i;
    return at + 4 * words;
}

UNIT_TEST_WITH(own_records_are_kept_apart_by_type_flags_and_size, set_up, NULL)
{
    size_t size = 0;
    for (uint32_t i = 0; i < 60; i++)
        size = put_own(size, (uint16_t)(1 + i % 2), (uint16_t)(i % 3), 8 + 2 * (i % 5 == 0), i);
    come_back(size, NULL);
    columns_split(records, size, NULL, columns);
    const struct columns_head *head = (const struct columns_head *)(const void *)columns;
    assert_int_equal(head->records, 60);
    assert_int_equal(head->kinds, 2 * 3 * 2);
}

UNIT_TEST_WITH(own_records_of_too_many_kinds_stay_as_they_are, set_up, NULL)
{
    size_t size = 0;
    for (uint32_t i = 0; i < 100; i++)
        size = put_own(size, 1, (uint16_t)i, 6, i);
    come_back(size, NULL);
    columns_split(records, size, NULL, columns);
    const struct columns_head *head = (const struct columns_head *)(const void *)columns;
    assert_int_equal(head->records, COLUMNS_KINDS_MAX);
    assert_int_equal(head->kinds, COLUMNS_KINDS_MAX);
}

UNIT_TEST_WITH(own_records_that_are_large_or_damaged_stay_as_they_are, set_up, NULL)
{
    size_t first = put_own(0, 1, 0, 8, 1), size = put_own(first, 2, 0, COLUMNS_WORDS_MAX + 2, 2);
    come_back(put_own(size, 1, 0, 8, 3), NULL);
    for (uint32_t bytes = 0; bytes < 40; bytes++) { /* as it tells of itself */
        ((uint32_t *)(void *)(records + first))[1] = bytes;
        come_back(size, NULL);
    }
    come_back(0, NULL);
    come_back(8, NULL);
}

UNIT_TEST_WITH(damaged_columns_are_refused, set_up, NULL)
{
    size_t size = put_records(12), bytes = columns_split(records, size, sizes, columns);
    for (size_t cut = 0; cut < bytes; cut++)
        assert_false(columns_join(columns, cut, again, size));
    assert_false(columns_join(columns, bytes, again, size - 8));
    assert_false(columns_join(columns, bytes, again, size + 8));
    struct columns_head *head = (struct columns_head *)(void *)columns;
    struct columns_kind *kind = (struct columns_kind *)(head + 1);
    static const uint32_t wrong[] = {0, 1, SPOOL_CUPTI_KINDS + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct columns_head right = *head;
        head->kinds = wrong[i];
        assert_false(columns_join(columns, bytes, again, size));
        *head = right;
        head->records = wrong[i];
        assert_false(columns_join(columns, bytes, again, size));
        *head = right;
        struct columns_kind first = *kind;
        kind->records = wrong[i];
        assert_false(columns_join(columns, bytes, again, size));
        *kind = first;
        kind->words = (uint16_t)wrong[i];
        assert_false(columns_join(columns, bytes, again, size));
        *kind = first;
    }
    assert_true(columns_join(columns, bytes, again, size));
}

UNIT_MAIN(NULL, NULL)
