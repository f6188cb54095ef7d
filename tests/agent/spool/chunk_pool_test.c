
#include <pthread.h>

#include "agent/spool/chunk_pool.h"
#include "agent/spool/segments.h"
#include "agent/spool/spool_file.h"
#include "tests/agent/spool_reading.h"

static char *directory;

UNIT_FIXTURE(open_stock)
{
    directory = new_directory();
    if (!spool_file_open(directory, 7))
        return -1;
    struct spool_chunk *first = spool_file_grow();
    chunk_pool_open(first);
    return first == NULL;
}

UNIT_FIXTURE(remove_spool)
{
    remove_directory(directory);
    return 0;
}

/* A chunk that is not cut, as large as a thread with many records gets it at least. */
static struct spool_chunk *take(enum spool_chunk_type type)
{
    return chunk_pool_get(type, type == SPOOL_CUPTI ? CUPTI_CHUNK_BYTES_MIN : RECORDS_CHUNK_BYTES, SPOOL_SEGMENT_BYTES);
}

static uint64_t file_bytes(void)
{
    return __atomic_load_n(&spool_file_header()->formatted, __ATOMIC_ACQUIRE);
}

UNIT_TEST(a_whole_segment_is_ready_for_either)
{
    struct spool_chunk *cupti = take(SPOOL_CUPTI), *records = take(SPOOL_RECORDS);
    assert_int_equal(cupti->bytes, SPOOL_SEGMENT_BYTES);
    assert_int_equal(records->bytes, SPOOL_SEGMENT_BYTES);
    assert_int_equal(segment_purpose(cupti), SPOOL_CUPTI);
    assert_int_equal(segment_purpose(records), SPOOL_RECORDS);
    chunk_pool_add(cupti);
    chunk_pool_add(records);
}

UNIT_TEST(the_smallest_that_is_large_enough_goes_first)
{
    struct spool_chunk *first = take(SPOOL_CUPTI), *second = take(SPOOL_CUPTI);
    struct spool_chunk *larger = segment_cut(first, SPOOL_SEGMENT_BYTES - 2 * CUPTI_CHUNK_BYTES_MIN);
    struct spool_chunk *smaller = segment_cut(second, SPOOL_SEGMENT_BYTES - CUPTI_CHUNK_BYTES_MIN);
    chunk_pool_add(larger);
    chunk_pool_add(smaller);
    assert_ptr_equal(take(SPOOL_CUPTI), smaller);
    assert_ptr_equal(take(SPOOL_CUPTI), larger);
    for (unsigned i = 0; i < 2; i++)
        segment_drop(i ? first : second);
    segment_drop(larger);
    segment_drop(smaller);
}

UNIT_TEST(what_is_too_small_for_cupti_is_left_to_records)
{
    struct spool_chunk *records = take(SPOOL_RECORDS);
    struct spool_chunk *rest = segment_cut(records, SPOOL_SEGMENT_BYTES - RECORDS_CHUNK_BYTES);
    chunk_pool_add(rest);
    struct spool_chunk *cupti = take(SPOOL_CUPTI);
    assert_ptr_not_equal(cupti, rest);
    assert_ptr_equal(chunk_pool_get(SPOOL_RECORDS, RECORDS_CHUNK_BYTES, RECORDS_CHUNK_BYTES), rest);
    segment_drop(records);
    segment_drop(rest);
    chunk_pool_add(cupti);
}

/* A segment is drained as a whole: what is not CUPTI's does not lie in those of CUPTI while there are others. */
UNIT_TEST(a_segment_for_others_is_left_alone)
{
    struct spool_chunk *cupti = take(SPOOL_CUPTI);
    struct spool_chunk *rest = segment_cut(cupti, SPOOL_SEGMENT_BYTES - CUPTI_CHUNK_BYTES_MIN);
    chunk_pool_add(rest);
    struct spool_chunk *records = take(SPOOL_RECORDS);
    assert_int_not_equal(records->segment, rest->segment);
    assert_ptr_equal(take(SPOOL_CUPTI), rest);
    segment_drop(cupti);
    segment_drop(rest);
    chunk_pool_add(records);
}

