
#include "agent/dispatch/registry.h"
#include "tests/agent/spool/test_spool.h"

UNIT_FIXTURE(open_spool)
{
    int failed = open_test_spool(0) | record_nvtx_subscribe();
    recorder_switch(true, 1, "start");
    return failed;
}

UNIT_TEST(what_is_plain_goes_into_the_small_record)
{
    struct gputrace_nvtx event = {.call.end = 5, .domain = 3, .message = text_of("a message")};
    registry_nvtx_push_publish(&event);
    event.string = 7; /* then the text is known */
    registry_nvtx_push_publish(&event);
    registry_nvtx_pop_publish(&(struct gputrace_nvtx){.call.end = 6, .domain = 3});
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_NVTX_PLAIN), 3);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_NVTX_EVENT), 0);
    const struct spool_nvtx_plain *push = find_record(&reading, SPOOL_RECORD_NVTX_PLAIN, 0);
    assert_true(push->head.flags == SPOOL_NVTX_PUSH && push->head.time == 5 && push->domain == 3);
    assert_int_equal(push->length, strlen("a message"));
    assert_memory_equal(push->text, "a message\0\0", 11); /* padded with zeros */
    const struct spool_nvtx_plain *registered = find_record(&reading, SPOOL_RECORD_NVTX_PLAIN, 1);
    assert_true(registered->string == 7 && registered->length == 0);
    assert_int_equal(registered->head.bytes, sizeof(*registered));
    const struct spool_nvtx_plain *pop = find_record(&reading, SPOOL_RECORD_NVTX_PLAIN, 2);
    assert_true(pop->head.flags == SPOOL_NVTX_POP && pop->length == 0 && pop->head.bytes == sizeof(*pop));
}

UNIT_TEST(what_says_more_goes_into_the_large_one)
{
    struct gputrace_nvtx events[] = {
        {.range = 1}, {.category = 2}, {.color_type = 1, .color = 3}, {.payload_type = 2, .payload = 4}};
    for (size_t i = 0; i < 4; i++)
        registry_nvtx_start_publish(&events[i]);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_NVTX_EVENT), 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct spool_nvtx_event *event = find_record(&reading, SPOOL_RECORD_NVTX_EVENT, i);
        assert_int_equal(event->head.flags, SPOOL_NVTX_START);
        assert_true(event->range == events[i].range && event->category == events[i].category &&
                    event->color == events[i].color && event->payload == events[i].payload);
    }
}

UNIT_TEST(resources_and_steps_are_written)
{
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){.named = NVTX_NAMED_RESOURCE,
                                                            .domain = 2,
                                                            .object = 0xabc,
                                                            .resource = {.number = 9, .type = 0x10001},
                                                            .text = text_of("a lock")});
    registry_nvtx_name_publish(
        &(struct gputrace_nvtx_name){.named = NVTX_NAMED_RESOURCE, .resource = {.number = 9, .destroyed = true}});
    registry_nvtx_sync_publish(&(struct gputrace_nvtx_sync){.what = SPOOL_NVTX_ACQUIRED, .object = 9, .time = 77});
    struct reading reading = read_spool(directory, getpid());
    const struct spool_nvtx_resource *made = find_record(&reading, SPOOL_RECORD_NVTX_RESOURCE, 0);
    assert_true(made->head.flags == SPOOL_CREATED && made->resource == 9 && made->identifier == 0xabc &&
                made->type == 0x10001 && made->domain == 2);
    assert_memory_equal(made->text, "a lock", made->length);
    const struct spool_nvtx_resource *destroyed = find_record(&reading, SPOOL_RECORD_NVTX_RESOURCE, 1);
    assert_true(destroyed->head.flags == SPOOL_DESTROYED && destroyed->resource == 9);
    const struct spool_nvtx_event *step = find_record(&reading, SPOOL_RECORD_NVTX_EVENT, 4);
    assert_true(step->head.flags == SPOOL_NVTX_ACQUIRED && step->range == 9 && step->head.time == 77);
}

static struct CUevent_st *event(uintptr_t number)
{
    return (struct CUevent_st *)number;
}

static void record(uintptr_t number, uint32_t correlation)
{
    registry_event_record_publish(
        &(struct gputrace_event_record){.call = {.correlation = correlation}, .event = event(number)});
}

UNIT_TEST(records_of_named_events_alone_are_written)
{
    assert_false(registry_event_record_wanted()); /* nobody pays who names none */
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){
        .named = NVTX_NAMED_OBJECT, .what = SPOOL_NVTX_CUDA_EVENT, .object = 0x500, .text = text_of("ready")});
    assert_true(registry_event_record_wanted());
    record(0x500, 41);
    record(0x600, 42);
    registry_event_deletion_publish(&(struct gputrace_event_deletion){.event = event(0x500)});
    record(0x500, 43); /* another event */
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_NVTX_RECORDED), 1);
    const struct spool_nvtx_recorded *recorded = find_record(&reading, SPOOL_RECORD_NVTX_RECORDED, 0);
    assert_true(recorded->event == 0x500 && recorded->correlation == 41);
}

UNIT_MAIN(open_spool, remove_spool)
