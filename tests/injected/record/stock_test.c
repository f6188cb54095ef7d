#include "injected/record/stock.h"

#include "injected/record/segments.h"
#include "injected/record/spool_file.h"
#include "tests/injected/spool_reading.h"

static char *directory;

static int open_stock(void **state)
{
    (void)state;
    directory = new_directory();
    if (!spool_file_open(directory, 7))
        return -1;
    struct spool_chunk *first = spool_file_grow();
    stock_open(first);
    return first == NULL;
}

static int remove_spool(void **state)
{
    (void)state;
    remove_directory(directory);
    return 0;
}

/* Cuts what follows after BYTES off CHUNK, and gives it: blank, and held. */
static struct spool_chunk *cut_off(struct spool_chunk *chunk, uint64_t bytes)
{
    struct spool_chunk *rest = (struct spool_chunk *)((char *)chunk + bytes);
    *rest = (struct spool_chunk){.magic = SPOOL_CHUNK_MAGIC, .bytes = chunk->bytes - bytes, .segment = chunk->segment};
    segment_hold(rest);
    chunk->bytes = bytes;
    return rest;
}

static void a_whole_segment_is_ready_for_either(void **state)
{
    (void)state;
    struct spool_chunk *cupti = stock_take(SPOOL_CUPTI), *records = stock_take(SPOOL_RECORDS);
    assert_int_equal(cupti->bytes, SPOOL_SEGMENT_BYTES);
    assert_int_equal(records->bytes, SPOOL_SEGMENT_BYTES);
    assert_int_equal(segment_purpose(cupti), SPOOL_CUPTI);
    assert_int_equal(segment_purpose(records), SPOOL_RECORDS);
    stock_put(cupti);
    stock_put(records);
}

static void the_smallest_that_is_large_enough_goes_first(void **state)
{
    (void)state;
    struct spool_chunk *first = stock_take(SPOOL_CUPTI), *second = stock_take(SPOOL_CUPTI);
    struct spool_chunk *larger = cut_off(first, SPOOL_SEGMENT_BYTES - 2 * CUPTI_CHUNK_BYTES_MIN);
    struct spool_chunk *smaller = cut_off(second, SPOOL_SEGMENT_BYTES - CUPTI_CHUNK_BYTES_MIN);
    stock_put(larger);
    stock_put(smaller);
    assert_ptr_equal(stock_take(SPOOL_CUPTI), smaller);
    assert_ptr_equal(stock_take(SPOOL_CUPTI), larger);
    for (unsigned i = 0; i < 2; i++)
        segment_drop(i ? first : second);
    segment_drop(larger);
    segment_drop(smaller);
}

static void what_is_too_small_for_cupti_is_left_to_records(void **state)
{
    (void)state;
    struct spool_chunk *records = stock_take(SPOOL_RECORDS);
    struct spool_chunk *rest = cut_off(records, SPOOL_SEGMENT_BYTES - RECORDS_CHUNK_BYTES);
    stock_put(rest);
    struct spool_chunk *cupti = stock_take(SPOOL_CUPTI);
    assert_ptr_not_equal(cupti, rest);
    assert_ptr_equal(stock_take(SPOOL_RECORDS), rest);
    segment_drop(records);
    segment_drop(rest);
    stock_put(cupti);
}

/* A segment is drained as a whole: what is not CUPTI's does not lie in those of CUPTI while there are others. */
static void a_segment_for_others_is_left_alone(void **state)
{
    (void)state;
    struct spool_chunk *cupti = stock_take(SPOOL_CUPTI);
    struct spool_chunk *rest = cut_off(cupti, SPOOL_SEGMENT_BYTES - CUPTI_CHUNK_BYTES_MIN);
    stock_put(rest);
    struct spool_chunk *records = stock_take(SPOOL_RECORDS);
    assert_int_not_equal(records->segment, rest->segment);
    assert_ptr_equal(stock_take(SPOOL_CUPTI), rest);
    segment_drop(cupti);
    segment_drop(rest);
    stock_put(records);
}

static void nothing_may_be_put(void **state)
{
    (void)state;
    stock_put(NULL);
    assert_non_null(stock_take(SPOOL_RECORDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_segment_is_ready_for_either),
        cmocka_unit_test(the_smallest_that_is_large_enough_goes_first),
        cmocka_unit_test(what_is_too_small_for_cupti_is_left_to_records),
        cmocka_unit_test(a_segment_for_others_is_left_alone),
        cmocka_unit_test(nothing_may_be_put),
    };
    return cmocka_run_group_tests_name("record/stock", tests, open_stock, remove_spool);
}
