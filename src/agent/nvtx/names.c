#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/cupti/cupti_ids.h"
#include "agent/dispatch/registry.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "common/clock.h"
#include "common/memory.h"

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

/* THREAD: gettid(). */
static void nvtx_name_thread(uint32_t thread, struct gputrace_text name)
{
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){
        .named = NVTX_NAMED_THREAD, .number = thread, .stream = GPUTRACE_NO_STREAM, .text = name});
}

static void nvtx_name_object(enum spool_nvtx_object what, uint64_t object, struct gputrace_text name)
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

/*
 * Resources: names for what is neither NVTX's nor, all of it, CUDA's. Those of threads and of CUDA's objects name their
 * rows as well. A handle of ours is a number, so that a program may destroy one twice.
 */

/* As nvToolsExtOpenCL.h numbers them, which needs OpenCL's own header. */
#define OPENCL_TYPE(index) (UINT32_C(6) << 16 | (index))

static uint64_t last_resource;

/* TYPE and IDENTIFIER as in struct spool_nvtx_resource. Returns the number, never 0; 0: DOMAIN is off. */
static uint64_t nvtx_resource_made(const struct nvtx_domain *domain, uint32_t type, uint64_t identifier,
                                   struct gputrace_text name)
{
    if (domain->off)
        return 0;
    uint64_t number = __atomic_add_fetch(&last_resource, 1, __ATOMIC_RELAXED);
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){.named = NVTX_NAMED_RESOURCE,
                                                            .domain = domain->number,
                                                            .stream = GPUTRACE_NO_STREAM,
                                                            .object = identifier,
                                                            .resource = {.number = number, .type = type},
                                                            .text = name});
    return number;
}

/* Does nothing for 0. */
static void nvtx_resource_destroyed(uint64_t resource)
{
    if (resource == 0)
        return;
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){.named = NVTX_NAMED_RESOURCE,
                                                            .stream = GPUTRACE_NO_STREAM,
                                                            .resource = {.number = resource, .destroyed = true}});
}

/* gettid() of a thread of POSIX; 0: there is no such thread. Its clock's number tells it; what is no thread's handle
 * must not be looked into. */
static uint32_t thread_of(pthread_t thread)
{
    uintptr_t page = (uintptr_t)thread & ~(uintptr_t)(page_bytes() - 1);
    clockid_t clock;
    if (pthread_equal(thread, pthread_self()))
        return (uint32_t)gettid();
    if (msync((void *)page, 1, MS_ASYNC) != 0 || pthread_getcpuclockid(thread, &clock) != 0)
        return 0;
    pid_t id = ~(clock >> 3);
    return id > 0 && tgkill(getpid(), id, 0) == 0 ? (uint32_t)id : 0;
}

/* What has a row of its own in the trace gets the name there, too. */
static void name_row(uint32_t type, uint64_t identifier, struct gputrace_text name)
{
    uint32_t thread;
    switch (type) {
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE: nvtx_name_thread((uint32_t)identifier, name); break;
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX:
        thread = thread_of((pthread_t)identifier);
        if (thread)
            nvtx_name_thread(thread, name);
        break;
    case NVTX_RESOURCE_TYPE_CUDA_DEVICE:
    case NVTX_RESOURCE_TYPE_CUDART_DEVICE: nvtx_name_object(SPOOL_NVTX_DEVICE, identifier, name); break;
    case NVTX_RESOURCE_TYPE_CUDA_CONTEXT: nvtx_name_object(SPOOL_NVTX_CONTEXT, identifier, name); break;
    case NVTX_RESOURCE_TYPE_CUDA_STREAM:
    case NVTX_RESOURCE_TYPE_CUDART_STREAM: nvtx_name_object(SPOOL_NVTX_STREAM, identifier, name); break;
    case NVTX_RESOURCE_TYPE_CUDA_EVENT:
    case NVTX_RESOURCE_TYPE_CUDART_EVENT: nvtx_name_object(SPOOL_NVTX_CUDA_EVENT, identifier, name); break;
    default: break;
    }
}

static nvtxResourceHandle_t NVTX_API domain_resource_create(nvtxDomainHandle_t handle,
                                                            nvtxResourceAttributes_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text room;
    struct gputrace_text name = {0};
    if (domain->off || !attributes || !NVTX_HAS(attributes, identifier))
        return NULL;
    if (NVTX_HAS(attributes, message))
        name = nvtx_message(attributes->messageType, attributes->message, &room, NULL);
    uint32_t type = (uint32_t)attributes->identifierType;
    uint64_t identifier = attributes->identifier.ullValue;
    if (name.length)
        name_row(type, identifier, name);
    return (nvtxResourceHandle_t)(uintptr_t)nvtx_resource_made(domain, type, identifier, name);
}

static void NVTX_API domain_resource_destroy(nvtxResourceHandle_t resource)
{
    nvtx_resource_destroyed((uintptr_t)resource);
}

