/*
 * Synchronisation objects and resources of NVTX: which step follows which, and how they stand in the trace.
 */

#include "common/spool_records.h"
#include "tests/trace/meaning/trace_reading.h"
#include "tests/unit.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/nvtx/nvtx_syncs.h"

enum { PID = 500, ONE = 501, TWO = 502, THREE = 503, LOCK = 1, OTHER = 2, END = 9000 };

static const struct capture_intervals whole_run;
static struct nvtx nvtx;

UNIT_FIXTURE(release)
{
    nvtx_release(&nvtx);
    nvtx = (struct nvtx){0};
    return 0;
}

static void step(struct nvtx_syncs *syncs, uint64_t time, uint32_t thread, enum spool_nvtx_what what, uint64_t object)
{
    struct event event = {.type = EVENT_NVTX, .start = time, .thread = thread};
    event.nvtx.what = (uint16_t)what;
    event.nvtx.range = object;
    assert_int_equal(nvtx_syncs_index(syncs, &event), 0);
}

static void assert_hold(const struct nvtx_sync_span *hold, uint64_t start, uint64_t end, uint32_t thread,
                        uint32_t end_thread)
{
    assert_int_equal(hold->start, start);
    assert_int_equal(hold->end, end);
    assert_int_equal(hold->thread, thread);
    assert_int_equal(hold->end_thread, end_thread);
}

UNIT_TEST_WITH(test_a_wait_ends_with_success_or_not, NULL, release)
{
    struct nvtx_syncs *syncs = &nvtx.syncs;
    step(syncs, 300, ONE, SPOOL_NVTX_ACQUIRE, LOCK);
    step(syncs, 400, ONE, SPOOL_NVTX_ACQUIRED, LOCK);
    step(syncs, 700, ONE, SPOOL_NVTX_RELEASE, LOCK);
    step(syncs, 100, ONE, SPOOL_NVTX_ACQUIRE, LOCK);
    step(syncs, 200, ONE, SPOOL_NVTX_ACQUIRE_FAILED, LOCK);
    assert_int_equal(nvtx_syncs_match(syncs, &whole_run, END), 0);
    assert_int_equal(syncs->waits.count, 2);
    assert_true(syncs->waits.items[0].failed && !syncs->waits.items[1].failed);
    assert_int_equal(syncs->waits.items[0].end - syncs->waits.items[0].start, 100);
    assert_int_equal(syncs->holds.count, 1);
    assert_hold(&syncs->holds.items[0], 400, 700, ONE, ONE);
    assert_int_equal(syncs->unmatched, 0);
}

/* Threads are read one after the other, whenever they did what they did. */
UNIT_TEST_WITH(test_threads_are_matched_in_the_order_of_time, NULL, release)
{
    struct nvtx_syncs *syncs = &nvtx.syncs;
    step(syncs, 500, TWO, SPOOL_NVTX_ACQUIRED, LOCK);
    step(syncs, 800, TWO, SPOOL_NVTX_RELEASE, LOCK);
    step(syncs, 100, TWO, SPOOL_NVTX_ACQUIRE, LOCK);
    step(syncs, 50, ONE, SPOOL_NVTX_ACQUIRE, LOCK);
    step(syncs, 60, ONE, SPOOL_NVTX_ACQUIRED, LOCK);
    step(syncs, 400, ONE, SPOOL_NVTX_RELEASE, LOCK);
    assert_int_equal(nvtx_syncs_match(syncs, &whole_run, END), 0);
    assert_int_equal(syncs->holds.count, 2);
    assert_hold(&syncs->holds.items[0], 60, 400, ONE, ONE);
    assert_hold(&syncs->holds.items[1], 500, 800, TWO, TWO);
}

UNIT_TEST_WITH(test_a_thread_gives_back_its_own_and_then_what_was_taken_first, NULL, release)
{
    struct nvtx_syncs *syncs = &nvtx.syncs;
    const uint32_t threads[] = {ONE, TWO, ONE};
    for (unsigned i = 0; i < 3; i++) {
        step(syncs, 100 + 10 * i, threads[i], SPOOL_NVTX_ACQUIRE, LOCK);
        step(syncs, 101 + 10 * i, threads[i], SPOOL_NVTX_ACQUIRED, LOCK);
    }
    step(syncs, 200, ONE, SPOOL_NVTX_RELEASE, LOCK);   /* what it took last */
    step(syncs, 210, THREE, SPOOL_NVTX_RELEASE, LOCK); /* of nobody's */
    step(syncs, 220, THREE, SPOOL_NVTX_RELEASE, LOCK);
    step(syncs, 230, THREE, SPOOL_NVTX_RELEASE, LOCK); /* there is none left */
    assert_int_equal(nvtx_syncs_match(syncs, &whole_run, END), 0);
    assert_hold(&syncs->holds.items[2], 121, 200, ONE, ONE);
    assert_hold(&syncs->holds.items[0], 101, 210, ONE, THREE);
    assert_hold(&syncs->holds.items[1], 111, 220, TWO, THREE);
    assert_int_equal(syncs->unmatched, 1);
}

