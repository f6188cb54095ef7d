/*
 * Resources: names for what is neither NVTX's nor, all of it, CUDA's. Those of threads and of CUDA's objects name their
 * rows as well. A handle of ours is a number, so that a program may destroy one twice.
 */
#include "agent/nvtx/resources.h"

#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/page.h"
#include "agent/nvtx/functions.h"
#include "agent/nvtx/message.h"
#include "agent/nvtx/names.h"
#include "agent/dispatch/registry.h"

/* As nvToolsExtOpenCL.h numbers them, which needs OpenCL's own header. */
#define OPENCL_TYPE(index) (UINT32_C(6) << 16 | (index))

static uint64_t last_resource;

uint64_t nvtx_resource_made(const struct nvtx_domain *domain, uint32_t type, uint64_t identifier,
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

void nvtx_resource_destroyed(uint64_t resource)
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

static const struct nvtx_function functions[] = {
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
};

const struct nvtx_functions nvtx_resources = NVTX_FUNCTIONS(functions);
