/*
 * Ranges, marks and deferred events. Every push and pop of the program comes through here, so common paths are inline,
 * and functions for a domain that is off return at once.
 */
#include "agent/dispatch/registry.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "common/clock.h"

#define INLINE static inline __attribute__((always_inline))

/* Returns an event of NVTX's FUNCTION in DOMAIN at the present time. */
static inline struct gputrace_nvtx event_of(const char *function, const struct nvtx_domain *domain)
{
    uint64_t now = clock_now();
    return (struct gputrace_nvtx){
        .call = {.start = now, .end = now, .function = function, .device = GPUTRACE_NO_DEVICE, .thread = thread_id()},
        .domain = domain->number,
        .domain_name = domain->name,
    };
}

/* Publishes an event that has only a message by the shortcut, without making a struct. Returns false if the shortcut is
 * closed. */
static inline bool published_briefly(enum spool_nvtx_what what, const struct nvtx_domain *domain, uint32_t string,
                                     struct gputrace_text message)
{
    registry_shortcut_fn *shortcut = registry_shortcut();
    if (shortcut)
        shortcut(what, domain->number, string, message);
    return shortcut != NULL;
}

/* Returns the result of NVTX's function to the program: for a push or a pop, the number of open ranges outside of its
 * own. */
INLINE nvtxRangeId_t result_of(enum spool_nvtx_what what, const struct nvtx_domain *domain)
{
    if (what == SPOOL_NVTX_MARK)
        return 0;
    int *depth = nvtx_thread_depth(domain->number);
    if (!depth)
        return (nvtxRangeId_t)NVTX_NO_PUSH_POP_TRACKING;
    if (what == SPOOL_NVTX_PUSH)
        return (nvtxRangeId_t)(*depth)++;
    return (nvtxRangeId_t)(*depth > 0 ? --*depth : -1);
}

INLINE nvtxRangeId_t publish(enum spool_nvtx_what what, const struct nvtx_domain *domain, struct gputrace_nvtx *event)
{
    static uint64_t last_range;
    switch (what) {
    case SPOOL_NVTX_MARK: registry_nvtx_mark_publish(event); break;
    case SPOOL_NVTX_PUSH: registry_nvtx_push_publish(event); break;
    case SPOOL_NVTX_POP: registry_nvtx_pop_publish(event); break;
    default:
        event->range = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
        registry_nvtx_start_publish(event);
        return event->range;
    }
    return result_of(what, domain);
}

/* Returns the result of a function for a domain that is off. */
INLINE nvtxRangeId_t result_of_none(enum spool_nvtx_what what)
{
    return what == SPOOL_NVTX_PUSH || what == SPOOL_NVTX_POP ? (nvtxRangeId_t)NVTX_NO_PUSH_POP_TRACKING : 0;
}

INLINE nvtxRangeId_t with_attributes(enum spool_nvtx_what what, const char *function, const struct nvtx_domain *domain,
                                     const nvtxEventAttributes_t *attributes)
{
    struct nvtx_text text;
    if (domain->off)
        return result_of_none(what);
    bool has_message_alone =
        attributes && NVTX_HAS(attributes, message) && attributes->category == 0 &&
        attributes->colorType == NVTX_COLOR_UNKNOWN && attributes->payloadType == NVTX_PAYLOAD_UNKNOWN &&
        (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII || attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED);
    if (what != SPOOL_NVTX_START && has_message_alone) {
        uint32_t string;
        struct gputrace_text message = nvtx_message(attributes->messageType, attributes->message, NULL, &string);
        if (published_briefly(what, domain, string, message))
            return result_of(what, domain);
    }
    struct gputrace_nvtx event = event_of(function, domain);
    nvtx_read_attributes(attributes, &event, &text);
    return publish(what, domain, &event);
}

INLINE nvtxRangeId_t with_text(enum spool_nvtx_what what, const char *function, struct gputrace_text message,
                               bool is_wide)
{
    if (what != SPOOL_NVTX_START && !is_wide && published_briefly(what, &nvtx_default_domain, 0, message))
        return result_of(what, &nvtx_default_domain);
    struct gputrace_nvtx event = event_of(function, &nvtx_default_domain);
    event.message = message;
    return publish(what, &nvtx_default_domain, &event);
}

/* Publishes an event given only by payloads, which contain its message, category and colour. */
static nvtxRangeId_t with_payloads(enum spool_nvtx_what what, const char *function, nvtxDomainHandle_t handle,
                                   nvtxRangeId_t range, const nvtxPayloadData_t *payloads, size_t count)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text text;
    if (domain->off)
        return result_of_none(what);
    struct gputrace_nvtx event = event_of(function, domain);
    event.payload = nvtx_payloads_copy(domain, event.call.end, payloads, count, &event, &text);
    event.payload_type = event.payload ? SPOOL_NVTX_PAYLOAD_PIECES : 0;
    if (what != SPOOL_NVTX_END)
        return publish(what, domain, &event);
    event.range = range;
    registry_nvtx_end_publish(&event);
    return 0;
}

