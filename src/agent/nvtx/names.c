#include "agent/nvtx/names.h"

#include "agent/cupti/cupti_ids.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/functions.h"
#include "agent/nvtx/message.h"
#include "agent/dispatch/registry.h"

/* --- domains --- */

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
    (void)domain; /* it stays: domains.h */
}

static nvtxStringHandle_t NVTX_API domain_register_string_a(nvtxDomainHandle_t domain, const char *string)
{
    return (nvtxStringHandle_t)nvtx_string_of(nvtx_domain_ours(domain), nvtx_ascii(string));
}

static nvtxStringHandle_t NVTX_API domain_register_string_w(nvtxDomainHandle_t domain, const wchar_t *string)
{
    struct nvtx_text room;
    return (nvtxStringHandle_t)nvtx_string_of(nvtx_domain_ours(domain), nvtx_wide(&room, string));
}

static void NVTX_API domain_name_category_a(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    nvtx_category_named(nvtx_domain_ours(domain), category, nvtx_ascii(name));
}

static void NVTX_API domain_name_category_w(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name)
{
    struct nvtx_text room;
    nvtx_category_named(nvtx_domain_ours(domain), category, nvtx_wide(&room, name));
}

static void NVTX_API name_category_a(uint32_t category, const char *name)
{
    nvtx_category_named(&nvtx_default_domain, category, nvtx_ascii(name));
}

static void NVTX_API name_category_w(uint32_t category, const wchar_t *name)
{
    struct nvtx_text room;
    nvtx_category_named(&nvtx_default_domain, category, nvtx_wide(&room, name));
}

/* --- threads and CUDA's objects --- */

void nvtx_name_thread(uint32_t thread, struct gputrace_text name)
{
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){
        .named = NVTX_NAMED_THREAD, .number = thread, .stream = GPUTRACE_NO_STREAM, .text = name});
}

void nvtx_name_object(enum spool_nvtx_object what, uint64_t object, struct gputrace_text name)
{
    uint32_t stream = what == SPOOL_NVTX_STREAM ? cupti_stream_id(0, object) : GPUTRACE_NO_STREAM;
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){
        .named = NVTX_NAMED_OBJECT, .what = what, .object = object, .stream = stream, .text = name});
}

static void NVTX_API name_os_thread_a(uint32_t thread, const char *name)
{
    nvtx_name_thread(thread, nvtx_ascii(name));
}

static void NVTX_API name_os_thread_w(uint32_t thread, const wchar_t *name)
{
    struct nvtx_text room;
    nvtx_name_thread(thread, nvtx_wide(&room, name));
}

/* Namers of CUDA's objects, which differ only in the type of the object. */
#define NAMER(function, type, what)                                         \
    static void NVTX_API function##_a(type object, const char *name)        \
    {                                                                       \
        nvtx_name_object((what), (uint64_t)object, nvtx_ascii(name));       \
    }                                                                       \
    static void NVTX_API function##_w(type object, const wchar_t *name)     \
    {                                                                       \
        struct nvtx_text room;                                              \
        nvtx_name_object((what), (uint64_t)object, nvtx_wide(&room, name)); \
    }
NAMER(name_device, int, SPOOL_NVTX_DEVICE)
NAMER(name_context, uintptr_t, SPOOL_NVTX_CONTEXT)
NAMER(name_stream, uintptr_t, SPOOL_NVTX_STREAM)
NAMER(name_cuda_event, uintptr_t, SPOOL_NVTX_CUDA_EVENT)

static void NVTX_API initialize(const void *reserved)
{
    (void)reserved;
}

static const struct nvtx_function functions[] = {
    NVTX_FUNCTION(CORE, NameCategoryA, name_category_a),
    NVTX_FUNCTION(CORE, NameCategoryW, name_category_w),
    NVTX_FUNCTION(CORE, NameOsThreadA, name_os_thread_a),
    NVTX_FUNCTION(CORE, NameOsThreadW, name_os_thread_w),
    NVTX_FUNCTION(CORE2, DomainNameCategoryA, domain_name_category_a),
    NVTX_FUNCTION(CORE2, DomainNameCategoryW, domain_name_category_w),
    NVTX_FUNCTION(CORE2, DomainRegisterStringA, domain_register_string_a),
    NVTX_FUNCTION(CORE2, DomainRegisterStringW, domain_register_string_w),
    NVTX_FUNCTION(CORE2, DomainCreateA, domain_create_a),
    NVTX_FUNCTION(CORE2, DomainCreateW, domain_create_w),
    NVTX_FUNCTION(CORE2, DomainDestroy, domain_destroy),
    NVTX_FUNCTION(CORE2, Initialize, initialize),
    NVTX_FUNCTION(CUDA, NameCuDeviceA, name_device_a),
    NVTX_FUNCTION(CUDA, NameCuDeviceW, name_device_w),
    NVTX_FUNCTION(CUDA, NameCuContextA, name_context_a),
    NVTX_FUNCTION(CUDA, NameCuContextW, name_context_w),
    NVTX_FUNCTION(CUDA, NameCuStreamA, name_stream_a),
    NVTX_FUNCTION(CUDA, NameCuStreamW, name_stream_w),
    NVTX_FUNCTION(CUDA, NameCuEventA, name_cuda_event_a),
    NVTX_FUNCTION(CUDA, NameCuEventW, name_cuda_event_w),
    NVTX_FUNCTION(CUDART, NameCudaDeviceA, name_device_a),
    NVTX_FUNCTION(CUDART, NameCudaDeviceW, name_device_w),
    NVTX_FUNCTION(CUDART, NameCudaStreamA, name_stream_a),
    NVTX_FUNCTION(CUDART, NameCudaStreamW, name_stream_w),
    NVTX_FUNCTION(CUDART, NameCudaEventA, name_cuda_event_a),
    NVTX_FUNCTION(CUDART, NameCudaEventW, name_cuda_event_w),
};

const struct nvtx_functions nvtx_names = NVTX_FUNCTIONS(functions);
