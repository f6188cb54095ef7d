/*
 * nvtx_counters: NVTX's counters: single ones and groups, sampled one by one and in batches. Needs no GPU and no CUDA
 * driver.
 *
 * A correct trace holds: a counter for each below with as many values as were sampled, the last of which is the one
 * stated; groups with a series for each of their counters; what is scaled, normalised or given as a difference as what
 * it means; samples of batches at their own times; and in the metadata units, limits and descriptions.
 */
#include "nvtx_payload.h"
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>

/* nvToolsExtCounters.h of CUDA 13.0 shifts an int by 32 bits for these. */
#undef NVTX_COUNTER_BATCH_FLAG_BEGINTIME_INTERVAL_PAIR
#undef NVTX_COUNTER_BATCH_FLAG_ENDTIME_INTERVAL_PAIR
#define NVTX_COUNTER_BATCH_FLAG_BEGINTIME_INTERVAL_PAIR (UINT64_C(1) << 32)
#define NVTX_COUNTER_BATCH_FLAG_ENDTIME_INTERVAL_PAIR (UINT64_C(2) << 32)

static uint64_t register_counter(const char *name, uint64_t schema, uint64_t scope,
                                 const nvtxSemanticsHeader_t *semantics)
{
    const nvtxCounterAttr_t attributes = {.structSize = sizeof(attributes),
                                          .schemaId = schema,
                                          .name = name,
                                          .description = "what nvtx_counters.c counts",
                                          .scopeId = scope,
                                          .semantics = semantics};
    return nvtxCounterRegister(domain, &attributes);
}

/* The counter has that many values, and the last is as said. */
static void counts(const char *name, const char *series, unsigned samples, double last)
{
    if (series)
        printf("expect counter \"payloads: %s\" \"%s\" samples %u last %.17g\n", name, series, samples, last);
    else
        printf("expect counter \"payloads: %s\" samples %u last %.17g\n", name, samples, last);
}

static nvtxSemanticsCounter_t meaning(uint64_t flags, const char *unit)
{
    return (nvtxSemanticsCounter_t){
        .header = {sizeof(nvtxSemanticsCounter_t), NVTX_SEMANTIC_ID_COUNTERS_V1, NVTX_COUNTER_SEMANTIC_VERSION, NULL},
        .flags = flags,
        .unit = unit,
        .unitScaleNumerator = 1,
        .unitScaleDenominator = 1};
}

static void single_values(void)
{
    nvtxSemanticsCounter_t celsius = meaning(
        NVTX_COUNTER_FLAG_LIMITS | NVTX_COUNTER_FLAG_VALUETYPE_ABSOLUTE | NVTX_COUNTER_FLAG_INTERPOLATION_LINEAR, "°C");
    celsius.limitType = NVTX_COUNTER_LIMIT_F64;
    celsius.min.f64 = -20;
    celsius.max.f64 = 95.5;
    const uint64_t integer = register_counter("queue", NVTX_PAYLOAD_ENTRY_TYPE_INT64, NVTX_SCOPE_NONE, NULL);
    const uint64_t real =
        register_counter("temperature", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, NVTX_SCOPE_CURRENT_SW_PROCESS, &celsius.header);
    for (int64_t i = 0; i < 5; i++) {
        nvtxCounterSampleInt64(domain, integer, i * i - 3);
        nvtxCounterSampleFloat64(domain, real, 20.25 + (double)i);
    }
    counts("queue", NULL, 5, 13);
    counts("temperature (process)", NULL, 5, 24.25);

    const uint64_t byte = register_counter("byte", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, NVTX_SCOPE_NONE, NULL);
    const uint8_t values[] = {7, 250};
    nvtxCounterSample(domain, byte, &values[0], sizeof(values[0]));
    nvtxCounterSample(domain, byte, &values[1], sizeof(values[1]));
    nvtxCounterSampleNoValue(domain, byte, NVTX_COUNTER_SAMPLE_UNCHANGED);
    nvtxCounterSampleNoValue(domain, byte, NVTX_COUNTER_SAMPLE_UNAVAILABLE); /* is no sample */
    counts("byte", NULL, 3, 250);
    const uint64_t zero = register_counter("zero", NVTX_PAYLOAD_ENTRY_TYPE_INT32, NVTX_SCOPE_NONE, NULL);
    nvtxCounterSampleInt64(domain, zero, 5);
    nvtxCounterSampleNoValue(domain, zero, NVTX_COUNTER_SAMPLE_ZERO);
    counts("zero", NULL, 2, 0);
}

