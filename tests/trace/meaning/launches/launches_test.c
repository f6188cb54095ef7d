#include "tests/unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "trace/meaning/launches/launches.h"
#include "trace/spool/cupti.h"

static void call(struct launches *launches, uint32_t correlation, enum event_api_domain domain, uint64_t start)
{
    struct event api = {.type = EVENT_API, .correlation = correlation, .thread = 9, .start = start, .end = start + 10};
    api.api.domain = domain;
    assert_int_equal(launches_call(launches, &api), 0);
}

static void work(struct launches *launches, uint32_t correlation, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(launches_gpu_op(launches, correlation), 0);
}

static bool is_call(struct launches *launches, uint32_t correlation, enum event_api_domain domain, uint64_t start)
{
    struct event api = {.type = EVENT_API, .correlation = correlation, .thread = 9, .start = start, .end = start + 10};
    api.api.domain = domain;
    return launch_is_call(launches_get(launches, correlation), &api);
}

UNIT_TEST(test_the_runtime_call_counts_in_any_order)
{
    struct launches launches = {0};
    call(&launches, 1, EVENT_API_DRIVER, 120);
    call(&launches, 1, EVENT_API_RUNTIME, 100);
    call(&launches, 2, EVENT_API_RUNTIME, 200);
    call(&launches, 2, EVENT_API_DRIVER, 220);
    assert_true(is_call(&launches, 1, EVENT_API_RUNTIME, 100) && !is_call(&launches, 1, EVENT_API_DRIVER, 120));
    assert_true(is_call(&launches, 2, EVENT_API_RUNTIME, 200) && !is_call(&launches, 2, EVENT_API_DRIVER, 220));
    assert_int_equal(launch_end(launches_get(&launches, 2)), 210);
    launches_release(&launches);
}

UNIT_TEST(test_of_driver_calls_alone_the_last_to_start_counts)
{
    struct launches launches = {0};
    call(&launches, 1, EVENT_API_DRIVER, 120);
    call(&launches, 1, EVENT_API_DRIVER, 150);
    call(&launches, 1, EVENT_API_DRIVER, 130);
    assert_true(is_call(&launches, 1, EVENT_API_DRIVER, 150));
    launches_release(&launches);
}

UNIT_TEST(test_ids_far_apart_are_kept_apart)
{
    struct launches launches = {0};
    static const uint32_t ids[] = {1, 1023, 1024, 1025, 5000000, UINT32_MAX};
    for (uint32_t i = 0; i < 6; i++)
        launches_put(&launches, ids[i])->gpu_ops = i + 1;
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(launches_get(&launches, ids[i])->gpu_ops, i + 1);
    assert_null(launches_get(&launches, 2000000));
    assert_int_equal(launches_highest(&launches), UINT32_MAX);
    launches_release(&launches);
}

UNIT_TEST(test_flow_ids_are_unique_and_begin_with_the_correlation)
{
    struct launches launches = {.offset = 100};
    uint64_t next = 1000;
    work(&launches, 7, 3);
    call(&launches, 7, EVENT_API_RUNTIME, 10);
    work(&launches, 8, 2);
    call(&launches, 8, EVENT_API_RUNTIME, 20);
    work(&launches, 9, 5); /* of no call */
    launches_number(&launches, &next);
    assert_int_equal(next, 1003);
    const struct launch *seven = launches_get(&launches, 7), *eight = launches_get(&launches, 8);
    assert_int_equal(launch_flow(&launches, seven, 7, 0), 107);
    assert_int_equal(launch_flow(&launches, seven, 7, 1), 1000);
    assert_int_equal(launch_flow(&launches, seven, 7, 2), 1001);
    assert_int_equal(launch_flow(&launches, eight, 8, 1), 1002);
    launches_release(&launches);
}

