#include "injected/collect/nvtx.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include "base/clock.h"
#include "injected/collect/cupti_callbacks.h"
#include "injected/collect/nvtx_domains.h"
#include "injected/collect/nvtx_message.h"
#include "injected/registry/registry.h"

/* Depth of push/pop per thread and domain, which NVTX's callers get back. Domains beyond have no depth told. */
#define DEPTH_DOMAINS 32u
static __thread int depths[DEPTH_DOMAINS];

static uint64_t last_range;

static int *depth_of(uint32_t domain)
{
    return domain < DEPTH_DOMAINS ? &depths[domain] : NULL;
}

static void publish(enum spool_nvtx_what what, struct nvtx_event *event)
{
    event->what = what;
    event->time = clock_now();
    registry_nvtx_publish(event);
}

static int pushed(struct nvtx_event *event)
{
    publish(SPOOL_NVTX_PUSH, event);
    int *depth = depth_of(event->domain);
    return depth ? (*depth)++ : NVTX_NO_PUSH_POP_TRACKING;
}

static int popped(uint32_t domain)
{
    struct nvtx_event event = {.domain = domain};
    publish(SPOOL_NVTX_POP, &event);
    int *depth = depth_of(domain);
    if (!depth)
        return NVTX_NO_PUSH_POP_TRACKING;
    return *depth > 0 ? --*depth : -1;
}

static nvtxRangeId_t started(struct nvtx_event *event)
{
    event->range = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
    publish(SPOOL_NVTX_START, event);
    return event->range;
}

static struct nvtx_domain *ours(nvtxDomainHandle_t domain)
{
    return (struct nvtx_domain *)domain;
}

/* --- events --- */

static void NVTX_API domain_mark_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    struct nvtx_text room;
    struct nvtx_event event = {.domain = nvtx_domain_number(ours(domain))};
    nvtx_read_attributes(attributes, &event, &room);
    publish(SPOOL_NVTX_MARK, &event);
}

static nvtxRangeId_t NVTX_API domain_range_start_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    struct nvtx_text room;
    struct nvtx_event event = {.domain = nvtx_domain_number(ours(domain))};
    nvtx_read_attributes(attributes, &event, &room);
    return started(&event);
}

static void NVTX_API domain_range_end(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    struct nvtx_event event = {.domain = nvtx_domain_number(ours(domain)), .range = range};
    publish(SPOOL_NVTX_END, &event);
}

static int NVTX_API domain_range_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    struct nvtx_text room;
    struct nvtx_event event = {.domain = nvtx_domain_number(ours(domain))};
    nvtx_read_attributes(attributes, &event, &room);
    return pushed(&event);
}

static int NVTX_API domain_range_pop(nvtxDomainHandle_t domain)
{
    return popped(nvtx_domain_number(ours(domain)));
}

static void NVTX_API mark_ex(const nvtxEventAttributes_t *attributes)
{
    domain_mark_ex(NULL, attributes);
}

static void NVTX_API mark_a(const char *message)
{
    struct nvtx_event event = {.message = nvtx_ascii(message)};
    publish(SPOOL_NVTX_MARK, &event);
}

static void NVTX_API mark_w(const wchar_t *message)
{
    struct nvtx_text room;
    struct nvtx_event event = {.message = nvtx_wide(&room, message)};
    publish(SPOOL_NVTX_MARK, &event);
}

static nvtxRangeId_t NVTX_API range_start_ex(const nvtxEventAttributes_t *attributes)
{
    return domain_range_start_ex(NULL, attributes);
}

static nvtxRangeId_t NVTX_API range_start_a(const char *message)
{
    struct nvtx_event event = {.message = nvtx_ascii(message)};
    return started(&event);
}

static nvtxRangeId_t NVTX_API range_start_w(const wchar_t *message)
{
    struct nvtx_text room;
    struct nvtx_event event = {.message = nvtx_wide(&room, message)};
    return started(&event);
}

