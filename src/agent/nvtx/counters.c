/* NVTX's functions for counters: a counter is defined once, and its values come one by one or in batches. */
#include <stdlib.h>
#include <string.h>

#include "agent/dispatch/fork_watch.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "agent/nvtx/payload_copy.h"
#include "agent/nvtx/schemas.h"
#include "common/memory.h"

/* The schema of each counter: all that sampling needs to know of it here. */
struct known_counter {
    struct nvtx_known known;
    uint64_t schema;
};
static struct nvtx_known_table counters;

/* Bytes of one sample; 0: they differ, or the counter or its schema is unknown. */
static uint64_t sample_bytes(const struct nvtx_domain *domain, uint64_t counter)
{
    const struct known_counter *known =
        (const struct known_counter *)nvtx_known_find(&counters, domain->number, counter);
    return nvtx_payload_stride(domain, known ? known->schema : 0);
}

/* nvToolsExtCounters.h shifts an int by 32 for these, which no compiler does. A batch of more than two samples with
 * two times is such a pair all the same. */
#define BEGIN_AND_INTERVAL (UINT64_C(1) << 32)
#define END_AND_INTERVAL (UINT64_C(2) << 32)

static uint64_t NVTX_API counter_register(nvtxDomainHandle_t handle, const nvtxCounterAttr_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    if (!attributes || domain->off || attributes->structSize < sizeof(*attributes))
        return NVTX_COUNTER_ID_NONE;
    struct gputrace_text name = text_of(attributes->name);
    struct spool_nvtx_counter record = {
        .id = nvtx_definition_id(attributes->counterId),
        .schema = attributes->schemaId,
        .scope = attributes->scopeId,
        .number = nvtx_definition_number(),
        .domain = domain->number,
        .name_length = name.length < SPOOL_NVTX_TEXT_MAX ? name.length : SPOOL_NVTX_TEXT_MAX,
    };
    nvtx_define(NVTX_RECORD(COUNTER, &record, .text = name, .more = text_of(attributes->description)));
    nvtx_semantics_define(attributes->semantics, NVTX_SEMANTICS_OF_COUNTER, record.number, 0);
    struct known_counter *known = fork_unannounced() ? NULL : malloc(sizeof(*known));
    if (!known)
        return record.id;
    *known =
        (struct known_counter){.known = {.id = record.id, .domain = domain->number}, .schema = attributes->schemaId};
    nvtx_known_add(&counters, &known->known);
    return record.id;
}

static void publish_number(nvtxDomainHandle_t handle, uint64_t counter, enum spool_nvtx_sample_kind kind, uint64_t bits)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct spool_nvtx_sample record = {.counter = counter, .bits = bits, .domain = domain->number};
    if (!domain->off)
        nvtx_publish(NVTX_RECORD(SAMPLE, &record, .flags = (uint16_t)kind));
}

static void NVTX_API sample_int64(nvtxDomainHandle_t domain, uint64_t counter, int64_t value)
{
    publish_number(domain, counter, SPOOL_NVTX_SAMPLE_INTEGER, (uint64_t)value);
}

static void NVTX_API sample_float64(nvtxDomainHandle_t domain, uint64_t counter, double value)
{
    publish_number(domain, counter, SPOOL_NVTX_SAMPLE_REAL, LOAD(uint64_t, &value));
}

static void NVTX_API sample_no_value(nvtxDomainHandle_t domain, uint64_t counter, uint8_t reason)
{
    publish_number(domain, counter, SPOOL_NVTX_SAMPLE_NONE, reason);
}

static void NVTX_API sample(nvtxDomainHandle_t handle, uint64_t counter, const void *values, size_t size)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct spool_nvtx_sample record = {.counter = counter, .domain = domain->number};
    if (domain->off || !values)
        return;
    uint64_t vouched = sample_bytes(domain, counter);
    size_t kept = size < SPOOL_NVTX_TEXT_MAX ? size : SPOOL_NVTX_TEXT_MAX;
    kept = kept <= vouched ? kept : program_readable((uintptr_t)values, kept);
    nvtx_publish(NVTX_RECORD(SAMPLE, &record, .flags = SPOOL_NVTX_SAMPLE_BYTES, .text = text_of_bytes(values, kept)));
}

