/*
 * Deferred events, counters and memory of NVTX's extensions in the trace.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/make_nvtx_extension.h"
#include "tests/trace/meaning/trace_reading.h"

/* Entries leave out what is 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

enum { PID = 500, THREAD = 501, CLOCK_ID = 1 << 24, COUNTER = 1 << 24, SCOPE = 1 << 24 };

/* --- deferred events --- */

#define STAMP (PAYLOAD_FLAG_TIMESTAMP)

struct range {
    int64_t begin, end;
    char name[8];
};

static const struct make_entry range_entries[] = {{"begin", PAYLOAD_TYPE_INT64, STAMP | PAYLOAD_FLAG_RANGE_BEGIN},
                                                  {"end", PAYLOAD_TYPE_INT64, STAMP | PAYLOAD_FLAG_RANGE_END},
                                                  {"name", PAYLOAD_TYPE_CSTRING, PAYLOAD_FLAG_EVENT_MESSAGE, 8}};

static void make_times(struct make_spool *spool, uint32_t schema, uint32_t index, uint64_t clock)
{
    MAKE_EXTENSION(spool, NVTX_SEMANTICS, spool_nvtx_semantics, 0, 0, NULL, 0, .meanings = SPOOL_NVTX_TIME_MEANT,
                   .time_domain = clock, .of = schema, .index = index);
}

static void make_ranges(struct make_spool *spool, uint64_t flags, uint64_t clock)
{
    make_schema(spool, 1, PAYLOAD_STATIC, flags, sizeof(struct range), "range", range_entries, 3);
    for (uint32_t i = 0; i < 2; i++)
        make_times(spool, 1, i, clock);
}

static void make_deferred(struct make_spool *spool, uint64_t number, const void *events, size_t size, size_t stride,
                          uint64_t scope)
{
    make_payload(spool, number, 0, make_schema_id(1), 0x1000, events, size);
    MAKE_EXTENSION(spool, NVTX_DEFERRED, spool_nvtx_deferred, 0, 9000, NULL, 0, .number = number, .scope = scope,
                   .stride = stride);
}

static void make_clock_reading(struct make_spool *spool, uint64_t source, int64_t source_time, uint64_t target,
                               int64_t target_time)
{
    MAKE_EXTENSION(spool, NVTX_SYNC, spool_nvtx_sync, SPOOL_NVTX_SYNC_POINT, 0, NULL, 0, .source = source,
                   .source_time = source_time, .target = target, .target_time = target_time);
}

#define AT(ns) ((int64_t)MAKE_SPOOL_START + (ns))

UNIT_TEST(test_deferred_ranges_stand_at_their_own_times)
{
    struct make_spool spool;
    const struct range ranges[] = {{AT(3000), AT(4000), "second"}, {AT(1000), AT(2000), "first"}};
    make_spool_begin(&spool, PID, THREAD);
    make_ranges(&spool, PAYLOAD_SCHEMA_PUSHPOP, 1);
    make_deferred(&spool, 1, ranges, sizeof(ranges), sizeof(struct range), 0);
    struct trace trace = trace_of_done(&spool);
    const cJSON *first = trace_event(&trace, "X", "user_annotation", NULL, 0);
    assert_string_equal(event_text(first, "name"), "first");
    assert_int_equal(event_ns(first, "ts"), 1000);
    assert_int_equal(event_ns(first, "dur"), 1000);
    assert_string_equal(row_name(&trace, first), "NVTX deferred");
    assert_string_equal(cJSON_GetObjectItem(event_arg(first, "payload"), "name")->valuestring, "first");
    assert_int_equal(event_ns(trace_event(&trace, "X", NULL, "second", 0), "ts"), 3000);
    trace_release(&trace);
}