static void NVTX_API range_end(nvtxRangeId_t range)
{
    domain_range_end(NULL, range);
}

static int NVTX_API range_push_ex(const nvtxEventAttributes_t *attributes)
{
    return domain_range_push_ex(NULL, attributes);
}

static int NVTX_API range_push_a(const char *message)
{
    struct nvtx_event event = {.message = nvtx_ascii(message)};
    return pushed(&event);
}

static int NVTX_API range_push_w(const wchar_t *message)
{
    struct nvtx_text room;
    struct nvtx_event event = {.message = nvtx_wide(&room, message)};
    return pushed(&event);
}

static int NVTX_API range_pop(void)
{
    return popped(0);
}

/* --- domains, strings, names --- */

static nvtxDomainHandle_t NVTX_API domain_create_a(const char *name)
{
    return (nvtxDomainHandle_t)nvtx_domain_of(nvtx_ascii(name));
}

static nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t *name)
{
    struct nvtx_text room;
    return (nvtxDomainHandle_t)nvtx_domain_of(nvtx_wide(&room, name));
}

static void NVTX_API domain_destroy(nvtxDomainHandle_t domain)
{
    (void)domain; /* events that name it may still be on their way: it stays */
}

static nvtxStringHandle_t NVTX_API domain_register_string_a(nvtxDomainHandle_t domain, const char *string)
{
    return (nvtxStringHandle_t)nvtx_string_of(ours(domain), nvtx_ascii(string));
}

static nvtxStringHandle_t NVTX_API domain_register_string_w(nvtxDomainHandle_t domain, const wchar_t *string)
{
    struct nvtx_text room;
    return (nvtxStringHandle_t)nvtx_string_of(ours(domain), nvtx_wide(&room, string));
}

static void name_category(uint32_t domain, uint32_t category, struct text name)
{
    registry_nvtx_name_publish(
        &(struct nvtx_name_event){.named = NVTX_NAMED_CATEGORY, .domain = domain, .number = category, .text = name});
}

static void NVTX_API domain_name_category_a(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    name_category(nvtx_domain_number(ours(domain)), category, nvtx_ascii(name));
}

static void NVTX_API domain_name_category_w(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name)
{
    struct nvtx_text room;
    name_category(nvtx_domain_number(ours(domain)), category, nvtx_wide(&room, name));
}

static void NVTX_API name_category_a(uint32_t category, const char *name)
{
    name_category(0, category, nvtx_ascii(name));
}

static void NVTX_API name_category_w(uint32_t category, const wchar_t *name)
{
    struct nvtx_text room;
    name_category(0, category, nvtx_wide(&room, name));
}

static void name_thread(uint32_t thread, struct text name)
{
    registry_nvtx_name_publish(&(struct nvtx_name_event){.named = NVTX_NAMED_THREAD, .number = thread, .text = name});
}

static void NVTX_API name_os_thread_a(uint32_t thread, const char *name)
{
    name_thread(thread, nvtx_ascii(name));
}

static void NVTX_API name_os_thread_w(uint32_t thread, const wchar_t *name)
{
    struct nvtx_text room;
    name_thread(thread, nvtx_wide(&room, name));
}

static void name_object(enum spool_nvtx_object what, uint64_t object, struct text name)
{
    uint32_t stream = what == SPOOL_NVTX_STREAM ? cupti_stream_id(0, object) : SPOOL_NO_STREAM;
    registry_nvtx_name_publish(&(struct nvtx_name_event){
        .named = NVTX_NAMED_OBJECT, .what = what, .object = object, .stream = stream, .text = name});
}

/* Namers of CUDA's objects, which differ only in the type of the object. */
#define NAMER(function, type, what)                                     \
    static void NVTX_API function##_a(type object, const char *name)    \
    {                                                                   \
        name_object((what), (uint64_t)object, nvtx_ascii(name));        \
    }                                                                   \
    static void NVTX_API function##_w(type object, const wchar_t *name) \
    {                                                                   \
        struct nvtx_text room;                                          \
        name_object((what), (uint64_t)object, nvtx_wide(&room, name));  \
    }
