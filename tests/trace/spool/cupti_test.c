#include "tests/unit.h"

#include <cupti_activity.h>
#include <cupti_activity_deprecated.h>

#include "trace/spool/cupti.h"

UNIT_TEST(test_sizes_that_the_spool_does_not_tell_are_those_of_its_version)
{
    struct spool_header header = {.cupti_version = 18};
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    cupti_record_sizes(sizes, &header);
    assert_int_equal(sizes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 200);
    assert_int_equal(sizes[0], 0);
    header.cupti_version = 19;
    cupti_record_sizes(sizes, &header);
    assert_int_equal(sizes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 208);
}

UNIT_TEST(test_sizes_that_the_spool_tells_count_more_unless_impossible)
{
    struct spool_header header = {.cupti_version = 130001};
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    header.record_bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = 224;
    header.record_bytes[CUPTI_ACTIVITY_KIND_MEMCPY] = 97;
    cupti_record_sizes(sizes, &header);
    assert_int_equal(sizes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 224);
    assert_int_equal(sizes[CUPTI_ACTIVITY_KIND_MEMCPY], 96);
}

static void decode(struct event *event, const void *record, uint32_t kind, uint32_t bytes)
{
    struct cupti_walk walk = {.record = record, .kind = kind, .bytes = bytes};
    cupti_decode(event, &walk);
}

UNIT_TEST(test_fields_beyond_a_short_record_are_zero_and_not_read)
{
    CUpti_ActivitySynchronization2 sync = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                           .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
                                           .streamId = 13,
                                           .cudaEventId = 5,
                                           .cudaEventSyncId = 99};
    void *exact = malloc(40); /* the sanitizer notices a read beyond it */
    struct event event;
    memcpy(exact, &sync, 40);
    decode(&event, exact, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 40);
    assert_int_equal(event.type, EVENT_SYNC);
    assert_int_equal(event.sync.kind, EVENT_SYNC_STREAM_WAIT_EVENT);
    assert_true(event.stream == 13 && event.sync.event == 5 && event.sync.sync_id == 0);
    decode(&event, &sync, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(sync));
    assert_int_equal(event.sync.sync_id, 99);
    free(exact);
}

UNIT_TEST(test_jit_operations_of_either_size)
{
    CUpti_ActivityJit2 jit = {.kind = CUPTI_ACTIVITY_KIND_JIT,
                              .jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN,
                              .jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE,
                              .start = 10,
                              .end = 20,
                              .correlationId = 7,
                              .jitOperationCorrelationId = 8,
                              .cacheSize = 9,
                              .threadId = 55};
    void *exact = malloc(sizeof(CUpti_ActivityJit));
    struct event event;
    decode(&event, &jit, CUPTI_ACTIVITY_KIND_JIT, sizeof(jit));
    assert_int_equal(event.type, EVENT_JIT);
    assert_true(event.start == 10 && event.end == 20 && event.correlation == 7 && event.thread == 55);
    assert_true(event.jit.group == 8 && event.jit.cache_bytes == 9);
    assert_int_equal(event.jit.operation, EVENT_JIT_COMPILE);
    assert_int_equal(event.jit.entry, EVENT_JIT_FROM_PTX);
    jit.jitOperationType = (CUpti_ActivityJitOperationType)77;
    jit.jitEntryType = (CUpti_ActivityJitEntryType)-1;
    memcpy(exact, &jit, sizeof(CUpti_ActivityJit));
    decode(&event, exact, CUPTI_ACTIVITY_KIND_JIT, sizeof(CUpti_ActivityJit));
    assert_true(event.jit.group == 8 && event.jit.cache_bytes == 9 && event.thread == 0);
    assert_int_equal(event.jit.operation, EVENT_JIT_UNKNOWN);
    assert_int_equal(event.jit.entry, EVENT_JIT_FROM_UNKNOWN);
    free(exact);
}

UNIT_TEST(test_no_record_is_read_beyond_its_bytes)
{
    for (uint32_t kind = 0; kind < SPOOL_CUPTI_KINDS; kind++) {
        for (uint32_t bytes = 8; bytes <= 256; bytes += 8) {
            void *record = calloc(1, bytes);
            struct event event;
            memcpy(record, &kind, sizeof(kind));
            decode(&event, record, kind, bytes);
            assert_true(cupti_kind_decoded(kind) || event.type == EVENT_TYPE_NONE);
            free(record);
        }
    }
}

UNIT_TEST(test_a_record_too_short_for_its_kind_tells_nothing)
{
    CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, .correlationId = 4};
    struct event event;
    decode(&event, &kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 64);
    assert_int_equal(event.type, EVENT_TYPE_NONE);
    decode(&event, &kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(kernel));
    assert_int_equal(event.type, EVENT_KERNEL);
    assert_int_equal(event.correlation, 4);
}

UNIT_TEST(test_no_stream_is_the_same_number_for_all)
{
    assert_int_equal((uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE, EVENT_NO_STREAM);
}

UNIT_MAIN(NULL, NULL)
