/*
 * Managed memory: CUPTI's counters as slices and instants on a row of the GPU, of either record.
 */
#include "tests/unit.h"

#include <cupti_activity.h>
#include <cupti_activity_deprecated.h>

#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 501, HOST = 0 }; /* the host as CUPTI 13.0 writes it on an H200 */

struct counter {
    CUpti_ActivityUnifiedMemoryCounterKind what;
    uint64_t value, start, end;
    uint32_t source, target, flags;
    uint64_t devices;
};

static void make_counter(struct make_spool *spool, struct counter made)
{
    const CUpti_ActivityUnifiedMemoryCounter3 record = {
        .kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
        .counterKind = made.what,
        .value = made.value,
        .start = MAKE_SPOOL_START + made.start,
        .end = made.end ? MAKE_SPOOL_START + made.end : 0,
        .address = 0x7f0000200000,
        .srcId = made.source,
        .dstId = made.target,
        .processId = PID,
        .flags = made.flags,
        .processors = {made.devices},
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

static void make_counters(struct make_spool *spool, uint32_t version)
{
    make_spool_init(spool, PID, version);
    make_spool_chunk(spool, SPOOL_CUPTI, THREAD);
    make_device(spool, 0, 0);
    make_device(spool, 1, 0);
#define COUNTER(kind, ...) \
    make_counter(spool, (struct counter){CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##kind, __VA_ARGS__})
    COUNTER(BYTES_TRANSFER_HTOD, 65536, 1000, 3000, HOST, 1, 3, 0);
    COUNTER(BYTES_TRANSFER_HTOD, 4096, 2000, 4000, HOST, 1, 0, 0); /* overlaps */
    COUNTER(BYTES_TRANSFER_DTOH, 4096, 5000, 6000, 1, HOST, 4, 0);
    COUNTER(BYTES_TRANSFER_DTOD, 8192, 6000, 7000, 1, 0, 0, 0);
    COUNTER(CPU_PAGE_FAULT_COUNT, 0x401234, 8000, 0, 77, 77, 2, 0);
    COUNTER(GPU_PAGE_FAULT, 3, 9000, 9500, 1, 77, 1, 0);
    COUNTER(THRASHING, 65536, 10000, 0, 2, 0, 1, 2);
    COUNTER(THROTTLING, 0, 11000, 12000, HOST, 0, 1, 0);
    COUNTER(REMOTE_MAP, 65536, 13000, 0, 0, 1, 3, 0);
#undef COUNTER
}

static const cJSON *found(const struct trace *trace, const char *phase, const char *name, double pid)
{
    const cJSON *event = trace_event(trace, phase, "unified_memory", name, 0);
    assert_non_null(event);
    assert_true(event_number(event, "pid") == pid && arg_is(event, "process", PID));
    assert_true(arg_text_is(event, "address", "0x7f0000200000"));
    assert_true(strncmp(row_name(trace, event), "unified memory", strlen("unified memory")) == 0);
    return event;
}

static void assert_counters(struct make_spool *spool)
{
    struct trace trace = trace_of_done(spool);
    const cJSON *event = found(&trace, "X", "Unified Memory memcpy HtoD", 1);
    assert_true(event_ns(event, "ts") == 1000 && event_ns(event, "dur") == 2000 && arg_is(event, "bytes", 65536));
    assert_true(arg_is(event, "toDevice", 1) && !event_arg(event, "fromDevice"));
    assert_true(arg_text_is(event, "reason", "prefetch"));
    const cJSON *second = trace_event(&trace, "X", "unified_memory", "Unified Memory memcpy HtoD", 1);
    assert_true(event_number(second, "tid") != event_number(event, "tid") && !event_arg(second, "reason"));
    event = found(&trace, "X", "Unified Memory memcpy DtoH", 1);
    assert_true(arg_is(event, "fromDevice", 1) && !event_arg(event, "toDevice"));
    assert_true(arg_text_is(event, "reason", "eviction"));
    event = found(&trace, "X", "Unified Memory memcpy DtoD", 0);
    assert_true(arg_is(event, "fromDevice", 1) && arg_is(event, "toDevice", 0));
    event = found(&trace, "i", "CPU Page Fault", 1);
    assert_true(arg_text_is(event, "program counter", "0x401234") && arg_text_is(event, "access", "write"));
    assert_true(!event_arg(event, "fromDevice") && !event_arg(event, "toDevice"));
    event = found(&trace, "X", "GPU Page Fault", 1);
    assert_true(arg_is(event, "page fault groups", 3) && arg_text_is(event, "access", "read"));
    event = found(&trace, "i", "Thrashing", 1);
    assert_true(arg_is(event, "bytes", 65536) && arg_text_is(event, "reason", "in CPU"));
    found(&trace, "X", "Throttling", 1);
    event = found(&trace, "i", "Remote Map", 1);
    assert_true(arg_text_is(event, "reason", "policy") && arg_is(event, "fromDevice", 0));
    assert_int_equal(trace_count(&trace, NULL, "unified_memory", NULL), 9);
    assert_int_equal(trace.summary.losses.undecoded, 0);
    trace_release(&trace);
}

UNIT_TEST(test_each_counter_has_its_name_row_and_args)
{
    struct make_spool spool;
    make_counters(&spool, 130001);
    assert_counters(&spool);
}

UNIT_TEST(test_records_of_an_older_cupti_say_the_same)
{
    struct make_spool spool;
    make_counters(&spool, 18);
    assert_counters(&spool);
}

UNIT_TEST(test_a_counter_of_a_newer_cupti_is_shown_as_a_number)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_counter(&spool, (struct counter){(CUpti_ActivityUnifiedMemoryCounterKind)99, 5, 1000, 2000, 0, HOST, 1, 0});
    struct trace trace = trace_of_done(&spool);
    assert_true(arg_is(found(&trace, "X", "Unified Memory Counter", 0), "value", 5));
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