UNIT_TEST(test_ranges_that_overlap_get_rows_of_their_own)
{
    struct make_spool spool;
    const struct range ranges[] = {{AT(1000), AT(3000), "a"}, {AT(2000), AT(4000), "b"}, {AT(2500), AT(2600), "c"}};
    make_spool_begin(&spool, PID, THREAD);
    MAKE_EXTENSION(&spool, NVTX_SCOPE, spool_nvtx_scope, 0, 0, "/gpu", 4, .id = SCOPE, .parent = 1);
    MAKE_EXTENSION(&spool, NVTX_SCOPE, spool_nvtx_scope, 0, 0, "queue", 5, .id = SCOPE + 1, .parent = SCOPE);
    make_nvtx_domain(&spool, 0, "dom");
    make_ranges(&spool, PAYLOAD_SCHEMA_PUSHPOP, 1);
    make_deferred(&spool, 1, ranges, sizeof(ranges), sizeof(struct range), SCOPE + 1);
    struct trace trace = trace_of_done(&spool);
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "a", 0)), "NVTX dom: gpu/queue");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "b", 0)), "NVTX dom: gpu/queue (2)");
    trace_release(&trace);
}

UNIT_TEST(test_ranges_of_the_thread_lie_on_its_row)
{
    struct make_spool spool;
    const struct range range = {AT(1500), AT(2500), "crosses"};
    make_spool_begin(&spool, PID, THREAD);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 1000, .text = "pushed"});
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 2000});
    make_ranges(&spool, PAYLOAD_SCHEMA_PUSHPOP, 1);
    make_deferred(&spool, 1, &range, sizeof(range), 0, 22);
    struct trace trace = trace_of_done(&spool);
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "pushed", 0)), "thread 501");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "crosses", 0)), "thread 501 (2)");
    trace_release(&trace);
}

UNIT_TEST(test_marks_and_started_ranges)
{
    struct make_spool spool;
    const struct range range = {AT(1500), AT(2500), "event"};
    make_spool_begin(&spool, PID, THREAD);
    make_ranges(&spool, PAYLOAD_SCHEMA_STARTEND, 1);
    make_schema(&spool, 2, PAYLOAD_STATIC, PAYLOAD_SCHEMA_MARK, sizeof(struct range), "mark", range_entries, 3);
    make_deferred(&spool, 1, &range, sizeof(range), 0, 0);
    make_payload(&spool, 2, 0, make_schema_id(2), 0x1000, &range, sizeof(range));
    MAKE_EXTENSION(&spool, NVTX_DEFERRED, spool_nvtx_deferred, 0, 9000, NULL, 0, .number = 2);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(event_ns(trace_event(&trace, "b", NULL, "event", 0), "ts"), 1500);
    assert_int_equal(event_ns(trace_event(&trace, "e", NULL, "event", 0), "ts"), 2500);
    assert_int_equal(event_ns(trace_event(&trace, "i", "user_annotation", "event", 0), "ts"), 1500);
    trace_release(&trace);
}

/* A range by CLOCK from 100 to 200 ticks; where it begins and how long it is. */
static void lies_at(struct make_spool *spool, uint64_t clock, long ts, long dur)
{
    const struct range range = {100, 200, "range"};
    make_ranges(spool, PAYLOAD_SCHEMA_PUSHPOP, clock);
    make_deferred(spool, 1, &range, sizeof(range), 0, 0);
    struct trace trace = trace_of_done(spool);
    const cJSON *event = trace_event(&trace, "X", NULL, "range", 0);
    assert_int_equal(trace.summary.losses.unplaced, event ? 0 : 1);
    assert_int_equal(event ? event_ns(event, "ts") : -1, ts);
    assert_int_equal(event ? event_ns(event, "dur") : -1, dur);
    trace_release(&trace);
}

static void make_clock(struct make_spool *spool, uint64_t type, int64_t resolution, uint64_t start)
{
    MAKE_EXTENSION(spool, NVTX_TIME_DOMAIN, spool_nvtx_time_domain, 0, 0, NULL, 0, .id = CLOCK_ID, .type = type,
                   .resolution = resolution, .start = start);
}