/* --- batches --- */

struct batch {
    const nvtxCounterBatch_t *given;
    const char *samples;
    size_t stride, count; /* of samples that are there */
    size_t times;         /* that are there; 0: they stand in the samples */
    bool pair;            /* two times, of which the second is an interval */
};

static bool read_batch(struct batch *batch, const struct nvtx_domain *domain, const nvtxCounterBatch_t *given)
{
    uint64_t stride = sample_bytes(domain, given->counterId);
    if (stride == 0 || stride > SPOOL_NVTX_TEXT_MAX || !given->counters)
        return false;
    *batch = (struct batch){.given = given, .samples = given->counters, .stride = (size_t)stride};
    batch->count = program_readable((uintptr_t)given->counters, given->countersSize) / batch->stride;
    if (given->timestamps)
        batch->times = program_readable((uintptr_t)given->timestamps, given->timestampsSize) / sizeof(int64_t);
    bool says_so = (given->flags & (BEGIN_AND_INTERVAL | END_AND_INTERVAL)) != 0;
    batch->pair = batch->times == 2 && (says_so || batch->count > 2);
    if (batch->times > 0 && !batch->pair && batch->times < batch->count)
        batch->count = batch->times;
    return batch->count > 0;
}

/* The time of the first sample. If the batch gives the time of its end, that is one interval earlier for each later
 * sample. */
static int64_t first_time(const struct batch *batch)
{
    const int64_t *pair = batch->given->timestamps;
    bool from_end = (batch->given->flags & END_AND_INTERVAL) != 0;
    uint64_t before =
        from_end ? (uint64_t)pair[1] * (batch->count - 1) : 0; /* whatever the program says, it is no trap */
    return (int64_t)((uint64_t)pair[0] - before);
}

static void publish_part(const struct batch *batch, const struct nvtx_domain *domain, size_t from, size_t count)
{
    struct spool_nvtx_sample record = {
        .counter = batch->given->counterId, .stride = batch->stride, .domain = domain->number};
    struct gputrace_text samples = text_of_bytes(batch->samples + from * batch->stride, count * batch->stride);
    struct gputrace_text times = {0};
    uint16_t kind = batch->pair ? SPOOL_NVTX_SAMPLE_EVERY : SPOOL_NVTX_SAMPLE_BATCH;
    if (batch->pair) {
        record.interval = batch->given->timestamps[1];
        record.first = (int64_t)((uint64_t)first_time(batch) + (uint64_t)record.interval * from);
    } else if (batch->times > 0) {
        record.count = (uint32_t)count;
        times = text_of_bytes((const char *)(batch->given->timestamps + from), count * sizeof(int64_t));
    }
    nvtx_publish(NVTX_RECORD(SAMPLE, &record, .flags = kind, .text = times, .more = samples));
}

static void NVTX_API batch_submit(nvtxDomainHandle_t handle, const nvtxCounterBatch_t *given)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct batch batch;
    if (!given || domain->off || !read_batch(&batch, domain, given))
        return;
    nvtx_clocks_read();
    size_t most = SPOOL_NVTX_TEXT_MAX / (batch.stride > sizeof(int64_t) ? batch.stride : sizeof(int64_t));
    for (size_t from = 0; from < batch.count; from += most)
        publish_part(&batch, domain, from, batch.count - from < most ? batch.count - from : most);
}

const struct nvtx_function nvtx_counter_functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxCounterRegister, counter_register),
    NVTX_EXTENSION_FUNCTION(nvtxCounterSampleInt64, sample_int64),
    NVTX_EXTENSION_FUNCTION(nvtxCounterSampleFloat64, sample_float64),
    NVTX_EXTENSION_FUNCTION(nvtxCounterSample, sample),
    NVTX_EXTENSION_FUNCTION(nvtxCounterSampleNoValue, sample_no_value),
    NVTX_EXTENSION_FUNCTION(nvtxCounterBatchSubmit, batch_submit),
    {0},
};
