/*
 * Synchronisation objects and resources of NVTX in the trace.
 */
#include "tests/unit.h"

#include "tests/trace/build/trace_reading.h"

enum { PID = 500, THREAD = 501, OTHER = 502 };

static void step(struct make_spool *spool, uint64_t time, uint16_t what, uint64_t object)
{
    make_nvtx(spool, (struct make_nvtx){.what = what, .time = time, .range = object});
}

UNIT_TEST(test_a_lock_is_waited_for_and_held)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 0);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_nvtx_domain(&spool, 2, "library");
    make_nvtx_resource(
        &spool, (struct make_nvtx_resource){
                    .time = 500, .resource = 1, .type = SPOOL_NVTX_SYNC_USER, .domain = 2, .name = "queue lock"});
    step(&spool, 1000, SPOOL_NVTX_ACQUIRE, 1);
    step(&spool, 1100, SPOOL_NVTX_ACQUIRED, 1);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    step(&spool, 1200, SPOOL_NVTX_ACQUIRE, 1);
    step(&spool, 1900, SPOOL_NVTX_ACQUIRE_FAILED, 1);
    step(&spool, 2000, SPOOL_NVTX_RELEASE, 1);
    step(&spool, 2100, SPOOL_NVTX_RELEASE, 1);
    step(&spool, 2200, SPOOL_NVTX_ACQUIRE, 99); /* of the parent's, say */
    step(&spool, 2300, SPOOL_NVTX_ACQUIRE_FAILED, 99);
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    const cJSON *got = trace_event(&trace, "X", "user_annotation", "acquiring queue lock", 0);
    assert_int_equal(event_ns(got, "ts"), 1000);
    assert_int_equal(event_ns(got, "dur"), 100);
    assert_int_equal(event_number(got, "tid"), THREAD);
    assert_true(arg_text_is(got, "domain", "library"));
    assert_null(event_arg(got, "failed"));
    const cJSON *failed = trace_event(&trace, "X", "user_annotation", "acquiring queue lock", 1);
    assert_true(cJSON_IsTrue(event_arg(failed, "failed")));
    assert_int_equal(event_number(failed, "tid"), OTHER);
    const cJSON *held = trace_event(&trace, "b", "user_annotation", "holding queue lock", 0);
    assert_int_equal(event_ns(held, "ts"), 1100);
    const cJSON *released = trace_event(&trace, "e", "user_annotation", "holding queue lock", 0);
    assert_int_equal(event_ns(released, "ts"), 2000);
    assert_int_equal(event_number(released, "tid"), OTHER);
    assert_non_null(trace_event(&trace, "X", "user_annotation", "acquiring synchronisation object 99", 0));
    assert_int_equal(trace.summary.losses.unmatched_ranges, 1);
    trace_release(&trace);
}

static bool has(const cJSON *resource, const char *key, const char *text)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(resource, key);
    return text ? cJSON_IsString(value) && strcmp(value->valuestring, text) == 0 : value == NULL;
}

UNIT_TEST(test_resources_stand_in_the_metadata)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 0);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    /* Its end is read before it. */
    make_nvtx_resource(&spool, (struct make_nvtx_resource){.time = 3000, .resource = 1, .destroyed = 1});
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_nvtx_domain(&spool, 2, "library");
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 500, .text = "first"});
    make_nvtx_resource(&spool, (struct make_nvtx_resource){.time = 1000,
                                                           .resource = 1,
                                                           .identifier = 0x7f00,
                                                           .type = 3 << 16 | 1,
                                                           .domain = 2,
                                                           .name = "a \"mutex\""});
    make_nvtx_resource(&spool,
                       (struct make_nvtx_resource){.time = 2000, .resource = 2, .type = 0x123, .name = "other"});
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    const cJSON *list =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(trace.json, "gputrace"), "nvtx_resources");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    const cJSON *mutex = cJSON_GetArrayItem(list, 0), *other = cJSON_GetArrayItem(list, 1);
    assert_true(has(mutex, "type", "pthread mutex") && has(mutex, "identifier", "0x7f00") &&
                has(mutex, "name", "a \"mutex\"") && has(mutex, "domain", "library"));
    assert_true(cJSON_GetObjectItemCaseSensitive(mutex, "created")->valuedouble == 1.0);
    assert_true(cJSON_GetObjectItemCaseSensitive(mutex, "destroyed")->valuedouble == 3.0);
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(other, "type")->valueint, 0x123);
    assert_true(has(other, "identifier", NULL) && has(other, "domain", NULL) && has(other, "destroyed", NULL));
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