UNIT_TEST(test_two_readings_tell_how_a_clock_goes)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_clock_reading(&spool, CLOCK_ID, 0, 1, AT(5000));
    make_clock_reading(&spool, CLOCK_ID, 1000, 1, AT(15000));
    lies_at(&spool, CLOCK_ID, 6000, 1000);
    make_spool_begin(&spool, PID, THREAD); /* the other way round, and beyond the readings */
    make_clock_reading(&spool, 1, AT(5000), CLOCK_ID, 0);
    make_clock_reading(&spool, 1, AT(5500), CLOCK_ID, 50);
    lies_at(&spool, CLOCK_ID, 6000, 1000);
    make_spool_begin(&spool, PID, THREAD); /* it goes faster later */
    make_clock_reading(&spool, CLOCK_ID, 200, 1, AT(2000));
    make_clock_reading(&spool, CLOCK_ID, 0, 1, AT(1000));
    make_clock_reading(&spool, CLOCK_ID, 150, 1, AT(1300));
    lies_at(&spool, CLOCK_ID, 1200, 800);
}

UNIT_TEST(test_one_reading_needs_a_rate)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_clock_reading(&spool, CLOCK_ID, 0, 1, AT(5000));
    lies_at(&spool, CLOCK_ID, -1, -1);
    make_spool_begin(&spool, PID, THREAD);
    make_clock(&spool, 0, 100000000, 0);
    make_clock_reading(&spool, CLOCK_ID, 0, 1, AT(5000));
    lies_at(&spool, CLOCK_ID, 6000, 1000);
    make_spool_begin(&spool, PID, THREAD);
    MAKE_EXTENSION(&spool, NVTX_SYNC, spool_nvtx_sync, SPOOL_NVTX_SYNC_SLOPE, 0, NULL, 0, .source = CLOCK_ID,
                   .target = 1, .target_time = AT(5000), .slope = 10);
    lies_at(&spool, CLOCK_ID, 6000, 1000);
    make_spool_begin(&spool, PID, THREAD); /* CLOCK_MONOTONIC counts nanoseconds */
    make_clock_reading(&spool, 14, 0, 1, AT(5000));
    lies_at(&spool, 14, 5100, 100);
}

UNIT_TEST(test_clocks_lead_from_one_to_another)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    for (int64_t i = 0; i < 2; i++) {
        make_clock_reading(&spool, CLOCK_ID + 1, 1000 * i, 14, 10 * i + 7);
        make_clock_reading(&spool, 14, 50 * i, 1, AT(1000 + 500 * i));
        make_clock_reading(&spool, CLOCK_ID, i, CLOCK_ID + 1, 100 * i);
    }
    lies_at(&spool, CLOCK_ID, 2070, 1000);
    make_spool_begin(&spool, PID, THREAD); /* in a circle, to nowhere */
    make_clock_reading(&spool, CLOCK_ID, 0, CLOCK_ID + 1, 0);
    make_clock_reading(&spool, CLOCK_ID + 1, 0, CLOCK_ID, 5);
    lies_at(&spool, CLOCK_ID, -1, -1);
}

UNIT_TEST(test_clocks_say_what_they_are)
{
    struct make_spool spool;
    const int64_t second = (int64_t)(MAKE_SPOOL_START / 1000000000);
    const struct range range = {second, second + 2, "range"};
    make_spool_begin(&spool, PID, THREAD);
    make_clock(&spool, 0, 1, 3); /* seconds since 1970 */
    make_ranges(&spool, PAYLOAD_SCHEMA_PUSHPOP, CLOCK_ID);
    make_deferred(&spool, 1, &range, sizeof(range), 0, 0);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(event_ns(trace_event(&trace, "X", NULL, "range", 0), "dur"), 2000000000);
    trace_release(&trace);
    make_spool_begin(&spool, PID, THREAD);
    make_clock(&spool, 14, 0, 0); /* of a type that was read */
    make_clock_reading(&spool, 14, 0, 1, AT(5000));
    make_clock_reading(&spool, 14, 10, 1, AT(5010));
    lies_at(&spool, CLOCK_ID, 5100, 100);
}

/* --- counters --- */

static void make_counter(struct make_spool *spool, uint64_t id, uint32_t number, uint64_t schema, const char *name)
{
    MAKE_EXTENSION(spool, NVTX_COUNTER, spool_nvtx_counter, 0, 0, name, strlen(name), .id = id, .schema = schema,
                   .number = number, .name_length = (uint32_t)strlen(name));
}

