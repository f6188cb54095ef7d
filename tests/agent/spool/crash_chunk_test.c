
#include <pthread.h>

#include "agent/dispatch/registry.h"
#include "common/settings.h"
#include "tests/agent/spool/test_spool.h"

UNIT_FIXTURE(open_spool)
{
    return open_test_spool(TRACE_DEFAULT) | crash_chunk_open() | crash_chunk_subscribe(TRACE_DEFAULT);
}

static void publish(bool returned, uint32_t cbid, uint32_t correlation, uint32_t thread)
{
    registry_open_call_publish(&(struct gputrace_open_call){.returned = returned,
                                                            .start = 1000 + correlation,
                                                            .object = 0x50,
                                                            .what = SPOOL_CALL_OF_STREAM,
                                                            .cbid = cbid,
                                                            .correlation = correlation,
                                                            .thread = thread});
}

/* The Nth call that is open by the spool; *COUNT of them. */
static const struct spool_open_call *open_calls(unsigned *count, unsigned n)
{
    struct reading reading = read_spool(directory, getpid());
    const struct spool_open_call *call, *found = NULL;
    *count = 0;
    for (unsigned i = 0; (call = find_record(&reading, SPOOL_RECORD_OPEN_CALL, i)); i++)
        if (call->head.flags == SPOOL_CALL_OPEN && (*count)++ == n)
            found = call;
    return found;
}

static unsigned open_count(void)
{
    unsigned count;
    open_calls(&count, 0);
    return count;
}

UNIT_TEST(the_table_stands_in_the_spool_from_the_start)
{
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_OPEN_CALL), CRASH_CHUNK_CALLS);
    assert_int_equal(open_count(), 0);
    assert_int_equal(crash_chunk_open(), 0); /* again does no harm */
    reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_OPEN_CALL), CRASH_CHUNK_CALLS);
}

UNIT_TEST(a_call_is_open_until_it_returns)
{
    unsigned count;
    publish(false, 17, 5, 99);
    const struct spool_open_call *call = open_calls(&count, 0);
    assert_int_equal(count, 1);
    assert_int_equal(call->cbid, 17);
    assert_int_equal(call->correlation, 5);
    assert_int_equal(call->thread, 99);
    assert_int_equal(call->object, 0x50);
    assert_int_equal(call->what, SPOOL_CALL_OF_STREAM);
    assert_int_equal(call->head.time, 1005);
    publish(true, 18, 5, 99); /* another function of the same call */
    assert_int_equal(open_count(), 1);
    publish(true, 17, 5, 99);
    assert_int_equal(open_count(), 0);
}

UNIT_TEST(of_calls_within_calls_the_outermost_is_reported)
{
    unsigned count;
    publish(false, 20, 6, 99);
    publish(false, 21, 6, 99);
    assert_int_equal(open_calls(&count, 0)->cbid, 20);
    assert_int_equal(count, 1);
    publish(true, 21, 6, 99);
    assert_int_equal(open_count(), 1);
    publish(true, 20, 6, 99);
    assert_int_equal(open_count(), 0);
}

UNIT_TEST(one_whose_end_is_not_heard_of_ends_with_the_next)
{
    unsigned count;
    publish(false, 22, 7, 99);
    publish(false, 23, 8, 99);
    assert_int_equal(open_calls(&count, 0)->cbid, 23);
    assert_int_equal(count, 1);
    publish(true, 23, 8, 99);
}

#define THREADS 8
static pthread_barrier_t inside, looked;

static void *call_and_wait(void *number)
{
    uint32_t thread = (uint32_t)(uintptr_t)number;
    publish(false, 30 + thread, 100 + thread, thread);
    pthread_barrier_wait(&inside);
    pthread_barrier_wait(&looked);
    publish(true, 30 + thread, 100 + thread, thread);
    return NULL;
}

UNIT_TEST(every_thread_has_its_own)
{
    pthread_t threads[THREADS];
    unsigned count, seen = 0;
    pthread_barrier_init(&inside, NULL, THREADS + 1);
    pthread_barrier_init(&looked, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_and_wait, (void *)i), 0);
    pthread_barrier_wait(&inside);
    for (unsigned i = 0; i < THREADS; i++) {
        const struct spool_open_call *call = open_calls(&count, i);
        assert_int_equal(count, THREADS);
        assert_int_equal(call->cbid, 30 + call->thread);
        seen |= 1u << call->thread;
    }
    assert_int_equal(seen, (1u << THREADS) - 1);
    pthread_barrier_wait(&looked);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(open_count(), 0);
}

/* A thread that dies while it writes leaves nothing of what it wrote. */
UNIT_TEST(what_is_not_committed_does_not_stand_there)
{
    struct spool_crash *record = crash_chunk_begin(SPOOL_RECORD_CRASH, sizeof(*record), 77);
    assert_non_null(record);
    record->signal = 11;
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_CRASH), 0);
    record = crash_chunk_begin(SPOOL_RECORD_CRASH, sizeof(*record), 78);
    assert_int_equal(record->signal, 0);
    record->signal = 6;
    crash_chunk_commit(&record->head);
    reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_CRASH), 1);
    const struct spool_crash *crash = find_record(&reading, SPOOL_RECORD_CRASH, 0);
    assert_int_equal(crash->signal, 6);
    assert_int_equal(crash->head.time, 78);
}

UNIT_TEST(there_is_no_more_space_than_there_is)
{
    unsigned names = 0;
    struct spool_pointer_name *record;
    while ((record = crash_chunk_begin(SPOOL_RECORD_POINTER_NAME, 4096, 1))) {
        crash_chunk_commit(&record->head);
        names++;
    }
    assert_true(names >= 8);
    assert_null(crash_chunk_begin(SPOOL_RECORD_POINTER_NAME, 4096, 1));
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_POINTER_NAME), names);
}

UNIT_TEST(after_a_fork_nothing_is_written)
{
    crash_chunk_atfork_child();
    assert_null(crash_chunk_begin(SPOOL_RECORD_CRASH, sizeof(struct spool_crash), 1));
    publish(false, 40, 200, 99);
    assert_int_equal(open_count(), 0);
}

UNIT_MAIN(open_spool, remove_spool)
