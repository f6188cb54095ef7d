/*
 * NVTX's functions that name threads, objects of CUDA and OpenCL, categories and domains, and those of resources and
 * synchronisation objects, whose state changes are published too.
 */
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/cupti/cupti_ids.h"
#include "agent/dispatch/registry.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "common/clock.h"
#include "common/memory.h"

/* THREAD: gettid(). */
static void name_thread(uint32_t thread, struct gputrace_text name)
{
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){
        .named = NVTX_NAMED_THREAD, .number = thread, .stream = GPUTRACE_NO_STREAM, .text = name});
}

static void name_object(enum spool_nvtx_object what, uint64_t object, struct gputrace_text name)
{
    uint32_t stream = what == SPOOL_NVTX_STREAM ? cupti_stream_id(0, object) : GPUTRACE_NO_STREAM;
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){
        .named = NVTX_NAMED_OBJECT, .what = what, .object = object, .stream = stream, .text = name});
}

/* --- resources --- */

/*
 * Resources have names and are neither all NVTX's nor all CUDA's. Those of threads and of CUDA's objects name their
 * rows as well. A handle of ours is a number, so that a program may destroy a resource twice.
 */

/* TYPE and IDENTIFIER as in struct spool_nvtx_resource. Returns the number, never 0; 0: DOMAIN is off. */
static uint64_t resource_made(const struct nvtx_domain *domain, uint32_t type, uint64_t identifier,
                              struct gputrace_text name)
{
    static uint64_t last_resource;
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
static void resource_destroyed(uint64_t resource)
{
    if (resource == 0)
        return;
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){.named = NVTX_NAMED_RESOURCE,
                                                            .stream = GPUTRACE_NO_STREAM,
                                                            .resource = {.number = resource, .destroyed = true}});
}

/* gettid() of a thread of POSIX, which the number of its clock holds; 0: the thread does not exist. Memory that is not
 * a thread's handle must not be looked into. */
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
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE: name_thread((uint32_t)identifier, name); break;
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX:
        thread = thread_of((pthread_t)identifier);
        if (thread)
            name_thread(thread, name);
        break;
    case NVTX_RESOURCE_TYPE_CUDA_DEVICE:
    case NVTX_RESOURCE_TYPE_CUDART_DEVICE: name_object(SPOOL_NVTX_DEVICE, identifier, name); break;
    case NVTX_RESOURCE_TYPE_CUDA_CONTEXT: name_object(SPOOL_NVTX_CONTEXT, identifier, name); break;
    case NVTX_RESOURCE_TYPE_CUDA_STREAM:
    case NVTX_RESOURCE_TYPE_CUDART_STREAM: name_object(SPOOL_NVTX_STREAM, identifier, name); break;
    case NVTX_RESOURCE_TYPE_CUDA_EVENT:
    case NVTX_RESOURCE_TYPE_CUDART_EVENT: name_object(SPOOL_NVTX_CUDA_EVENT, identifier, name); break;
    default: break;
    }
}

static nvtxResourceHandle_t NVTX_API domain_resource_create(nvtxDomainHandle_t handle,
                                                            nvtxResourceAttributes_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text text;
    struct gputrace_text name = {0};
    if (domain->off || !attributes || !NVTX_HAS(attributes, identifier))
        return NULL;
    if (NVTX_HAS(attributes, message))
        name = nvtx_message(attributes->messageType, attributes->message, &text, NULL);
    uint32_t type = (uint32_t)attributes->identifierType;
    uint64_t identifier = attributes->identifier.ullValue;
    if (name.length)
        name_row(type, identifier, name);
    return (nvtxResourceHandle_t)(uintptr_t)resource_made(domain, type, identifier, name);
}

static void NVTX_API domain_resource_destroy(nvtxResourceHandle_t resource)
{
    resource_destroyed((uintptr_t)resource);
}

/* --- functions that differ in the form of their last parameter --- */

/* Defines NAME_a and NAME_w with PARAMETER before the text, which BODY has as `text`. */
#define BOTH_FORMS(type, name, parameter, body)                   \
    static type NVTX_API name##_a(parameter, const char *ascii)   \
    {                                                             \
        struct gputrace_text text = text_of(ascii);               \
        body;                                                     \
    }                                                             \
    static type NVTX_API name##_w(parameter, const wchar_t *wide) \
    {                                                             \
        struct nvtx_text utf8;                                    \
        struct gputrace_text text = nvtx_wide(&utf8, wide);       \
        body;                                                     \
    }
#define NAMER(name, type, what) BOTH_FORMS(void, name, type object, name_object((what), (uint64_t)object, text))
#define OPENCL_NAMER(name, index)              \
    BOTH_FORMS(void, name, const void *object, \
               resource_made(&nvtx_default_domain, OPENCL_TYPE(index), (uintptr_t)object, text))
/* As nvToolsExtOpenCL.h numbers them, which needs OpenCL's own header. */
#define OPENCL_TYPE(index) (UINT32_C(6) << 16 | (index))

BOTH_FORMS(nvtxStringHandle_t, register_string, nvtxDomainHandle_t domain,
           return (nvtxStringHandle_t)nvtx_string_of(nvtx_domain_ours(domain), text))
