#include "agent/dispatch/registry.h"
#include "agent/dispatch/fork_watch.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "agent/nvtx/payload_copy.h"
#include "agent/nvtx/program_memory.h"
#include "agent/nvtx/schemas.h"
#include "common/clock.h"

/*
 * Ranges and marks that are published with payloads alone: what they are called and look like stands in the payloads.
 */

/* Ids of these ranges are beyond those of events.c. */
static uint64_t last_range = UINT64_C(1) << 62;

static struct gputrace_nvtx event_of(const char *function, const struct nvtx_domain *domain,
                                     const nvtxPayloadData_t *payloads, size_t count, struct nvtx_text *room)
{
    uint64_t now = clock_now();
    struct gputrace_nvtx event = {
        .call = {.start = now, .end = now, .function = function, .device = GPUTRACE_NO_DEVICE, .thread = thread_id()},
        .domain = domain->number,
        .domain_name = domain->name,
    };
    event.payload = nvtx_payloads_copy(domain, now, payloads, count, &event, room);
    event.payload_type = event.payload ? SPOOL_NVTX_PAYLOAD_PIECES : 0;
    return event;
}

static void NVTX_API mark(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text room;
    if (domain->off)
        return;
    struct gputrace_nvtx event = event_of("nvtxMarkPayload", domain, payloads, count, &room);
    registry_nvtx_mark_publish(&event);
}

static int NVTX_API push(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text room;
    if (domain->off)
        return NVTX_NO_PUSH_POP_TRACKING;
    struct gputrace_nvtx event = event_of("nvtxRangePushPayload", domain, payloads, count, &room);
    registry_nvtx_push_publish(&event);
    int *depth = nvtx_thread_depth(event.domain);
    return depth ? (*depth)++ : NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API pop(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text room;
    if (domain->off)
        return NVTX_NO_PUSH_POP_TRACKING;
    struct gputrace_nvtx event = event_of("nvtxRangePopPayload", domain, payloads, count, &room);
    registry_nvtx_pop_publish(&event);
    int *depth = nvtx_thread_depth(event.domain);
    if (!depth)
        return NVTX_NO_PUSH_POP_TRACKING;
    return *depth > 0 ? --*depth : -1;
}

static nvtxRangeId_t NVTX_API start(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text room;
    if (domain->off)
        return 0;
    struct gputrace_nvtx event = event_of("nvtxRangeStartPayload", domain, payloads, count, &room);
    event.range = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
    registry_nvtx_start_publish(&event);
    return event.range;
}

static void NVTX_API end(nvtxDomainHandle_t handle, nvtxRangeId_t range, const nvtxPayloadData_t *payloads,
                         size_t count)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text room;
    if (domain->off || range == 0)
        return;
    struct gputrace_nvtx event = event_of("nvtxRangeEndPayload", domain, payloads, count, &room);
    event.range = range;
    registry_nvtx_end_publish(&event);
}

static uint8_t NVTX_API domain_is_enabled(nvtxDomainHandle_t handle)
{
    return !nvtx_domain_ours(handle)->off;
}

/*
 * Deferred events, which bring their times with them, and the scopes they come from.
 */

static uint64_t NVTX_API scope_register(nvtxDomainHandle_t handle, const nvtxScopeAttr_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    if (!attributes || domain->off || attributes->structSize < sizeof(*attributes))
        return NVTX_SCOPE_NONE;
    struct spool_nvtx_scope record = {
        .id = nvtx_definition_id(attributes->scopeId), .parent = attributes->parentScope, .domain = domain->number};
    nvtx_define(NVTX_RECORD(SCOPE, &record, .text = nvtx_ascii(attributes->path)));
    return record.id;
}

static void NVTX_API event_submit(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    if (domain->off)
        return;
    uint64_t now = clock_now();
    struct spool_nvtx_deferred record = {.domain = domain->number};
    nvtx_clocks_read();
    record.number = nvtx_payloads_copy(domain, now, payloads, count, NULL, NULL);
    if (record.number != 0)
        nvtx_publish(NVTX_RECORD(DEFERRED, &record, .time = now));
}

/* As many events at a time as one record holds. */
static void submit_part(const struct nvtx_domain *domain, const struct payload_schema *schema,
                        const nvtxPayloadData_t *events, uint64_t scope, const nvtxPayloadData_t *flexible)
{
    uint64_t now = clock_now();
    struct spool_nvtx_deferred record = {.scope = scope, .stride = schema->size, .domain = domain->number};
    record.number = nvtx_payloads_copy_batch(domain, now, schema, events, (size_t)schema->size, flexible);
    nvtx_publish(NVTX_RECORD(DEFERRED, &record, .time = now));
}

static void NVTX_API event_batch_submit(nvtxDomainHandle_t handle, const nvtxEventBatch_t *batch)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    const struct payload_schema *schema = batch ? nvtx_schema_find(domain->number, batch->eventSchemaId) : NULL;
    if (domain->off || !schema || schema->size == 0 || schema->size > SPOOL_NVTX_TEXT_MAX || !batch->events)
        return;
    size_t stride = (size_t)schema->size, most = SPOOL_NVTX_TEXT_MAX / stride * stride;
    size_t there = program_readable((uintptr_t)batch->events, batch->size) / stride * stride;
    const nvtxPayloadData_t flexible = {
        .schemaId = NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED, .size = batch->flexDataSize, .payload = batch->flexData};
    nvtx_clocks_read();
    for (size_t at = 0; at < there; at += most) {
        const nvtxPayloadData_t events = {.schemaId = batch->eventSchemaId,
                                          .size = there - at < most ? there - at : most,
                                          .payload = (const char *)batch->events + at};
        submit_part(domain, schema, &events, batch->scope, &flexible);
    }
}

static const struct nvtx_extension_function functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxMarkPayload, mark),
    NVTX_EXTENSION_FUNCTION(nvtxRangePushPayload, push),
    NVTX_EXTENSION_FUNCTION(nvtxRangePopPayload, pop),
    NVTX_EXTENSION_FUNCTION(nvtxRangeStartPayload, start),
    NVTX_EXTENSION_FUNCTION(nvtxRangeEndPayload, end),
    NVTX_EXTENSION_FUNCTION(nvtxDomainIsEnabled, domain_is_enabled),
    NVTX_EXTENSION_FUNCTION(nvtxScopeRegister, scope_register),
    NVTX_EXTENSION_FUNCTION(nvtxEventSubmit, event_submit),
    NVTX_EXTENSION_FUNCTION(nvtxEventBatchSubmit, event_batch_submit),
};

const struct nvtx_extension_functions nvtx_payload_functions = NVTX_EXTENSION_FUNCTIONS(functions);
