
#include "agent/dispatch/registry.h"
#include "common/settings.h"
#include "tests/agent/spool/test_spool.h"

static struct CUevent_st *const event = (struct CUevent_st *)0xe1;
UNIT_FIXTURE(open_spool)
{
    return open_test_spool(TRACE_DEFAULT);
}

/* The first test: nobody has subscribed yet. */
UNIT_TEST(waits_are_heard_where_cupti_does_not_record_them)
{
    assert_int_equal(record_cuda_subscribe(TRACE_SYNC | TRACE_EVENT | TRACE_EVENT_TIMES), 0);
    assert_int_equal(record_cuda_subscribe(TRACE_EVENT), 0);
    assert_false(registry_event_record_wanted() || registry_event_wait_wanted());
    assert_false(registry_stream_synchronization_wanted());
    assert_int_equal(record_cuda_subscribe(TRACE_SYNC), 0);
    assert_true(registry_event_record_wanted() && registry_event_wait_wanted());
    assert_true(registry_event_synchronization_wanted() && registry_stream_synchronization_wanted());
    assert_true(registry_device_synchronization_wanted());
    assert_false(registry_event_query_wanted() || registry_stream_query_wanted());
}

static struct gputrace_call call_of(uint32_t correlation, int32_t result)
{
    return (struct gputrace_call){
        .start = 100, .end = 300, .context_id = 2, .correlation = correlation, .result = result};
}

static void publish_all(uint32_t correlation, int32_t result)
{
    struct gputrace_call call = call_of(correlation, result);
    registry_event_record_publish(&(struct gputrace_event_record){.call = call, .event = event, .stream_id = 13});
    registry_event_wait_publish(&(struct gputrace_event_wait){.call = call, .event = event, .stream_id = 14});
    registry_event_synchronization_publish(&(struct gputrace_event_synchronization){.call = call, .event = event});
    registry_stream_synchronization_publish(&(struct gputrace_stream_synchronization){.call = call, .stream_id = 15});
    registry_device_synchronization_publish(&(struct gputrace_device_synchronization){.call = call});
}

UNIT_TEST(nothing_is_written_while_recording_is_off)
{
    publish_all(5, 0);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_SYNC), 0);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_EVENT_RECORD), 0);
}

UNIT_TEST(waits_tell_who_waited_for_what)
{
    static const struct {
        enum spool_sync_kind kind;
        uint32_t stream;
        bool event;
    } wanted[] = {{SPOOL_SYNC_STREAM_WAIT_EVENT, 14, true},
                  {SPOOL_SYNC_EVENT, SPOOL_NO_STREAM, true},
                  {SPOOL_SYNC_STREAM, 15, false},
                  {SPOOL_SYNC_CONTEXT, SPOOL_NO_STREAM, false}};
    recorder_switch(true, 3, "start");
    publish_all(6, 0);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_SYNC), 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct spool_sync *wait = find_record(&reading, SPOOL_RECORD_SYNC, i);
        assert_int_equal(wait->head.flags, wanted[i].kind);
        assert_true(wait->start == 100 && wait->head.time == 300);
        assert_true(wait->event == (wanted[i].event ? (uintptr_t)event : 0));
        assert_int_equal(wait->stream, wanted[i].stream);
        assert_true(wait->context == 2 && wait->correlation == 6 && wait->result == 0);
    }
    assert_int_equal(count_records(&reading, SPOOL_RECORD_EVENT_RECORD), 1);
    const struct spool_event_record *record = find_record(&reading, SPOOL_RECORD_EVENT_RECORD, 0);
    assert_true(record->event == (uintptr_t)event && record->stream == 13);
    assert_true(record->context == 2 && record->correlation == 6);
}

UNIT_TEST(what_waited_for_work_that_failed_is_written_and_other_failures_are_not)
{
    static const int32_t refused[] = {201, 400, 600, 900, 905};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        publish_all(7, refused[i]);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_SYNC), 4);
    publish_all(8, 700);
    reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_SYNC), 7); /* a stream waits for nothing then */
    for (unsigned i = 4; i < 7; i++) {
        const struct spool_sync *wait = find_record(&reading, SPOOL_RECORD_SYNC, i);
        assert_true(wait->head.flags != SPOOL_SYNC_STREAM_WAIT_EVENT && wait->result == 700);
    }
    assert_int_equal(count_records(&reading, SPOOL_RECORD_EVENT_RECORD), 1);
}

UNIT_TEST(what_becomes_part_of_a_graph_is_not_written)
{
    struct gputrace_call call = call_of(9, 0);
    registry_event_record_publish(&(struct gputrace_event_record){.call = call, .event = event, .captured = 1});
    registry_event_wait_publish(&(struct gputrace_event_wait){.call = call, .event = event, .captured = 1});
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_SYNC), 7);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_EVENT_RECORD), 1);
}

UNIT_MAIN(open_spool, remove_spool)
