/*
 * Ranges and marks. Every push and pop of the program comes through here, so what all have in common is inline, and a
 * domain that is off is left at once.
 */
#include <stddef.h>

#include "base/clock.h"
#include "injected/nvtx/domains.h"
#include "injected/nvtx/functions.h"
#include "injected/nvtx/message.h"
#include "injected/nvtx/thread.h"
#include "injected/registry/registry.h"
#include "injected/registry/thread_id.h"

static uint64_t last_range;

/* What FUNCTION tells of a domain, now. */
static inline struct gputrace_nvtx event_of(const char *function, const struct nvtx_domain *domain)
{
    uint64_t now = clock_now();
    return (struct gputrace_nvtx){
        .call = {.start = now, .end = now, .function = function, .device = GPUTRACE_NO_DEVICE, .thread = thread_id()},
        .domain = domain->number,
        .domain_name = domain->name,
    };
}

static int pushed(const struct gputrace_nvtx *event)
{
    registry_nvtx_push_publish(event);
    int *depth = nvtx_thread_depth(event->domain);
    return depth ? (*depth)++ : NVTX_NO_PUSH_POP_TRACKING;
}

static int popped(const char *function, const struct nvtx_domain *domain)
{
    if (domain->off)
        return NVTX_NO_PUSH_POP_TRACKING;
    struct gputrace_nvtx event = event_of(function, domain);
    registry_nvtx_pop_publish(&event);
    int *depth = nvtx_thread_depth(event.domain);
    if (!depth)
        return NVTX_NO_PUSH_POP_TRACKING;
    return *depth > 0 ? --*depth : -1;
}

static nvtxRangeId_t started(struct gputrace_nvtx *event)
{
    event->range = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
    registry_nvtx_start_publish(event);
    return event->range;
}

/* Whatever its domain is: some end all their ranges with nvtxRangeEnd(). 0 is what a domain that is off gives. */
static void ended(const char *function, const struct nvtx_domain *domain, nvtxRangeId_t range)
{
    if (range == 0)
        return;
    struct gputrace_nvtx event = event_of(function, domain);
    event.range = range;
    registry_nvtx_end_publish(&event);
}

static void marked(const struct gputrace_nvtx *event)
{
    registry_nvtx_mark_publish(event);
}

/* What an event is told with: attributes, a text, a wide text. CALL tells `&event` and returns what the function does;
 * OFF is what it gives for a domain that is off. */
#define WITH_ATTRIBUTES(type, function, name, call, off_value)                                                      \
    static type NVTX_API domain_##function##_ex(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attributes) \
    {                                                                                                               \
        const struct nvtx_domain *domain = nvtx_domain_ours(handle);                                                \
        struct nvtx_text room;                                                                                      \
        if (domain->off)                                                                                            \
            return off_value;                                                                                       \
        struct gputrace_nvtx event = event_of("nvtxDomain" name "Ex", domain);                                      \
        nvtx_read_attributes(attributes, &event, &room);                                                            \
        call;                                                                                                       \
    }                                                                                                               \
    static type NVTX_API function##_ex(const nvtxEventAttributes_t *attributes)                                     \
    {                                                                                                               \
        struct nvtx_text room;                                                                                      \
        struct gputrace_nvtx event = event_of("nvtx" name "Ex", &nvtx_default_domain);                              \
        nvtx_read_attributes(attributes, &event, &room);                                                            \
        call;                                                                                                       \
    }
#define WITH_TEXT(type, function, name, call)                                         \
    static type NVTX_API function##_a(const char *message)                            \
    {                                                                                 \
        struct gputrace_nvtx event = event_of("nvtx" name "A", &nvtx_default_domain); \
        event.message = nvtx_ascii(message);                                          \
        call;                                                                         \
    }                                                                                 \
    static type NVTX_API function##_w(const wchar_t *message)                         \
    {                                                                                 \
        struct nvtx_text room;                                                        \
        struct gputrace_nvtx event = event_of("nvtx" name "W", &nvtx_default_domain); \
        event.message = nvtx_wide(&room, message);                                    \
        call;                                                                         \
    }
#define EVENT(type, function, name, call, off_value)       \
    WITH_ATTRIBUTES(type, function, name, call, off_value) \
    WITH_TEXT(type, function, name, call)

EVENT(void, mark, "Mark", marked(&event), )
EVENT(int, range_push, "RangePush", return pushed(&event), NVTX_NO_PUSH_POP_TRACKING)
EVENT(nvtxRangeId_t, range_start, "RangeStart", return started(&event), 0)

static int NVTX_API range_pop(void)
{
    return popped("nvtxRangePop", &nvtx_default_domain);
}

static int NVTX_API domain_range_pop(nvtxDomainHandle_t domain)
{
    return popped("nvtxDomainRangePop", nvtx_domain_ours(domain));
}

static void NVTX_API range_end(nvtxRangeId_t range)
{
    ended("nvtxRangeEnd", &nvtx_default_domain, range);
}

static void NVTX_API domain_range_end(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    ended("nvtxDomainRangeEnd", nvtx_domain_ours(domain), range);
}

static const struct nvtx_function default_events[] = {
    NVTX_FUNCTION(CORE, MarkEx, mark_ex),
    NVTX_FUNCTION(CORE, MarkA, mark_a),
    NVTX_FUNCTION(CORE, MarkW, mark_w),
    NVTX_FUNCTION(CORE, RangeStartEx, range_start_ex),
    NVTX_FUNCTION(CORE, RangeStartA, range_start_a),
    NVTX_FUNCTION(CORE, RangeStartW, range_start_w),
    NVTX_FUNCTION(CORE, RangePushEx, range_push_ex),
    NVTX_FUNCTION(CORE, RangePushA, range_push_a),
    NVTX_FUNCTION(CORE, RangePushW, range_push_w),
    NVTX_FUNCTION(CORE, RangePop, range_pop),
};

static const struct nvtx_function domain_events[] = {
    NVTX_FUNCTION(CORE, RangeEnd, range_end),
    NVTX_FUNCTION(CORE2, DomainMarkEx, domain_mark_ex),
    NVTX_FUNCTION(CORE2, DomainRangeStartEx, domain_range_start_ex),
    NVTX_FUNCTION(CORE2, DomainRangeEnd, domain_range_end),
    NVTX_FUNCTION(CORE2, DomainRangePushEx, domain_range_push_ex),
    NVTX_FUNCTION(CORE2, DomainRangePop, domain_range_pop),
};

const struct nvtx_functions nvtx_default_events = NVTX_FUNCTIONS(default_events);
const struct nvtx_functions nvtx_domain_events = NVTX_FUNCTIONS(domain_events);
