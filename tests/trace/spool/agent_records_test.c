#include "tests/unit.h"

#include "trace/spool/agent_records.h"
#include "common/spool_records.h"

static struct event decode(const void *record)
{
    struct agent_walk walk = {.record = record};
    struct event event;
    agent_decode(&event, &walk, 501);
    return event;
}

static void test_a_wait_has_both_times_and_the_events_handle(void **state)
{
    (void)state;
    static const enum event_sync_kind kinds[] = {EVENT_SYNC_UNKNOWN, EVENT_SYNC_EVENT,   EVENT_SYNC_STREAM_WAIT_EVENT,
                                                 EVENT_SYNC_STREAM,  EVENT_SYNC_CONTEXT, EVENT_SYNC_UNKNOWN};
    struct spool_sync record = {
        .head = {.type = SPOOL_RECORD_SYNC, .bytes = sizeof(record), .time = 900},
        .start = 400,
        .event = UINT64_C(0x7f0000001000),
        .context = 2,
        .stream = 13,
        .correlation = 6,
        .result = 700,
    };
    for (uint16_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        record.head.flags = i;
        struct event event = decode(&record);
        assert_int_equal(event.type, EVENT_SYNC);
        assert_int_equal(event.sync.kind, kinds[i]);
        assert_true(event.start == 400 && event.end == 900);
        assert_true(event.context == 2 && event.stream == 13 && event.correlation == 6);
        assert_true(event.device == EVENT_NO_DEVICE && event.thread == 501);
        assert_true(event.sync.event == record.event && event.sync.event_context == 0);
        assert_true(event.sync.result == 700 && event.sync.sync_id == 0);
    }
}

static void test_a_recorded_event_has_no_time_of_the_gpu(void **state)
{
    (void)state;
    const struct spool_event_record record = {
        .head = {.type = SPOOL_RECORD_EVENT_RECORD, .bytes = sizeof(record), .time = 900},
        .event = UINT64_C(0x7f0000001000),
        .context = 2,
        .stream = 13,
        .correlation = 6,
    };
    struct event event = decode(&record);
    assert_int_equal(event.type, EVENT_CUDA_EVENT);
    assert_true(event.start == 0 && event.end == 0);
    assert_true(event.context == 2 && event.stream == 13 && event.correlation == 6);
    assert_true(event.cuda_event.event == record.event && event.cuda_event.event_context == 0);
    assert_true(event.cuda_event.sync_id == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_has_both_times_and_the_events_handle),
        cmocka_unit_test(test_a_recorded_event_has_no_time_of_the_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