BOTH_FORMS(void, name_category, uint32_t category, nvtx_category_named(&nvtx_default_domain, category, text))
BOTH_FORMS(void, name_os_thread, uint32_t thread, name_thread(thread, text))
NAMER(name_device, int, SPOOL_NVTX_DEVICE)
NAMER(name_context, uintptr_t, SPOOL_NVTX_CONTEXT)
NAMER(name_stream, uintptr_t, SPOOL_NVTX_STREAM)
NAMER(name_cuda_event, uintptr_t, SPOOL_NVTX_CUDA_EVENT)
OPENCL_NAMER(name_cl_device, 1)
OPENCL_NAMER(name_cl_context, 2)
OPENCL_NAMER(name_cl_command_queue, 3)
OPENCL_NAMER(name_cl_memory_object, 4)
OPENCL_NAMER(name_cl_sampler, 5)
OPENCL_NAMER(name_cl_program, 6)
OPENCL_NAMER(name_cl_event, 7)

static void NVTX_API domain_name_category_a(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    nvtx_category_named(nvtx_domain_ours(domain), category, text_of(name));
}

static void NVTX_API domain_name_category_w(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name)
{
    struct nvtx_text text;
    nvtx_category_named(nvtx_domain_ours(domain), category, nvtx_wide(&text, name));
}

static nvtxDomainHandle_t NVTX_API domain_create_a(const char *name)
{
    return (nvtxDomainHandle_t)nvtx_domain_of(text_of(name));
}

static nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t *name)
{
    struct nvtx_text text;
    return (nvtxDomainHandle_t)nvtx_domain_of(nvtx_wide(&text, name));
}

static void NVTX_API domain_destroy(nvtxDomainHandle_t domain)
{
    (void)domain; /* struct nvtx_domain stays */
}

static void NVTX_API initialize(const void *reserved)
{
    (void)reserved;
}

/* --- synchronisation objects --- */

/* A thread asks for an object that the program made, gets it or does not get it, and gives it back. A handle of ours is
 * the object's number. */

static nvtxSyncUser_t NVTX_API sync_create(nvtxDomainHandle_t handle, const nvtxSyncUserAttributes_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    struct nvtx_text text;
    struct gputrace_text name = {0};
    if (domain->off)
        return NULL;
    if (attributes && NVTX_HAS(attributes, message))
        name = nvtx_message(attributes->messageType, attributes->message, &text, NULL);
    return (nvtxSyncUser_t)(uintptr_t)resource_made(domain, SPOOL_NVTX_SYNC_USER, 0, name);
}

static void NVTX_API sync_destroy(nvtxSyncUser_t object)
{
    resource_destroyed((uintptr_t)object);
}

static void publish_sync(enum spool_nvtx_what what, nvtxSyncUser_t object)
{
    if (!object)
        return;
    registry_nvtx_sync_publish(
        &(struct gputrace_nvtx_sync){.what = what, .object = (uintptr_t)object, .time = clock_now()});
}

#define SYNC_STEP(name, what)                        \
    static void NVTX_API name(nvtxSyncUser_t object) \
    {                                                \
        publish_sync((what), object);                \
    }
SYNC_STEP(acquire_start, SPOOL_NVTX_ACQUIRE)
SYNC_STEP(acquire_failed, SPOOL_NVTX_ACQUIRE_FAILED)
SYNC_STEP(acquire_success, SPOOL_NVTX_ACQUIRED)
SYNC_STEP(releasing, SPOOL_NVTX_RELEASE)

#define BOTH(module, name, function) \
    NVTX_FUNCTION(module, name##A, function##_a), NVTX_FUNCTION(module, name##W, function##_w)

const struct nvtx_function nvtx_names[] = {
    BOTH(CORE, NameCategory, name_category),
    BOTH(CORE, NameOsThread, name_os_thread),
    BOTH(CORE2, DomainNameCategory, domain_name_category),
    BOTH(CORE2, DomainRegisterString, register_string),
    BOTH(CORE2, DomainCreate, domain_create),
    NVTX_FUNCTION(CORE2, DomainDestroy, domain_destroy),
    NVTX_FUNCTION(CORE2, Initialize, initialize),
    NVTX_FUNCTION(CORE2, DomainResourceCreate, domain_resource_create),
    NVTX_FUNCTION(CORE2, DomainResourceDestroy, domain_resource_destroy),
    BOTH(CUDA, NameCuDevice, name_device),
    BOTH(CUDA, NameCuContext, name_context),
    BOTH(CUDA, NameCuStream, name_stream),
    BOTH(CUDA, NameCuEvent, name_cuda_event),
    BOTH(CUDART, NameCudaDevice, name_device),
    BOTH(CUDART, NameCudaStream, name_stream),
    BOTH(CUDART, NameCudaEvent, name_cuda_event),
    BOTH(OPENCL, NameClDevice, name_cl_device),
    BOTH(OPENCL, NameClContext, name_cl_context),
    BOTH(OPENCL, NameClCommandQueue, name_cl_command_queue),
    BOTH(OPENCL, NameClMemObject, name_cl_memory_object),
    BOTH(OPENCL, NameClSampler, name_cl_sampler),
    BOTH(OPENCL, NameClProgram, name_cl_program),
    BOTH(OPENCL, NameClEvent, name_cl_event),
    NVTX_FUNCTION(SYNC, DomainSyncUserCreate, sync_create),
    NVTX_FUNCTION(SYNC, DomainSyncUserDestroy, sync_destroy),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireStart, acquire_start),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireFailed, acquire_failed),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireSuccess, acquire_success),
    NVTX_FUNCTION(SYNC, DomainSyncUserReleasing, releasing),
    {0},
};