/* Part by part, the reader of a part knows how many GPU operations of a launch came before. */
UNIT_TEST(test_works_in_several_parts_are_counted_through)
{
    struct launches launches = {0};
    static const struct {
        uint32_t part, count;
    } met[] = {{3, 2}, {4, 1}, {9, 2}, {9, 1}};
    uint64_t next = 1000;
    work(&launches, 7, 6);
    work(&launches, 8, 1);
    call(&launches, 7, EVENT_API_RUNTIME, 10);
    call(&launches, 8, EVENT_API_RUNTIME, 10);
    for (size_t i = 0; i < sizeof(met) / sizeof(*met); i++)
        assert_int_equal(launches_meet(&launches, 7, met[i].part, met[i].count), 0);
    launches_number(&launches, &next);
    assert_int_equal(next, 1005);
    assert_int_equal(launches_met_before(&launches, 7, 3), 0);
    assert_int_equal(launches_met_before(&launches, 7, 4), 2);
    assert_int_equal(launches_met_before(&launches, 7, 9), 3);
    assert_int_equal(launches_met_before(&launches, 8, 4), 0);
    launches_release(&launches);
}

UNIT_TEST(test_ids_beyond_32_bits_are_not_given)
{
    struct launches launches = {.offset = 10};
    uint64_t next = UINT32_MAX;
    work(&launches, 7, 3);
    call(&launches, 7, EVENT_API_RUNTIME, 10);
    launches_number(&launches, &next);
    const struct launch *launch = launches_get(&launches, 7);
    assert_int_equal(launch_flow(&launches, launch, 7, 1), 0);
    assert_int_equal(launch_flow(&launches, launch, UINT32_MAX - 5, 0), 0);
    launches_release(&launches);
}

UNIT_TEST(test_work_is_a_plugins_when_no_shown_call_starts_such_work)
{
    struct launches launches = {0};
    struct event plugins = {.type = EVENT_API, .correlation = 1};
    assert_int_equal(launches_suppress(&launches, &plugins), 0);
    assert_true(launch_is_suppressed(launches_get(&launches, 1), EVENT_KERNEL));
    call(&launches, 1, EVENT_API_RUNTIME, 10);
    assert_true(launch_is_suppressed(launches_get(&launches, 1), EVENT_KERNEL));
    assert_int_equal(launches_starts(&launches, 1, LAUNCH_KERNELS), 0);
    assert_int_equal(launches_starts(&launches, 1, LAUNCH_SETS), 0);
    assert_false(launch_is_suppressed(launches_get(&launches, 1), EVENT_KERNEL));
    assert_false(launch_is_suppressed(launches_get(&launches, 1), EVENT_MEMSET));
    assert_true(launch_is_suppressed(launches_get(&launches, 1), EVENT_MEMCPY));
    call(&launches, 2, EVENT_API_RUNTIME, 20); /* no plugin's call: all is the program's */
    assert_false(launch_is_suppressed(launches_get(&launches, 2), EVENT_MEMCPY));
    launches_release(&launches);
}

#define ADDERS 3
#define PAGES 2000 /* of each; so many take space again and again */

static struct adder {
    struct launches *launches;
    uint32_t first;
    atomic_uint *done;
    bool failed;
} adders[ADDERS];

static void *add_pages(void *context)
{
    struct adder *adder = context;
    for (uint32_t i = 0; i < PAGES && !adder->failed; i++)
        adder->failed = launches_gpu_op(adder->launches, (adder->first + i * ADDERS) * LAUNCHES_PAGE + 1) != 0;
    atomic_fetch_add(adder->done, 1);
    return NULL;
}

UNIT_TEST(test_pages_are_given_back_while_others_are_added)
{
    struct launches launches;
    pthread_t threads[ADDERS];
    atomic_uint done = 0;
    launches_init(&launches, "/tmp");
    for (uint32_t i = 0; i < ADDERS; i++) {
        adders[i] = (struct adder){.launches = &launches, .first = i, .done = &done};
        assert_int_equal(pthread_create(&threads[i], NULL, add_pages, &adders[i]), 0);
    }
    while (atomic_load(&done) < ADDERS)
        launches_evict(&launches);
    for (uint32_t i = 0; i < ADDERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(adders[i].failed);
    }
    for (uint32_t i = 0; i < ADDERS * PAGES; i++)
        assert_int_equal(launches_get(&launches, i * LAUNCHES_PAGE + 1)->gpu_ops, 1);
    launches_release(&launches);
}

UNIT_MAIN(NULL, NULL)