UNIT_TEST(what_is_taken_is_cut_and_the_rest_is_ready_at_once)
{
    struct spool_chunk *first = chunk_pool_get(SPOOL_RECORDS, 1024, 4096),
                       *second = chunk_pool_get(SPOOL_RECORDS, 1024, 4096);
    assert_int_equal(first->bytes, 4096);
    assert_ptr_equal(second, (char *)first + 4096);
    struct spool_chunk *rest = chunk_pool_cut(second, 1024);
    assert_int_equal(rest->bytes, 3072);
    assert_null(chunk_pool_cut(second, 64)); /* 960 bytes serve nobody */
    chunk_pool_add(rest);
    assert_true(take(SPOOL_RECORDS)->bytes >= RECORDS_CHUNK_BYTES);
    assert_ptr_equal(chunk_pool_get(SPOOL_RECORDS, 1024, 4096), rest);
    segment_drop(first);
    segment_drop(second);
    segment_drop(rest);
}

/* Rests of thousands of threads that have ended are used again, all of them. */
UNIT_TEST(many_small_rests_are_kept)
{
    enum { COUNT = 2000, MARK = 77 };
    static struct spool_chunk *chunks[COUNT];
    unsigned again = 0;
    for (unsigned i = 0; i < COUNT; i++)
        assert_non_null(chunks[i] = chunk_pool_get(SPOOL_RECORDS, 4096, 4096));
    for (unsigned i = 0; i < COUNT; i++) {
        struct spool_chunk *rest = chunk_pool_cut(chunks[i], 2048);
        *(uint64_t *)(rest + 1) = MARK;
        chunk_pool_add(rest);
        segment_drop(chunks[i]);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        assert_non_null(chunks[i] = chunk_pool_get(SPOOL_RECORDS, 2048, 2048));
        again += *(uint64_t *)(chunks[i] + 1) == MARK;
    }
    assert_int_equal(again, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        segment_drop(chunks[i]);
}

/* Their segments stay mapped for them. */
UNIT_TEST(small_rests_of_many_segments_are_let_go)
{
    enum { COUNT = 200 };
    static struct spool_chunk *chunks[COUNT];
    unsigned kept = 0;
    for (unsigned i = 0; i < COUNT; i++)
        assert_non_null(chunks[i] = chunk_pool_get(SPOOL_CUPTI, SPOOL_SEGMENT_BYTES, SPOOL_SEGMENT_BYTES));
    for (unsigned i = 0; i < COUNT; i++)
        chunk_pool_add(chunk_pool_cut(chunks[i], SPOOL_SEGMENT_BYTES - 16384));
    for (unsigned i = 0; i < COUNT; i++)
        kept += *segment_kept(chunks[i]);
    assert_in_range(kept, 10, 64);
    for (unsigned i = 0; i < COUNT; i++)
        segment_drop(chunks[i]);
}

struct asking {
    pthread_t thread;
    pthread_barrier_t *begin;
    struct spool_chunk *chunk;
};

static void *ask(void *context)
{
    struct asking *mine = context;
    pthread_barrier_wait(mine->begin);
    mine->chunk = chunk_pool_get(SPOOL_RECORDS, 4096, 4096);
    return NULL;
}

/* One makes the file grow, and the others take what it got. */
UNIT_TEST(threads_that_ask_at_once_do_not_grow_the_file_each)
{
    enum { COUNT = 200 };
    static struct asking threads[COUNT];
    pthread_barrier_t begin;
    uint64_t before = file_bytes();
    pthread_barrier_init(&begin, NULL, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        threads[i].begin = &begin;
        assert_int_equal(pthread_create(&threads[i].thread, NULL, ask, &threads[i]), 0);
    }
    for (unsigned i = 0; i < COUNT; i++)
        pthread_join(threads[i].thread, NULL);
    for (unsigned i = 0; i < COUNT; i++)
        assert_non_null(threads[i].chunk);
    assert_true(file_bytes() <= before + 20 * SPOOL_SEGMENT_BYTES);
}

UNIT_TEST(nothing_may_be_put)
{
    chunk_pool_add(NULL);
    assert_non_null(take(SPOOL_RECORDS));
}

UNIT_MAIN(open_stock, remove_spool)