static void meanings(void)
{
    nvtxSemanticsCounter_t pages = meaning(NVTX_COUNTER_FLAGS_NONE, "KiB");
    pages.unitScaleNumerator = 4;
    nvtxSemanticsCounter_t part = meaning(NVTX_COUNTER_FLAG_NORMALIZE, "load");
    nvtxSemanticsCounter_t step = meaning(NVTX_COUNTER_FLAG_VALUETYPE_DELTA, "packets");
    const uint64_t scaled = register_counter("pages", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, NVTX_SCOPE_NONE, &pages.header);
    const uint64_t normalized = register_counter("load", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, NVTX_SCOPE_NONE, &part.header);
    const uint64_t delta = register_counter("packets", NVTX_PAYLOAD_ENTRY_TYPE_INT64, NVTX_SCOPE_NONE, &step.header);
    const uint32_t count = 25;
    const uint8_t load = 51;
    nvtxCounterSample(domain, scaled, &count, sizeof(count));
    nvtxCounterSample(domain, normalized, &load, sizeof(load));
    counts("pages", NULL, 1, 100);
    counts("load", NULL, 1, 0.2);
    nvtxCounterSampleInt64(domain, delta, 10);
    nvtxCounterSampleInt64(domain, delta, -4);
    nvtxCounterSampleInt64(domain, delta, 1);
    counts("packets", NULL, 3, 7);
}

/* --- groups --- */

struct traffic {
    uint64_t received, sent;
    float loss;
    int64_t time;
};

static uint64_t register_traffic(const char *name, uint64_t flags)
{
    const nvtxSemanticsTime_t by = {{sizeof(by), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL},
                                    NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED};
    const nvtxPayloadSchemaEntry_t entries[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_COUNTER, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "received"},
        {NVTX_PAYLOAD_ENTRY_FLAG_COUNTER, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "sent"},
        {NVTX_PAYLOAD_ENTRY_FLAG_COUNTER, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "loss"},
        {flags, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "time", NULL, 0, 0, &by.header},
    };
    const uint64_t schema =
        REGISTER(name, STATIC, NVTX_PAYLOAD_SCHEMA_FLAG_COUNTER_GROUP, entries, sizeof(struct traffic));
    return register_counter(name, schema, NVTX_SCOPE_NONE, NULL);
}

static void groups(void)
{
    const uint64_t group = register_traffic("traffic", NVTX_PAYLOAD_ENTRY_FLAG_HIDE);
    const struct traffic first = {1000, 2000, 0.5f, 0}, second = {1500, 2001, 0.25f, 0};
    nvtxCounterSample(domain, group, &first, sizeof(first));
    nvtxCounterSample(domain, group, &second, sizeof(second));
    counts("traffic", "received", 2, 1500);
    counts("traffic", "sent", 2, 2001);
    counts("traffic", "loss", 2, 0.25);
}

static void batches(void)
{
    enum { COUNT = 3000 }; /* more than one record of the recorder holds */
    static struct traffic inside[COUNT];
    static int64_t values[COUNT], times[COUNT];
    const int64_t now = nvtxTimestampGet();
    for (int64_t i = 0; i < COUNT; i++) {
        inside[i] = (struct traffic){(uint64_t)i, (uint64_t)(2 * i), 0.5f, now + i};
        values[i] = i - 1000;
        times[i] = now + 2 * i;
    }
    nvtxCounterBatch_t batch = {.counterId = register_traffic("times inside", NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP),
                                .counters = inside,
                                .countersSize = sizeof(inside),
                                .flags = NVTX_BATCH_FLAG_TIME_SORTED};
    nvtxCounterBatchSubmit(domain, &batch);
    counts("times inside", "sent", COUNT, 2 * (COUNT - 1));

    batch = (nvtxCounterBatch_t){.counterId = register_counter("times beside", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0, NULL),
                                 .counters = values,
                                 .countersSize = sizeof(values),
                                 .timestamps = times,
                                 .timestampsSize = sizeof(times)};
    nvtxCounterBatchSubmit(domain, &batch);
    counts("times beside", NULL, COUNT, COUNT - 1 - 1000);

    const int64_t from_begin[] = {now, 100}, from_end[] = {now + 900, 100};
    batch.counterId = register_counter("each 100 ns", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0, NULL);
    batch.countersSize = 10 * sizeof(values[0]);
    batch.timestamps = from_begin;
    batch.timestampsSize = sizeof(from_begin);
    batch.flags = NVTX_COUNTER_BATCH_FLAG_BEGINTIME_INTERVAL_PAIR;
    nvtxCounterBatchSubmit(domain, &batch);
    batch.timestamps = from_end;
    batch.flags = NVTX_COUNTER_BATCH_FLAG_ENDTIME_INTERVAL_PAIR;
    nvtxCounterBatchSubmit(domain, &batch);
    counts("each 100 ns", NULL, 20, 9 - 1000);
}

int main(void)
{
    domain = nvtxDomainCreateA("payloads");
    single_values();
    meanings();
    groups();
    batches();
    state_count("pushes", 0);
    state_count("marks", 0);
    puts("counters of every sort");
    state_print();
    return 0;
}
