/* How long GPUs were busy with what was called from one time to another, beside a map of every nanosecond. */
#include "tests/unit.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analysis/base/cover.h"

enum { OPERATIONS = 200, QUERIES = 100, TIMES = 500 };

static unsigned seed;

static unsigned random_below(unsigned most)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % most;
}

static int by_called(const void *a, const void *b)
{
    const struct cover_operation *left = a, *right = b;
    return (left->called > right->called) - (left->called < right->called);
}

static int by_last(const void *a, const void *b)
{
    const struct cover_query *left = a, *right = b;
    return (left->last > right->last) - (left->last < right->last);
}

static int64_t count(const struct cover_operation *operations, const struct cover_query *query)
{
    static bool busy[TIMES + 100];
    int64_t all = 0;
    memset(busy, 0, sizeof(busy));
    for (size_t i = 0; i < OPERATIONS; i++)
        for (int64_t time = operations[i].start; time < operations[i].end; time++)
            busy[time] |= query->first <= operations[i].called && operations[i].called <= query->last;
    for (size_t i = 0; i < sizeof(busy); i++)
        all += busy[i];
    return all;
}

UNIT_TEST(random_questions_agree_with_counting)
{
    for (seed = 1; seed < 100; seed++) {
        struct cover_operation operations[OPERATIONS];
        struct cover_query queries[QUERIES];
        for (size_t i = 0; i < OPERATIONS; i++) {
            int64_t start = random_below(TIMES);
            operations[i] = (struct cover_operation){
                .called = random_below(TIMES), .start = start, .end = start + random_below(seed % 2 ? 100 : 5)};
        }
        for (size_t i = 0; i < QUERIES; i++) {
            int64_t first = random_below(TIMES);
            queries[i] = (struct cover_query){.first = first, .last = first + random_below(TIMES), .length = -5};
        }
        qsort(operations, OPERATIONS, sizeof(*operations), by_called);
        qsort(queries, QUERIES, sizeof(*queries), by_last);
        assert_int_equal(cover_answer(operations, OPERATIONS, queries, QUERIES), 0);
        for (size_t i = 0; i < QUERIES; i++)
            assert_int_equal(queries[i].length, count(operations, &queries[i]));
    }
}

UNIT_TEST(of_nothing_and_of_operations_without_length_it_is_nothing)
{
    struct cover_operation operation = {.called = 5, .start = 7, .end = 7};
    struct cover_query query = {.first = 0, .last = 10, .length = 3};
    assert_int_equal(cover_answer(NULL, 0, &query, 1), 0);
    assert_int_equal(query.length, 0);
    query.length = 3;
    assert_int_equal(cover_answer(&operation, 1, &query, 1), 0);
    assert_int_equal(query.length, 0);
}

UNIT_MAIN(NULL, NULL)