static void make_sample(struct make_spool *spool, uint64_t time, uint16_t kind, uint64_t counter, uint64_t bits,
                        const void *bytes, size_t size)
{
    MAKE_EXTENSION(spool, NVTX_SAMPLE, spool_nvtx_sample, kind, time, bytes, size, .counter = counter, .bits = bits);
}

UNIT_TEST(test_samples_come_in_the_order_of_time)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_sample(&spool, 2000, SPOOL_NVTX_SAMPLE_INTEGER, COUNTER, (uint64_t)-5, NULL, 0);
    make_sample(&spool, 1000, SPOOL_NVTX_SAMPLE_INTEGER, COUNTER, INT64_MAX, NULL, 0);
    make_sample(&spool, 3000, SPOOL_NVTX_SAMPLE_NONE, COUNTER, 1, NULL, 0);
    make_sample(&spool, 4000, SPOOL_NVTX_SAMPLE_NONE, COUNTER, 2, NULL, 0);
    make_sample(&spool, 5000, SPOOL_NVTX_SAMPLE_NONE, COUNTER, 0, NULL, 0);
    make_sample(&spool, 5000, SPOOL_NVTX_SAMPLE_INTEGER, COUNTER + 1, 0, NULL, 0); /* of no counter */
    make_counter(&spool, COUNTER, 1, PAYLOAD_TYPE_INT64, "count");
    struct trace trace = trace_of_done(&spool);
    static const double values[] = {9223372036854775807.0, -5, -5, 0};
    for (int i = 0; i < 4; i++)
        assert_true(arg_is(trace_event(&trace, "C", NULL, "count", i), "value", values[i]));
    assert_int_equal(trace_count(&trace, "C", NULL, NULL), 4);
    assert_int_equal(trace.summary.losses.undecoded, 1);
    trace_release(&trace);
}

UNIT_TEST(test_groups_have_a_value_for_each_number)
{
    struct make_spool spool;
    static const struct make_entry inner[] = {{"x", PAYLOAD_TYPE_INT8}};
    const struct make_entry entries[] = {{"a", PAYLOAD_TYPE_UINT8},
                                         {"in", make_schema_id(1)},
                                         {"list", PAYLOAD_TYPE_INT8, PAYLOAD_FLAG_ARRAY_FIXED, 2},
                                         {"text", PAYLOAD_TYPE_CSTRING, 0, 2}};
    make_spool_begin(&spool, PID, THREAD);
    MAKE_SCHEMA(&spool, 1, STATIC, 1, inner);
    MAKE_SCHEMA(&spool, 2, STATIC, 6, entries);
    make_counter(&spool, COUNTER, 3, make_schema_id(2), "group");
    make_sample(&spool, 1000, SPOOL_NVTX_SAMPLE_BYTES, COUNTER, 0,
                "\1\2\3\xfc"
                "xy",
                6);
    make_sample(&spool, 2000, SPOOL_NVTX_SAMPLE_BYTES, COUNTER, 0, "\1", 1); /* cut: what is there */
    struct trace trace = trace_of_done(&spool);
    const cJSON *first = trace_event(&trace, "C", NULL, "group", 0);
    assert_true(arg_is(first, "a", 1) && arg_is(first, "in.x", 2) && arg_is(first, "list[0]", 3) &&
                arg_is(first, "list[1]", -4));
    assert_null(event_arg(first, "text"));
    assert_null(event_arg(trace_event(&trace, "C", NULL, "group", 1), "in.x"));
    trace_release(&trace);
}

