/*
 * NVTX's extensions called by many threads at once: every definition has a number of its own, no payload is another's,
 * and all definitions are published again meanwhile.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/definitions.h"
#include "common/payload.h"
#include "tests/agent/nvtx/module.h"
#include "tests/unit.h"

enum { SLOTS = 63, THREADS = 8, ROUNDS = 200, IDS = 2 * THREADS * ROUNDS };

static intptr_t payload_slots[SLOTS], counter_slots[SLOTS];
static uint64_t ids[IDS];
static atomic_uint id_count, marks, samples, schemas, wrong;

#define PAYLOAD(type, name, ...) ((type(*)(__VA_ARGS__))(uintptr_t)payload_slots[NVTX3EXT_CBID_##name])
#define COUNTERS(type, name, ...) ((type(*)(__VA_ARGS__))(uintptr_t)counter_slots[NVTX3EXT_CBID_##name])

/* What a thread sends: a number, and the same number as a text of its own. */
struct sent {
    uint64_t value;
    const char *text;
};

static _Thread_local uint64_t value_sent;
static _Thread_local unsigned pieces_heard;

static void hear(void *data, const struct gputrace_nvtx_extension *what)
{
    (void)data;
    if (what->type == SPOOL_RECORD_NVTX_SCHEMA)
        atomic_fetch_add(&schemas, 1);
    else if (what->type == SPOOL_RECORD_NVTX_SAMPLE) {
        struct spool_nvtx_sample sample;
        memcpy(&sample, what->record, sizeof(sample));
        atomic_fetch_add(sample.bits == value_sent ? &samples : &wrong, 1);
    } else if (what->type == SPOOL_RECORD_NVTX_PIECE) {
        char text[32];
        snprintf(text, sizeof(text), "%llu", (unsigned long long)value_sent);
        bool whole = what->text.length == sizeof(struct sent) && memcmp(what->text.bytes, &value_sent, 8) == 0;
        bool followed = what->text.length == strlen(text) && memcmp(what->text.bytes, text, what->text.length) == 0;
        pieces_heard++;
        if (!whole && !followed)
            atomic_fetch_add(&wrong, 1);
    }
}

static void hear_mark(void *data, const struct gputrace_nvtx *what)
{
    (void)data;
    (void)what;
    atomic_fetch_add(&marks, 1);
}

static uint64_t register_schema(void)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "value", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", NULL, 0, offsetof(struct sent, text), NULL, NULL}};
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = 2,
        .payloadStaticSize = sizeof(struct sent)};
    return PAYLOAD(uint64_t, nvtxPayloadSchemaRegister, nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t *)(NULL,
                                                                                                             &schema);
}

static void send_once(uint64_t schema, uint64_t counter, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    const struct sent sent = {value, text};
    const nvtxPayloadData_t payload = {schema, sizeof(sent), &sent};
    value_sent = value;
    pieces_heard = 0;
    PAYLOAD(void, nvtxMarkPayload, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t)(NULL, &payload, 1);
    if (pieces_heard != 2)
        atomic_fetch_add(&wrong, 1);
    COUNTERS(void, nvtxCounterSampleInt64, nvtxDomainHandle_t, uint64_t, int64_t)(NULL, counter, (int64_t)value);
}

static void *work(void *number)
{
    uint64_t base = (uint64_t)(uintptr_t)number * 1000000;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const nvtxCounterAttr_t attributes = {
            .structSize = sizeof(attributes), .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64, .name = "counter"};
        uint64_t schema = register_schema();
        uint64_t counter =
            COUNTERS(uint64_t, nvtxCounterRegister, nvtxDomainHandle_t, const nvtxCounterAttr_t *)(NULL, &attributes);
        ids[atomic_fetch_add(&id_count, 1)] = schema;
        ids[atomic_fetch_add(&id_count, 1)] = counter;
        for (unsigned j = 0; j < 4; j++)
            send_once(schema, counter, base + i * 4 + j);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

UNIT_TEST(threads_do_not_disturb_each_other)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    for (unsigned i = 0; i < 20; i++) /* as in the child of a fork, but that it is alone */
        nvtx_definitions_republish();
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(marks, THREADS * ROUNDS * 4);
    assert_int_equal(samples, THREADS * ROUNDS * 4);
    qsort(ids, IDS, sizeof(ids[0]), compare);
    for (unsigned i = 1; i < IDS; i++)
        assert_true(ids[i] != ids[i - 1] && ids[i - 1] != 0);
    schemas = 0;
    nvtx_definitions_republish();
    assert_int_equal(schemas, THREADS * ROUNDS);
}

UNIT_FIXTURE(attach)
{
    return registry_nvtx_extension_register(hear, NULL) | registry_nvtx_mark_register(hear_mark, NULL) |
           !attach_extension(NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID, payload_slots, SLOTS) |
           !attach_extension(NVTX_EXT_COUNTERS_MODULEID, NVTX_EXT_COUNTERS_COMPATID, counter_slots, SLOTS);
}

UNIT_MAIN(attach, NULL)
