/*
 * What NCCL tells its profiler plugin, as records: which events are known, and for how long.
 */

#include <string.h>

#include "agent/nccl/profiler.h"
#include "common/settings.h"
#include "tests/agent/spool/test_spool.h"

#define LIBRARY "/usr/lib/libgputrace.so"
enum { MANY = 10000 }; /* more than are known at once */

static bool awake(void)
{
    return true;
}

UNIT_FIXTURE(open_spool)
{
    int result = open_test_spool(TRACE_DEFAULT | TRACE_NCCL);
    setenv("NCCL_PROFILER_PLUGIN", LIBRARY, 1);
    recorder_init(awake);
    recorder_switch(true, 1, "the test");
    return result;
}

static const struct nccl_operation reduce = {.communicator = 0xabc,
                                             .sequence = 7,
                                             .count = 100,
                                             .peer = 2,
                                             .channels = 8,
                                             .function = "AllReduce",
                                             .type = "ncclInt8",
                                             .algorithm = "RING"};

/* The last record of TYPE. */
static const void *last(enum spool_record_type type)
{
    struct reading reading = read_spool(directory, getpid());
    unsigned count = count_records(&reading, type);
    return count > 0 ? find_record(&reading, type, count - 1) : NULL;
}

static unsigned count(enum spool_record_type type)
{
    struct reading reading = read_spool(directory, getpid());
    return count_records(&reading, type);
}

/* The first test. */
UNIT_TEST(nothing_is_wanted_unless_it_was_asked_for)
{
    nccl_init(TRACE_DEFAULT, LIBRARY);
    assert_int_equal(nccl_wanted(), 0);
    assert_null(nccl_operation(NULL, &reduce));
    assert_null(last(SPOOL_RECORD_NCCL_OPERATION));
    assert_null(last(SPOOL_RECORD_NCCL_COMMUNICATOR));
    nccl_init(TRACE_DEFAULT | TRACE_NCCL, LIBRARY);
    assert_null(last(SPOOL_RECORD_NCCL_COMMUNICATOR));
    assert_int_not_equal(nccl_wanted(), 0);
}

UNIT_TEST(an_operation_has_its_words_and_the_type_of_its_call)
{
    const void *call = nccl_call("ncclFloat32", 25);
    assert_non_null(nccl_operation(call, &reduce));
    const struct spool_nccl_operation *record = last(SPOOL_RECORD_NCCL_OPERATION);
    static const char words[] = "AllReduce\nncclFloat32\nRING\n";
    assert_int_equal(record->length, strlen(words));
    assert_memory_equal(record->text, words, strlen(words));
    assert_int_equal(record->communicator, 0xabc);
    assert_int_equal(record->sequence, 7);
    assert_int_equal(record->count, 25);
    assert_int_equal(record->peer, 2);
    assert_int_equal(record->thread, gettid());
    assert_true(record->called != 0 && record->called <= record->head.time);
}

UNIT_TEST(an_operation_without_a_call_has_its_own_type)
{
    nccl_operation(NULL, &reduce);
    const struct spool_nccl_operation *record = last(SPOOL_RECORD_NCCL_OPERATION);
    assert_int_equal(record->count, 100);
    assert_int_equal(record->called, 0);
    assert_memory_equal(record->text, "AllReduce\nncclInt8\n", 19);
}

/* Its place belongs to another event by then. */
UNIT_TEST(an_event_that_was_forgotten_is_ignored)
{
    const void *call = nccl_call("ncclFloat32", 25);
    const void *operation = nccl_operation(call, &reduce);
    for (int i = 0; i < MANY; i++)
        nccl_call("ncclFloat64", 1);
    assert_null(nccl_proxy(operation, getpid(), 4));
    nccl_operation(call, &reduce);
    const struct spool_nccl_operation *record = last(SPOOL_RECORD_NCCL_OPERATION);
    assert_int_equal(record->called, 0);
    assert_int_equal(record->count, 100);
}

UNIT_TEST(steps_of_proxies_are_added_up_when_the_last_ends)
{
    unsigned before = count(SPOOL_RECORD_NCCL_STEPS);
    const void *operation = nccl_operation(NULL, &reduce);
    const void *first = nccl_proxy(operation, getpid(), 4), *second = nccl_proxy(operation, getpid(), 5);
    nccl_stop(operation); /* NCCL ends the operation itself before its proxies */
    nccl_stop(first);
    assert_int_equal(count(SPOOL_RECORD_NCCL_STEPS), before);
    nccl_stop(second);
    assert_int_equal(count(SPOOL_RECORD_NCCL_STEPS), before + 1);
    const struct spool_nccl_steps *steps = last(SPOOL_RECORD_NCCL_STEPS);
    assert_int_equal(steps->proxies, 2);
    assert_int_equal(steps->steps, 9);
    assert_int_equal(steps->number, ((const struct spool_nccl_operation *)last(SPOOL_RECORD_NCCL_OPERATION))->number);
}

/* NCCL may have another process's proxy do the work: the parent is an event there. */
UNIT_TEST(proxies_of_other_processes_and_of_nothing_are_ignored)
{
    const void *operation = nccl_operation(NULL, &reduce);
    assert_null(nccl_proxy(operation, getpid() + 1, 4));
    assert_null(nccl_proxy(NULL, getpid(), 4));
    assert_null(nccl_proxy(operation, getpid(), -4));
    nccl_stop(NULL);
    nccl_stop((const void *)0x7fff12345678);
}

UNIT_TEST(while_recording_is_off_nothing_is_written)
{
    unsigned before = count(SPOOL_RECORD_NCCL_OPERATION);
    recorder_switch(false, 2, "the test");
    assert_null(nccl_call("ncclFloat32", 25));
    assert_null(nccl_operation(NULL, &reduce));
    assert_int_equal(count(SPOOL_RECORD_NCCL_OPERATION), before);
    assert_int_not_equal(nccl_wanted(), 0); /* NCCL asks once */
    recorder_switch(true, 3, "the test");
}

UNIT_TEST(a_communicator_is_known_by_its_context)
{
    void *context = nccl_communicator(0x1234, "training", 2, 16, 9);
    assert_int_equal(nccl_communicator_of(context), 0x1234);
    assert_int_equal(nccl_communicator_of(NULL), 0);
    const struct spool_nccl_communicator *record = last(SPOOL_RECORD_NCCL_COMMUNICATOR);
    assert_int_equal(record->communicator, 0x1234);
    assert_int_equal(record->ranks, 16);
    assert_int_equal(record->rank, 9);
    assert_memory_equal(record->text, "training", 8);
}

/* The last test. */
UNIT_TEST(another_plugin_is_recorded)
{
    setenv("NCCL_PROFILER_PLUGIN", "libother.so", 1);
    nccl_init(TRACE_DEFAULT | TRACE_NCCL, LIBRARY);
    const struct spool_nccl_communicator *record = last(SPOOL_RECORD_NCCL_COMMUNICATOR);
    assert_int_equal(record->head.flags, SPOOL_NCCL_OTHER_PLUGIN);
    assert_int_equal(record->length, strlen("libother.so"));
    assert_memory_equal(record->text, "libother.so", record->length);
}

UNIT_MAIN(open_spool, remove_spool)