/* Defines all forms of one of NVTX's functions. RESULT is `return (type)`, or a cast to void. */
#define PAYLOAD_FORM(type, RESULT, name, what)                                                                      \
    static type NVTX_API name##_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count) \
    {                                                                                                               \
        RESULT with_payloads((what), "nvtx" #name "Payload", domain, 0, payloads, count);                           \
    }
#define ALL_FORMS(type, RESULT, name, what)                                                                   \
    static type NVTX_API Domain##name##Ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes) \
    {                                                                                                         \
        RESULT with_attributes((what), "nvtxDomain" #name "Ex", nvtx_domain_ours(domain), attributes);        \
    }                                                                                                         \
    static type NVTX_API name##Ex(const nvtxEventAttributes_t *attributes)                                    \
    {                                                                                                         \
        RESULT with_attributes((what), "nvtx" #name "Ex", &nvtx_default_domain, attributes);                  \
    }                                                                                                         \
    static type NVTX_API name##A(const char *message)                                                         \
    {                                                                                                         \
        RESULT with_text((what), "nvtx" #name "A", text_of(message), false);                                  \
    }                                                                                                         \
    static type NVTX_API name##W(const wchar_t *message)                                                      \
    {                                                                                                         \
        struct nvtx_text text;                                                                                \
        RESULT with_text((what), "nvtx" #name "W", nvtx_wide(&text, message), true);                          \
    }                                                                                                         \
    /* Used where the default domain is off: only its first use is published. */                              \
    static type NVTX_API name##_left_out(const void *unused)                                                  \
    {                                                                                                         \
        (void)unused;                                                                                         \
        nvtx_default_domain_left_out();                                                                       \
        RESULT result_of_none(what);                                                                          \
    }                                                                                                         \
    PAYLOAD_FORM(type, RESULT, name, what)

ALL_FORMS(void, (void), Mark, SPOOL_NVTX_MARK)
ALL_FORMS(int, return (int), RangePush, SPOOL_NVTX_PUSH)
ALL_FORMS(nvtxRangeId_t, return, RangeStart, SPOOL_NVTX_START)
PAYLOAD_FORM(int, return (int), RangePop, SPOOL_NVTX_POP)

INLINE int popped(const char *function, const struct nvtx_domain *domain)
{
    if (domain->off)
        return NVTX_NO_PUSH_POP_TRACKING;
    if (!published_briefly(SPOOL_NVTX_POP, domain, 0, (struct gputrace_text){0}) && registry_nvtx_pop_wanted()) {
        struct gputrace_nvtx event = event_of(function, domain);
        registry_nvtx_pop_publish(&event);
    }
    return (int)result_of(SPOOL_NVTX_POP, domain);
}

#define POP(name, domain, ...)               \
    static int NVTX_API name(__VA_ARGS__)    \
    {                                        \
        return popped("nvtx" #name, domain); \
    }
POP(RangePop, &nvtx_default_domain, void)
POP(DomainRangePop, nvtx_domain_ours(domain), nvtxDomainHandle_t domain)

/* Publishes the end of a range. It may be of another domain, even one that is off, because some programs end all ranges
 * with nvtxRangeEnd(). A range of a domain that is off is 0. */
static void ended(const char *function, const struct nvtx_domain *domain, nvtxRangeId_t range)
{
    if (range == 0)
        return;
    struct gputrace_nvtx event = event_of(function, domain);
    event.range = range;
    registry_nvtx_end_publish(&event);
}

#define END(name, domain, ...)              \
    static void NVTX_API name(__VA_ARGS__)  \
    {                                       \
        ended("nvtx" #name, domain, range); \
    }
END(RangeEnd, &nvtx_default_domain, nvtxRangeId_t range)
END(DomainRangeEnd, nvtx_domain_ours(domain), nvtxDomainHandle_t domain, nvtxRangeId_t range)

static void NVTX_API RangeEnd_payload(nvtxDomainHandle_t domain, nvtxRangeId_t range, const nvtxPayloadData_t *payloads,
                                      size_t count)
{
    if (range != 0)
        with_payloads(SPOOL_NVTX_END, "nvtxRangeEndPayload", domain, range, payloads, count);
}

const struct nvtx_function nvtx_default_events[] = {
    NVTX_FUNCTION(CORE, MarkEx, MarkEx),
    NVTX_FUNCTION(CORE, MarkA, MarkA),
    NVTX_FUNCTION(CORE, MarkW, MarkW),
    NVTX_FUNCTION(CORE, RangeStartEx, RangeStartEx),
    NVTX_FUNCTION(CORE, RangeStartA, RangeStartA),
    NVTX_FUNCTION(CORE, RangeStartW, RangeStartW),
    NVTX_FUNCTION(CORE, RangePushEx, RangePushEx),
    NVTX_FUNCTION(CORE, RangePushA, RangePushA),
    NVTX_FUNCTION(CORE, RangePushW, RangePushW),
    NVTX_FUNCTION(CORE, RangePop, RangePop),
    {0},
};

const struct nvtx_function nvtx_left_out_events[] = {
    NVTX_FUNCTION(CORE, MarkEx, Mark_left_out),
    NVTX_FUNCTION(CORE, MarkA, Mark_left_out),
    NVTX_FUNCTION(CORE, MarkW, Mark_left_out),
    NVTX_FUNCTION(CORE, RangeStartEx, RangeStart_left_out),
    NVTX_FUNCTION(CORE, RangeStartA, RangeStart_left_out),
    NVTX_FUNCTION(CORE, RangeStartW, RangeStart_left_out),
    NVTX_FUNCTION(CORE, RangePushEx, RangePush_left_out),
    NVTX_FUNCTION(CORE, RangePushA, RangePush_left_out),
    NVTX_FUNCTION(CORE, RangePushW, RangePush_left_out),
    {0},
};

const struct nvtx_function nvtx_domain_events[] = {
    NVTX_FUNCTION(CORE, RangeEnd, RangeEnd), /* also ends ranges of other domains */
    NVTX_FUNCTION(CORE2, DomainMarkEx, DomainMarkEx),
    NVTX_FUNCTION(CORE2, DomainRangeStartEx, DomainRangeStartEx),
    NVTX_FUNCTION(CORE2, DomainRangeEnd, DomainRangeEnd),
    NVTX_FUNCTION(CORE2, DomainRangePushEx, DomainRangePushEx),
    NVTX_FUNCTION(CORE2, DomainRangePop, DomainRangePop),
    {0},
};

/* --- deferred events, which the program submits with their times, and the scopes they come from --- */

static uint8_t NVTX_API domain_is_enabled(nvtxDomainHandle_t handle)
{
    return !nvtx_domain_ours(handle)->off;
}

static uint64_t NVTX_API scope_register(nvtxDomainHandle_t handle, const nvtxScopeAttr_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    if (!attributes || domain->off || attributes->structSize < sizeof(*attributes))
        return NVTX_SCOPE_NONE;
    struct spool_nvtx_scope record = {
        .id = nvtx_definition_id(attributes->scopeId), .parent = attributes->parentScope, .domain = domain->number};
    nvtx_define(NVTX_RECORD(SCOPE, &record, .text = text_of(attributes->path)));
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

static void NVTX_API event_batch_submit(nvtxDomainHandle_t handle, const nvtxEventBatch_t *batch)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    const struct payload_schema *schema = batch ? nvtx_schema_find(domain->number, batch->eventSchemaId) : NULL;
    if (domain->off || !schema || schema->size == 0 || schema->size > SPOOL_NVTX_TEXT_MAX || !batch->events)
        return;
    size_t stride = (size_t)schema->size, most = SPOOL_NVTX_TEXT_MAX / stride * stride; /* bytes in one record */
    size_t there = program_readable((uintptr_t)batch->events, batch->size) / stride * stride;
    const nvtxPayloadData_t flexible = {
        .schemaId = NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED, .size = batch->flexDataSize, .payload = batch->flexData};
    nvtx_clocks_read();
    for (size_t at = 0; at < there; at += most) {
        const nvtxPayloadData_t events = {.schemaId = batch->eventSchemaId,
                                          .size = there - at < most ? there - at : most,
                                          .payload = (const char *)batch->events + at};
        uint64_t now = clock_now();
        struct spool_nvtx_deferred record = {.scope = batch->scope, .stride = stride, .domain = domain->number};
        record.number = nvtx_payloads_copy_batch(domain, now, schema, &events, stride, &flexible);
        nvtx_publish(NVTX_RECORD(DEFERRED, &record, .time = now));
    }
}

const struct nvtx_function nvtx_payload_functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxMarkPayload, Mark_payload),
    NVTX_EXTENSION_FUNCTION(nvtxRangePushPayload, RangePush_payload),
    NVTX_EXTENSION_FUNCTION(nvtxRangePopPayload, RangePop_payload),
    NVTX_EXTENSION_FUNCTION(nvtxRangeStartPayload, RangeStart_payload),
    NVTX_EXTENSION_FUNCTION(nvtxRangeEndPayload, RangeEnd_payload),
    NVTX_EXTENSION_FUNCTION(nvtxDomainIsEnabled, domain_is_enabled),
    NVTX_EXTENSION_FUNCTION(nvtxScopeRegister, scope_register),
    NVTX_EXTENSION_FUNCTION(nvtxEventSubmit, event_submit),
    NVTX_EXTENSION_FUNCTION(nvtxEventBatchSubmit, event_batch_submit),
    {0},
};