UNIT_TEST(test_batches_are_taken_apart)
{
    struct make_spool spool;
    const struct {
        int64_t times[3];
        int16_t values[3];
    } batch = {{AT(3000), AT(1000), AT(2000)}, {30, 10, 20}};
    make_spool_begin(&spool, PID, THREAD);
    make_counter(&spool, COUNTER, 1, PAYLOAD_TYPE_INT16, "batch");
    MAKE_EXTENSION(&spool, NVTX_SAMPLE, spool_nvtx_sample, SPOOL_NVTX_SAMPLE_BATCH, 9000, &batch, 30,
                   .counter = COUNTER, .stride = 2, .count = 3);
    MAKE_EXTENSION(&spool, NVTX_SAMPLE, spool_nvtx_sample, SPOOL_NVTX_SAMPLE_EVERY, 9000, batch.values, 6,
                   .counter = COUNTER, .stride = 2, .first = AT(5000), .interval = 100);
    MAKE_EXTENSION(&spool, NVTX_SAMPLE, spool_nvtx_sample, SPOOL_NVTX_SAMPLE_BATCH, 9000, batch.values, 6,
                   .counter = COUNTER, .stride = 2); /* no times anywhere */
    struct trace trace = trace_of_done(&spool);
    static const double values[] = {10, 20, 30, 30, 10, 20};
    static const long times[] = {1000, 2000, 3000, 5000, 5100, 5200};
    for (int i = 0; i < 6; i++) {
        const cJSON *sample = trace_event(&trace, "C", NULL, "batch", i);
        assert_true(arg_is(sample, "value", values[i]));
        assert_int_equal(event_ns(sample, "ts"), times[i]);
    }
    assert_int_equal(trace.summary.losses.unplaced, 3);
    trace_release(&trace);
}

/* --- memory --- */

static void make_memory_call(struct make_spool *spool, uint64_t time, uint16_t operation, uint64_t heap,
                             uint64_t region, uint64_t size, const char *name)
{
    MAKE_EXTENSION(spool, NVTX_MEMORY, spool_nvtx_memory, operation, time, name, name ? strlen(name) : 0, .heap = heap,
                   .region = region, .size = size, .device = -1);
}

static void heap_holds(const struct trace *trace, int n, double regions, double size)
{
    const cJSON *counter = trace_event(trace, "C", NULL, "NVTX heap pool", n);
    assert_true(arg_is(counter, "regions", regions) && arg_is(counter, "size", size));
}

UNIT_TEST(test_heaps_hold_their_regions)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_memory_call(&spool, 1000, SPOOL_NVTX_MEMORY_HEAP_REGISTER, 0x1000, 0, 500, "pool");
    make_memory_call(&spool, 1100, SPOOL_NVTX_MEMORY_REGION_REGISTER, 0x1000, 0x1000, 100, NULL);
    make_memory_call(&spool, 1200, SPOOL_NVTX_MEMORY_REGION_REGISTER, 0x1000, 0x1100, 50, NULL);
    make_memory_call(&spool, 1300, SPOOL_NVTX_MEMORY_REGION_REGISTER, 0x1000, 0x1000, 10, NULL); /* instead of it */
    make_memory_call(&spool, 1400, SPOOL_NVTX_MEMORY_REGION_RESIZE, 0, 0x1100, 60, NULL);
    make_memory_call(&spool, 1500, SPOOL_NVTX_MEMORY_REGION_UNREGISTER, 0, 0x1100, 0, NULL);
    make_memory_call(&spool, 1600, SPOOL_NVTX_MEMORY_REGION_UNREGISTER, 0, 0x1100, 0, NULL); /* it is gone */
    make_memory_call(&spool, 1700, SPOOL_NVTX_MEMORY_HEAP_RESET, 0x1000, 0, 0, NULL);
    make_memory_call(&spool, 1800, SPOOL_NVTX_MEMORY_REGION_REGISTER, 0x1000, 0x1000, 7, NULL);
    make_memory_call(&spool, 1900, SPOOL_NVTX_MEMORY_HEAP_UNREGISTER, 0x1000, 0, 0, NULL);
    struct trace trace = trace_of_done(&spool);
    static const double regions[] = {0, 100, 150, 60, 70, 10, 0, 7, 0};
    for (int i = 0; i < 9; i++)
        heap_holds(&trace, i, regions[i], i < 8 ? 500 : 0);
    assert_int_equal(trace_count(&trace, "C", NULL, NULL), 9);
    assert_int_equal(trace_count(&trace, "i", "nvtx_memory", NULL), 10);
    assert_true(arg_text_is(trace_event(&trace, "i", "nvtx_memory", "Region registered", 0), "heap", "pool"));
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
