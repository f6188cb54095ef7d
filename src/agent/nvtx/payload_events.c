/*
 * Ranges and marks that are told with payloads alone: what they are called and look like stands in the payloads.
 */
#include "common/clock.h"
#include "agent/nvtx/extensions.h"
#include "agent/nvtx/pieces.h"
#include "agent/nvtx/thread.h"
#include "agent/dispatch/registry.h"
#include "agent/dispatch/thread_id.h"

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
    event.payload = nvtx_pieces_tell(domain, now, payloads, count, &event, room);
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

static const struct nvtx_extension_function functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxMarkPayload, mark),    NVTX_EXTENSION_FUNCTION(nvtxRangePushPayload, push),
    NVTX_EXTENSION_FUNCTION(nvtxRangePopPayload, pop), NVTX_EXTENSION_FUNCTION(nvtxRangeStartPayload, start),
    NVTX_EXTENSION_FUNCTION(nvtxRangeEndPayload, end), NVTX_EXTENSION_FUNCTION(nvtxDomainIsEnabled, domain_is_enabled),
};

const struct nvtx_extension_functions nvtx_payload_functions = NVTX_EXTENSION_FUNCTIONS(functions);