/* Namers of OpenCL's objects, all of which are pointers. */
#define OPENCL_NAMER(function, index)                                                                            \
    static void NVTX_API function##_a(const void *object, const char *name)                                      \
    {                                                                                                            \
        nvtx_resource_made(&nvtx_default_domain, OPENCL_TYPE(index), (uintptr_t)object, nvtx_ascii(name));       \
    }                                                                                                            \
    static void NVTX_API function##_w(const void *object, const wchar_t *name)                                   \
    {                                                                                                            \
        struct nvtx_text room;                                                                                   \
        nvtx_resource_made(&nvtx_default_domain, OPENCL_TYPE(index), (uintptr_t)object, nvtx_wide(&room, name)); \
    }
OPENCL_NAMER(name_cl_device, 1)
OPENCL_NAMER(name_cl_context, 2)
OPENCL_NAMER(name_cl_command_queue, 3)
OPENCL_NAMER(name_cl_memory_object, 4)
OPENCL_NAMER(name_cl_sampler, 5)
OPENCL_NAMER(name_cl_program, 6)
OPENCL_NAMER(name_cl_event, 7)

/*
 * Synchronisation objects that the program made: a thread says that it wants one, has it or did not get it, and
 * gives it back. A handle of ours is the object's number.
 */

static nvtxSyncUser_t NVTX_API create(nvtxDomainHandle_t handle, const nvtxSyncUserAttributes_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text room;
    struct gputrace_text name = {0};
    if (domain->off)
        return NULL;
    if (attributes && NVTX_HAS(attributes, message))
        name = nvtx_message(attributes->messageType, attributes->message, &room, NULL);
    return (nvtxSyncUser_t)(uintptr_t)nvtx_resource_made(domain, SPOOL_NVTX_SYNC_USER, 0, name);
}

static void NVTX_API destroy(nvtxSyncUser_t object)
{
    nvtx_resource_destroyed((uintptr_t)object);
}

static void publish(enum spool_nvtx_what what, nvtxSyncUser_t object)
{
    if (!object)
        return;
    registry_nvtx_sync_publish(
        &(struct gputrace_nvtx_sync){.what = what, .object = (uintptr_t)object, .time = clock_now()});
}

static void NVTX_API acquire_start(nvtxSyncUser_t object)
{
    publish(SPOOL_NVTX_ACQUIRE, object);
}

static void NVTX_API acquire_failed(nvtxSyncUser_t object)
{
    publish(SPOOL_NVTX_ACQUIRE_FAILED, object);
}

static void NVTX_API acquire_success(nvtxSyncUser_t object)
{
    publish(SPOOL_NVTX_ACQUIRED, object);
}

static void NVTX_API releasing(nvtxSyncUser_t object)
{
    publish(SPOOL_NVTX_RELEASE, object);
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
    NVTX_FUNCTION(CORE2, DomainResourceCreate, domain_resource_create),
    NVTX_FUNCTION(CORE2, DomainResourceDestroy, domain_resource_destroy),
    NVTX_FUNCTION(OPENCL, NameClDeviceA, name_cl_device_a),
    NVTX_FUNCTION(OPENCL, NameClDeviceW, name_cl_device_w),
    NVTX_FUNCTION(OPENCL, NameClContextA, name_cl_context_a),
    NVTX_FUNCTION(OPENCL, NameClContextW, name_cl_context_w),
    NVTX_FUNCTION(OPENCL, NameClCommandQueueA, name_cl_command_queue_a),
    NVTX_FUNCTION(OPENCL, NameClCommandQueueW, name_cl_command_queue_w),
    NVTX_FUNCTION(OPENCL, NameClMemObjectA, name_cl_memory_object_a),
    NVTX_FUNCTION(OPENCL, NameClMemObjectW, name_cl_memory_object_w),
    NVTX_FUNCTION(OPENCL, NameClSamplerA, name_cl_sampler_a),
    NVTX_FUNCTION(OPENCL, NameClSamplerW, name_cl_sampler_w),
    NVTX_FUNCTION(OPENCL, NameClProgramA, name_cl_program_a),
    NVTX_FUNCTION(OPENCL, NameClProgramW, name_cl_program_w),
    NVTX_FUNCTION(OPENCL, NameClEventA, name_cl_event_a),
    NVTX_FUNCTION(OPENCL, NameClEventW, name_cl_event_w),
    NVTX_FUNCTION(SYNC, DomainSyncUserCreate, create),
    NVTX_FUNCTION(SYNC, DomainSyncUserDestroy, destroy),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireStart, acquire_start),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireFailed, acquire_failed),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireSuccess, acquire_success),
    NVTX_FUNCTION(SYNC, DomainSyncUserReleasing, releasing),
};

const struct nvtx_functions nvtx_names = NVTX_FUNCTIONS(functions);
