/*
 * Deferred events, which bring their times with them, and the scopes they come from.
 */
#include "common/clock.h"
#include "agent/nvtx/clocks.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/extensions.h"
#include "agent/nvtx/pieces.h"
#include "agent/nvtx/program_memory.h"
#include "agent/nvtx/schemas.h"

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
    record.number = nvtx_pieces_tell(domain, now, payloads, count, NULL, NULL);
    if (record.number != 0)
        nvtx_tell(NVTX_RECORD(DEFERRED, &record, .time = now));
}

/* As many events at a time as one record holds. */
static void submit_part(const struct nvtx_domain *domain, const struct payload_schema *schema,
                        const nvtxPayloadData_t *events, uint64_t scope, const nvtxPayloadData_t *flexible)
{
    uint64_t now = clock_now();
    struct spool_nvtx_deferred record = {.scope = scope, .stride = schema->size, .domain = domain->number};
    record.number = nvtx_pieces_tell_batch(domain, now, schema, events, (size_t)schema->size, flexible);
    nvtx_tell(NVTX_RECORD(DEFERRED, &record, .time = now));
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
    NVTX_EXTENSION_FUNCTION(nvtxScopeRegister, scope_register),
    NVTX_EXTENSION_FUNCTION(nvtxEventSubmit, event_submit),
    NVTX_EXTENSION_FUNCTION(nvtxEventBatchSubmit, event_batch_submit),
};

const struct nvtx_extension_functions nvtx_deferred_functions = NVTX_EXTENSION_FUNCTIONS(functions);
