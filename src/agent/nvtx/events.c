/*
 * Ranges and marks. Every push and pop of the program comes through here, so what all have in common is inline, and a
 * domain that is off is left at once.
 */
#include <stddef.h>

#include "common/clock.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "agent/nvtx/payload_copy.h"
#include "agent/dispatch/registry.h"
#include "agent/dispatch/fork_watch.h"

static uint64_t last_range;

/* An event of FUNCTION in DOMAIN, now. */
static inline struct gputrace_nvtx event_of(const char *function, const struct nvtx_domain *domain)
{
    uint64_t now = clock_now();
    return (struct gputrace_nvtx){
        .call = {.start = now, .end = now, .function = function, .device = GPUTRACE_NO_DEVICE, .thread = thread_id()},
        .domain = domain->number,
        .domain_name = domain->name,
    };
}

/* What is no more than a message need not become an event when the shortcut is open. False: it is not. */
static inline bool published_briefly(enum spool_nvtx_what what, const struct nvtx_domain *domain, uint32_t string,
                                     struct gputrace_text message)
{
    registry_shortcut_fn *shortcut = registry_shortcut();
    if (shortcut)
        shortcut(what, domain->number, string, message);
    return shortcut != NULL;
}

static inline int one_deeper(uint32_t domain)
{
    int *depth = nvtx_thread_depth(domain);
    return depth ? (*depth)++ : NVTX_NO_PUSH_POP_TRACKING;
}

static inline int one_less_deep(uint32_t domain)
{
    int *depth = nvtx_thread_depth(domain);
    if (!depth)
        return NVTX_NO_PUSH_POP_TRACKING;
    return *depth > 0 ? --*depth : -1;
}

static int pushed(struct gputrace_nvtx *event)
{
    registry_nvtx_push_publish(event);
    return one_deeper(event->domain);
}

static inline int popped(const char *function, const struct nvtx_domain *domain)
{
    if (domain->off)
        return NVTX_NO_PUSH_POP_TRACKING;
    if (!published_briefly(SPOOL_NVTX_POP, domain, 0, (struct gputrace_text){0}) && registry_nvtx_pop_wanted()) {
        struct gputrace_nvtx event = event_of(function, domain);
        registry_nvtx_pop_publish(&event);
    }
    return one_less_deep(domain->number);
}

static nvtxRangeId_t started(struct gputrace_nvtx *event)
{
    event->range = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
    registry_nvtx_start_publish(event);
    return event->range;
}

/* Whatever its domain is: some end all their ranges with nvtxRangeEnd(). A domain that is off returns 0. */
static void ended(const char *function, const struct nvtx_domain *domain, nvtxRangeId_t range)
{
    if (range == 0)
        return;
    struct gputrace_nvtx event = event_of(function, domain);
    event.range = range;
    registry_nvtx_end_publish(&event);
}

static void marked(struct gputrace_nvtx *event)
{
    registry_nvtx_mark_publish(event);
}

/* What an event is told with: attributes, a text, a wide text. BRIEF tells `message`, which may have a number as a
 * `string`, where that is all and the shortcut is open, and returns; WHOLE tells `&event` and returns what the function
 * does. OFF is what it gives for a domain that is off. */
#define WITH_ATTRIBUTES(type, function, name, brief, whole, off_value)                                                \
    static type NVTX_API domain_##function##_ex(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attributes)   \
    {                                                                                                                 \
        const struct nvtx_domain *domain = nvtx_domain_ours(handle);                                                  \
        if (domain->off)                                                                                              \
            return off_value;                                                                                         \
        if (nvtx_is_message_alone(attributes)) {                                                                      \
            uint32_t string;                                                                                          \
            struct gputrace_text message = nvtx_message(attributes->messageType, attributes->message, NULL, &string); \
            brief;                                                                                                    \
        }                                                                                                             \
        struct nvtx_text room;                                                                                        \
        struct gputrace_nvtx event = event_of("nvtxDomain" name "Ex", domain);                                        \
        nvtx_read_attributes(attributes, &event, &room);                                                              \
        whole;                                                                                                        \
    }                                                                                                                 \
    static type NVTX_API function##_ex(const nvtxEventAttributes_t *attributes)                                       \
    {                                                                                                                 \
        struct nvtx_text room;                                                                                        \
        struct gputrace_nvtx event = event_of("nvtx" name "Ex", &nvtx_default_domain);                                \
        nvtx_read_attributes(attributes, &event, &room);                                                              \
        whole;                                                                                                        \
    }