UNIT_TEST_WITH(test_objects_do_not_mix_and_what_is_open_ends_with_all, NULL, release)
{
    struct nvtx_syncs *syncs = &nvtx.syncs;
    step(syncs, 100, ONE, SPOOL_NVTX_ACQUIRE, LOCK);
    step(syncs, 110, ONE, SPOOL_NVTX_ACQUIRE, OTHER);
    step(syncs, 120, ONE, SPOOL_NVTX_ACQUIRED, OTHER);
    step(syncs, 130, TWO, SPOOL_NVTX_ACQUIRED, LOCK); /* it did not say that it would wait */
    assert_int_equal(nvtx_syncs_match(syncs, &whole_run, END), 0);
    assert_true(syncs->waits.items[0].open_at_end && !syncs->waits.items[1].open_at_end);
    assert_int_equal(syncs->waits.items[0].end, END);
    assert_true(syncs->holds.items[0].open_at_end && syncs->holds.items[1].open_at_end);
    assert_hold(&syncs->holds.items[1], 130, END, TWO, TWO);
    assert_int_equal(syncs->unmatched, 1);
}

static void make_step(struct make_spool *spool, uint64_t time, uint16_t what, uint64_t object)
{
    make_nvtx(spool, (struct make_nvtx){.what = what, .time = time, .range = object});
}

UNIT_TEST(test_a_lock_is_waited_for_and_held)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 0);
    make_spool_chunk(&spool, SPOOL_RECORDS, ONE);
    make_nvtx_domain(&spool, 2, "library");
    make_nvtx_resource(
        &spool, (struct make_nvtx_resource){
                    .time = 500, .resource = 1, .type = SPOOL_NVTX_SYNC_USER, .domain = 2, .name = "queue lock"});
    make_step(&spool, 1000, SPOOL_NVTX_ACQUIRE, 1);
    make_step(&spool, 1100, SPOOL_NVTX_ACQUIRED, 1);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, TWO);
    make_step(&spool, 1200, SPOOL_NVTX_ACQUIRE, 1);
    make_step(&spool, 1900, SPOOL_NVTX_ACQUIRE_FAILED, 1);
    make_step(&spool, 2000, SPOOL_NVTX_RELEASE, 1);
    make_step(&spool, 2100, SPOOL_NVTX_RELEASE, 1);
    make_step(&spool, 2200, SPOOL_NVTX_ACQUIRE, 99); /* of the parent's, say */
    make_step(&spool, 2300, SPOOL_NVTX_ACQUIRE_FAILED, 99);
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    const cJSON *got = trace_event(&trace, "X", "user_annotation", "acquiring queue lock", 0);
    assert_int_equal(event_ns(got, "ts"), 1000);
    assert_int_equal(event_ns(got, "dur"), 100);
    assert_int_equal(event_number(got, "tid"), ONE);
    assert_true(arg_text_is(got, "domain", "library"));
    assert_null(event_arg(got, "failed"));
    const cJSON *failed = trace_event(&trace, "X", "user_annotation", "acquiring queue lock", 1);
    assert_true(cJSON_IsTrue(event_arg(failed, "failed")));
    assert_int_equal(event_number(failed, "tid"), TWO);
    const cJSON *held = trace_event(&trace, "b", "user_annotation", "holding queue lock", 0);
    assert_int_equal(event_ns(held, "ts"), 1100);
    const cJSON *released = trace_event(&trace, "e", "user_annotation", "holding queue lock", 0);
    assert_int_equal(event_ns(released, "ts"), 2000);
    assert_int_equal(event_number(released, "tid"), TWO);
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
    make_spool_chunk(&spool, SPOOL_RECORDS, TWO);
    /* Its end is read before it. */
    make_nvtx_resource(&spool, (struct make_nvtx_resource){.time = 3000, .resource = 1, .destroyed = 1});
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, ONE);
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