NAMER(name_device, int, SPOOL_NVTX_DEVICE)
NAMER(name_context, uintptr_t, SPOOL_NVTX_CONTEXT)
NAMER(name_stream, uintptr_t, SPOOL_NVTX_STREAM)
NAMER(name_cuda_event, uintptr_t, SPOOL_NVTX_CUDA_EVENT)

static enum spool_nvtx_object object_of_resource(uint32_t type)
{
    switch (type) {
    case NVTX_RESOURCE_TYPE_CUDA_DEVICE:
    case NVTX_RESOURCE_TYPE_CUDART_DEVICE: return SPOOL_NVTX_DEVICE;
    case NVTX_RESOURCE_TYPE_CUDA_CONTEXT: return SPOOL_NVTX_CONTEXT;
    case NVTX_RESOURCE_TYPE_CUDA_STREAM:
    case NVTX_RESOURCE_TYPE_CUDART_STREAM: return SPOOL_NVTX_STREAM;
    case NVTX_RESOURCE_TYPE_CUDA_EVENT:
    case NVTX_RESOURCE_TYPE_CUDART_EVENT: return SPOOL_NVTX_CUDA_EVENT;
    default: return SPOOL_NVTX_RESOURCE;
    }
}

static nvtxResourceHandle_t NVTX_API domain_resource_create(nvtxDomainHandle_t domain,
                                                            nvtxResourceAttributes_t *attributes)
{
    (void)domain;
    struct nvtx_text room;
    struct nvtx_event read = {0};
    if (!attributes)
        return NULL;
    nvtxEventAttributes_t message = {
        .size = sizeof(message), .messageType = attributes->messageType, .message = attributes->message};
    nvtx_read_attributes(&message, &read, &room);
    uint64_t object = attributes->identifier.ullValue;
    if (attributes->identifierType == NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE)
        name_thread((uint32_t)object, read.message);
    else
        name_object(object_of_resource((uint32_t)attributes->identifierType), object, read.message);
    return (nvtxResourceHandle_t)(uintptr_t)1; /* it is only ever handed to resource_destroy */
}

static void NVTX_API domain_resource_destroy(nvtxResourceHandle_t resource)
{
    (void)resource;
}

static void NVTX_API initialize(const void *reserved)
{
    (void)reserved;
}

/* --- the tables --- */

struct entry {
    unsigned id;
    NvtxFunctionPointer function;
};

#define ENTRY(id, function)                   \
    {                                         \
        (id), (NvtxFunctionPointer)(function) \
    }

static const struct entry core[] = {
    ENTRY(NVTX_CBID_CORE_MarkEx, mark_ex),
    ENTRY(NVTX_CBID_CORE_MarkA, mark_a),
    ENTRY(NVTX_CBID_CORE_MarkW, mark_w),
    ENTRY(NVTX_CBID_CORE_RangeStartEx, range_start_ex),
    ENTRY(NVTX_CBID_CORE_RangeStartA, range_start_a),
    ENTRY(NVTX_CBID_CORE_RangeStartW, range_start_w),
    ENTRY(NVTX_CBID_CORE_RangeEnd, range_end),
    ENTRY(NVTX_CBID_CORE_RangePushEx, range_push_ex),
    ENTRY(NVTX_CBID_CORE_RangePushA, range_push_a),
    ENTRY(NVTX_CBID_CORE_RangePushW, range_push_w),
    ENTRY(NVTX_CBID_CORE_RangePop, range_pop),
    ENTRY(NVTX_CBID_CORE_NameCategoryA, name_category_a),
    ENTRY(NVTX_CBID_CORE_NameCategoryW, name_category_w),
    ENTRY(NVTX_CBID_CORE_NameOsThreadA, name_os_thread_a),
    ENTRY(NVTX_CBID_CORE_NameOsThreadW, name_os_thread_w),
};