#define WITH_TEXT(type, function, name, brief, whole)                                 \
    static type NVTX_API function##_a(const char *text)                               \
    {                                                                                 \
        const struct nvtx_domain *domain = &nvtx_default_domain;                      \
        struct gputrace_text message = nvtx_ascii(text);                              \
        uint32_t string = 0;                                                          \
        brief;                                                                        \
        struct gputrace_nvtx event = event_of("nvtx" name "A", domain);               \
        event.message = message;                                                      \
        event.string = string;                                                        \
        whole;                                                                        \
    }                                                                                 \
    static type NVTX_API function##_w(const wchar_t *message)                         \
    {                                                                                 \
        struct nvtx_text room;                                                        \
        struct gputrace_nvtx event = event_of("nvtx" name "W", &nvtx_default_domain); \
        event.message = nvtx_wide(&room, message);                                    \
        whole;                                                                        \
    }
#define EVENT(type, function, name, brief, whole, off_value)       \
    WITH_ATTRIBUTES(type, function, name, brief, whole, off_value) \
    WITH_TEXT(type, function, name, brief, whole)

#define MARK_BRIEFLY                                                 \
    if (published_briefly(SPOOL_NVTX_MARK, domain, string, message)) \
    return
#define PUSH_BRIEFLY                                                 \
    if (published_briefly(SPOOL_NVTX_PUSH, domain, string, message)) \
    return one_deeper(domain->number)
#define START_WHOLE /* it has a number to be told as well */ \
    (void)message;                                           \
    (void)string

EVENT(void, mark, "Mark", MARK_BRIEFLY, marked(&event), )
EVENT(int, range_push, "RangePush", PUSH_BRIEFLY, return pushed(&event), NVTX_NO_PUSH_POP_TRACKING)
EVENT(nvtxRangeId_t, range_start, "RangeStart", START_WHOLE, return started(&event), 0)

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

/* Where the default domain is off: its first use is published, and nothing else. */
#define LEFT_OUT(type, function, attributes, off_value)         \
    static type NVTX_API left_out_##function(attributes unused) \
    {                                                           \
        (void)unused;                                           \
        nvtx_default_domain_left_out();                         \
        return off_value;                                       \
    }
#define LEFT_OUT_EACH(type, function, off_value)                            \
    LEFT_OUT(type, function##_ex, const nvtxEventAttributes_t *, off_value) \
    LEFT_OUT(type, function##_a, const char *, off_value)                   \
    LEFT_OUT(type, function##_w, const wchar_t *, off_value)
LEFT_OUT_EACH(void, mark, )
LEFT_OUT_EACH(int, range_push, NVTX_NO_PUSH_POP_TRACKING)
LEFT_OUT_EACH(nvtxRangeId_t, range_start, 0)

static const struct nvtx_function left_out_events[] = {
    NVTX_FUNCTION(CORE, MarkEx, left_out_mark_ex),
    NVTX_FUNCTION(CORE, MarkA, left_out_mark_a),
    NVTX_FUNCTION(CORE, MarkW, left_out_mark_w),
    NVTX_FUNCTION(CORE, RangeStartEx, left_out_range_start_ex),
    NVTX_FUNCTION(CORE, RangeStartA, left_out_range_start_a),
    NVTX_FUNCTION(CORE, RangeStartW, left_out_range_start_w),
    NVTX_FUNCTION(CORE, RangePushEx, left_out_range_push_ex),
    NVTX_FUNCTION(CORE, RangePushA, left_out_range_push_a),
    NVTX_FUNCTION(CORE, RangePushW, left_out_range_push_w),
};

const struct nvtx_functions nvtx_default_events = NVTX_FUNCTIONS(default_events);
const struct nvtx_functions nvtx_left_out_events = NVTX_FUNCTIONS(left_out_events);
const struct nvtx_functions nvtx_domain_events = NVTX_FUNCTIONS(domain_events);
