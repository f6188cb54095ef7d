/*
 * Memory in the trace: counters for each device and kind, instants for each operation.
 */
#include "tests/unit.h"

#include "tests/tool/convert/trace_reading.h"

enum { PID = 500, THREAD = 501, OTHER = 502 };

static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
}

static struct trace end(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_DONE);
    return trace_of(spool);
}

static void allocate(struct make_spool *spool, uint64_t time, uint64_t address, uint64_t size, uint16_t kind)
{
    bool host = kind == SPOOL_MEMORY_PINNED;
    make_memory(spool, (struct make_memory){.time = time,
                                            .address = address,
                                            .size = size,
                                            .kind = kind,
                                            .device = host ? SPOOL_NO_DEVICE : 0,
                                            .thread = THREAD,
                                            .correlation = 5,
                                            .operation = SPOOL_MEMORY_ALLOCATE});
}

static void give_back(struct make_spool *spool, uint64_t time, uint64_t address, int32_t result)
{
    make_memory(spool, (struct make_memory){.time = time,
                                            .address = address,
                                            .device = SPOOL_NO_DEVICE,
                                            .thread = THREAD,
                                            .result = result,
                                            .operation = SPOOL_MEMORY_RELEASE});
}

static void assert_levels(const struct trace *trace, const char *name, const double *levels, int count)
{
    assert_int_equal(trace_count(trace, "C", NULL, name), count);
    for (int i = 0; i < count; i++)
        assert_true(arg_is(trace_event(trace, "C", NULL, name, i), "bytes", levels[i]));
}

static void test_a_counter_follows_each_kind(void **state)
{
    (void)state;
    struct make_spool spool;
    begin(&spool);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 2000, 0x2000, 50, SPOOL_MEMORY_PINNED);
    allocate(&spool, 3000, 0x3000, 7, SPOOL_MEMORY_DEVICE);
    give_back(&spool, 4000, 0x1000, 0);
    give_back(&spool, 5000, 0x2000, 0);
    struct trace trace = end(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 107, 7}, 3);
    assert_levels(&trace, "Memory in use: Pinned", (double[]){50, 0}, 2);
    assert_int_equal(event_number(trace_event(&trace, "C", NULL, "Memory in use: Device", 0), "pid"), 0);
    assert_int_equal(event_number(trace_event(&trace, "C", NULL, "Memory in use: Pinned", 0), "pid"), PID);
    assert_true(trace.summary.cuda);
    trace_release(&trace);
}

static void test_a_release_takes_size_and_kind_from_its_allocation(void **state)
{
    (void)state;
    struct make_spool spool;
    begin(&spool);
    allocate(&spool, 1000, 0xdeadbeef000, 100, SPOOL_MEMORY_MANAGED);
    give_back(&spool, 4000, 0xdeadbeef000, 0);
    struct trace trace = end(&spool);
    const cJSON *gone = trace_event(&trace, "i", "memory", "Release Managed", 0);
    assert_true(arg_is(gone, "bytes", 100) && arg_is(gone, "device", 0) && arg_text_is(gone, "kind", "Managed"));
    assert_true(arg_text_is(gone, "address", "0xdeadbeef000"));
    assert_int_equal(event_number(gone, "tid"), THREAD);
    trace_release(&trace);
}

static void test_failed_operations_are_shown_and_change_nothing(void **state)
{
    (void)state;
    struct make_spool spool;
    begin(&spool);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    make_memory(&spool, (struct make_memory){.time = 2000,
                                             .size = 1 << 30,
                                             .thread = THREAD,
                                             .result = 2,
                                             .kind = SPOOL_MEMORY_DEVICE,
                                             .operation = SPOOL_MEMORY_ALLOCATE});
    give_back(&spool, 3000, 0x1000, 1);
    struct trace trace = end(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100}, 1);
    assert_true(arg_is(trace_event(&trace, "i", "memory", "Allocate Device failed", 0), "result", 2));
    assert_int_equal(trace_count(&trace, "i", "memory", "Release Device failed"), 1);
    trace_release(&trace);
}

static void test_steps_of_several_threads_are_taken_by_time(void **state)
{
    (void)state;
    struct make_spool spool;
    begin(&spool);
    give_back(&spool, 2000, 0x1000, 0);
    give_back(&spool, 4000, 0x1000, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 3000, 0x1000, 30, SPOOL_MEMORY_DEVICE);
    struct trace trace = end(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 0, 30, 0}, 4);
    trace_release(&trace);
}

static void test_an_address_given_out_again_early_is_released_in_order(void **state)
{
    (void)state;
    struct make_spool spool;
    begin(&spool);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 2000, 0x1000, 30, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 2500, 0x1000, 1, SPOOL_MEMORY_DEVICE);
    give_back(&spool, 3000, 0x1000, 0);
    give_back(&spool, 4000, 0x1000, 0);
    give_back(&spool, 5000, 0x1000, 0);
    give_back(&spool, 6000, 0x1000, 0); /* of nothing */
    struct trace trace = end(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 130, 131, 31, 1, 0}, 6);
    assert_null(event_arg(trace_event(&trace, "i", "memory", "Release", 3), "bytes"));
    trace_release(&trace);
}

static void test_a_context_takes_its_memory_with_it(void **state)
{
    (void)state;
    struct make_spool spool;
    begin(&spool);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 1500, 0x2000, 50, SPOOL_MEMORY_ARRAY);
    allocate(&spool, 1600, 0x3000, 25, SPOOL_MEMORY_PINNED);
    make_memory(&spool, (struct make_memory){.time = 1700,
                                             .address = 0x4000,
                                             .size = 10,
                                             .context = 2,
                                             .thread = THREAD,
                                             .kind = SPOOL_MEMORY_DEVICE,
                                             .operation = SPOOL_MEMORY_ALLOCATE});
    make_context_end(&spool, 2000, 1, 0);
    struct trace trace = end(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 110, 10}, 3);
    assert_levels(&trace, "Memory in use: Array", (double[]){50, 0}, 2);
    assert_levels(&trace, "Memory in use: Pinned", (double[]){25}, 1);
    trace_release(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_counter_follows_each_kind),
        cmocka_unit_test(test_a_release_takes_size_and_kind_from_its_allocation),
        cmocka_unit_test(test_failed_operations_are_shown_and_change_nothing),
        cmocka_unit_test(test_steps_of_several_threads_are_taken_by_time),
        cmocka_unit_test(test_an_address_given_out_again_early_is_released_in_order),
        cmocka_unit_test(test_a_context_takes_its_memory_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