static const struct entry core2[] = {
    ENTRY(NVTX_CBID_CORE2_DomainMarkEx, domain_mark_ex),
    ENTRY(NVTX_CBID_CORE2_DomainRangeStartEx, domain_range_start_ex),
    ENTRY(NVTX_CBID_CORE2_DomainRangeEnd, domain_range_end),
    ENTRY(NVTX_CBID_CORE2_DomainRangePushEx, domain_range_push_ex),
    ENTRY(NVTX_CBID_CORE2_DomainRangePop, domain_range_pop),
    ENTRY(NVTX_CBID_CORE2_DomainResourceCreate, domain_resource_create),
    ENTRY(NVTX_CBID_CORE2_DomainResourceDestroy, domain_resource_destroy),
    ENTRY(NVTX_CBID_CORE2_DomainNameCategoryA, domain_name_category_a),
    ENTRY(NVTX_CBID_CORE2_DomainNameCategoryW, domain_name_category_w),
    ENTRY(NVTX_CBID_CORE2_DomainRegisterStringA, domain_register_string_a),
    ENTRY(NVTX_CBID_CORE2_DomainRegisterStringW, domain_register_string_w),
    ENTRY(NVTX_CBID_CORE2_DomainCreateA, domain_create_a),
    ENTRY(NVTX_CBID_CORE2_DomainCreateW, domain_create_w),
    ENTRY(NVTX_CBID_CORE2_DomainDestroy, domain_destroy),
    ENTRY(NVTX_CBID_CORE2_Initialize, initialize),
};

static const struct entry cuda[] = {
    ENTRY(NVTX_CBID_CUDA_NameCuDeviceA, name_device_a),    ENTRY(NVTX_CBID_CUDA_NameCuDeviceW, name_device_w),
    ENTRY(NVTX_CBID_CUDA_NameCuContextA, name_context_a),  ENTRY(NVTX_CBID_CUDA_NameCuContextW, name_context_w),
    ENTRY(NVTX_CBID_CUDA_NameCuStreamA, name_stream_a),    ENTRY(NVTX_CBID_CUDA_NameCuStreamW, name_stream_w),
    ENTRY(NVTX_CBID_CUDA_NameCuEventA, name_cuda_event_a), ENTRY(NVTX_CBID_CUDA_NameCuEventW, name_cuda_event_w),
};

static const struct entry cudart[] = {
    ENTRY(NVTX_CBID_CUDART_NameCudaDeviceA, name_device_a),
    ENTRY(NVTX_CBID_CUDART_NameCudaDeviceW, name_device_w),
    ENTRY(NVTX_CBID_CUDART_NameCudaStreamA, name_stream_a),
    ENTRY(NVTX_CBID_CUDART_NameCudaStreamW, name_stream_w),
    ENTRY(NVTX_CBID_CUDART_NameCudaEventA, name_cuda_event_a),
    ENTRY(NVTX_CBID_CUDART_NameCudaEventW, name_cuda_event_w),
};

static bool fill(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module, const struct entry *entries,
                 size_t count)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return false;
    for (size_t i = 0; i < count; i++)
        if (entries[i].id < size && table[entries[i].id])
            *table[entries[i].id] = entries[i].function;
    return true;
}

#define FILL(module, entries) fill(callbacks, (module), (entries), sizeof(entries) / sizeof((entries)[0]))

int nvtx_attach(NvtxGetExportTableFunc_t export_table)
{
    const NvtxExportTableCallbacks *callbacks = export_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || !FILL(NVTX_CB_MODULE_CORE, core))
        return 0;
    FILL(NVTX_CB_MODULE_CORE2, core2);
    FILL(NVTX_CB_MODULE_CUDA, cuda);
    FILL(NVTX_CB_MODULE_CUDART, cudart);
    return 1;
}
