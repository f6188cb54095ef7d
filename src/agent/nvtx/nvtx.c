/*
 * NVTX's functions that name threads, objects of CUDA and OpenCL, categories and domains, and those for resources and
 * synchronisation objects, whose state changes are published, too. Also fills NVTX's tables with all our functions, for
 * each module of the program that asks, and the segments of its extensions.
 */
#include "agent/nvtx/nvtx.h"

#include <errno.h>
#include <linux/futex.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cupti/cupti_library.h"
#include "common/clock.h"
#include "common/memory.h"

/* --- names --- */

/* THREAD is the thread's gettid(). */
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
 * A resource is anything that has a name. The names of threads and of CUDA's objects are names of rows, too. A handle
 * of ours is a number, not an address, so that a program may destroy a resource twice.
 */

/* Publishes a new resource. TYPE and IDENTIFIER are as in struct spool_nvtx_resource. Returns its number, or 0 if
 * DOMAIN is off. */
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

/* Destroys a resource or a synchronisation object. NULL is ignored. */
static void NVTX_API resource_destroy(const void *resource)
{
    if (!resource)
        return;
    registry_nvtx_name_publish(
        &(struct gputrace_nvtx_name){.named = NVTX_NAMED_RESOURCE,
                                     .stream = GPUTRACE_NO_STREAM,
                                     .resource = {.number = (uintptr_t)resource, .destroyed = true}});
}

/* Returns gettid() of a POSIX thread, taken from the number of its CPU clock, or 0 if the thread does not exist. The
 * msync() makes sure that THREAD points to memory at all. */
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

/* Publishes the name of a thread or CUDA object as the name of its row in the trace. */
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

/* --- functions in two forms, with a char or a wchar_t text --- */

/* Defines NAME_a and NAME_w with PARAMETERS, in brackets, before the text. BODY uses the text as `text`. */
#define WITHOUT_BRACKETS(...) __VA_ARGS__
#define BOTH_FORMS(type, name, parameters, body)                                   \
    static type NVTX_API name##_a(WITHOUT_BRACKETS parameters const char *ascii)   \
    {                                                                              \
        struct gputrace_text text = text_of(ascii);                                \
        body;                                                                      \
    }                                                                              \
    static type NVTX_API name##_w(WITHOUT_BRACKETS parameters const wchar_t *wide) \
    {                                                                              \
        struct nvtx_text utf8;                                                     \
        struct gputrace_text text = nvtx_wide(&utf8, wide);                        \
        body;                                                                      \
    }
#define NAMER(name, type, what) BOTH_FORMS(void, name, (type object, ), name_object((what), (uint64_t)object, text))
#define OPENCL_NAMER(name, index)                  \
    BOTH_FORMS(void, name, (const void *object, ), \
               resource_made(&nvtx_default_domain, OPENCL_TYPE(index), (uintptr_t)object, text))
/* The numbers of nvToolsExtOpenCL.h, which cannot be included without OpenCL's own header. */
#define OPENCL_TYPE(index) (UINT32_C(6) << 16 | (index))

BOTH_FORMS(nvtxStringHandle_t, register_string, (nvtxDomainHandle_t domain, ),
           return (nvtxStringHandle_t)nvtx_string_of(nvtx_domain_ours(domain), text))
BOTH_FORMS(void, name_category, (uint32_t category, ), nvtx_category_named(&nvtx_default_domain, category, text))
BOTH_FORMS(void, domain_name_category, (nvtxDomainHandle_t domain, uint32_t category, ),
           nvtx_category_named(nvtx_domain_ours(domain), category, text))
BOTH_FORMS(nvtxDomainHandle_t, domain_create, (), return (nvtxDomainHandle_t)nvtx_domain_of(text))
BOTH_FORMS(void, name_os_thread, (uint32_t thread, ), name_thread(thread, text))
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

/* For nvtxInitialize, and for nvtxDomainDestroy, because a struct nvtx_domain lives on. */
static void NVTX_API do_nothing(const void *unused)
{
    (void)unused;
}

/* --- synchronisation objects --- */

/* A thread tries to acquire an object that the program created, succeeds or fails, and releases it. A handle of ours is
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

#define SYNC_STEP(name, step)                                                                                    \
    static void NVTX_API name(nvtxSyncUser_t object)                                                             \
    {                                                                                                            \
        if (object)                                                                                              \
            registry_nvtx_sync_publish(                                                                          \
                &(struct gputrace_nvtx_sync){.what = (step), .object = (uintptr_t)object, .time = clock_now()}); \
    }
SYNC_STEP(acquire_start, SPOOL_NVTX_ACQUIRE)
SYNC_STEP(acquire_failed, SPOOL_NVTX_ACQUIRE_FAILED)
SYNC_STEP(acquire_success, SPOOL_NVTX_ACQUIRED)
SYNC_STEP(releasing, SPOOL_NVTX_RELEASE)

#define BOTH(module, name, function) \
    NVTX_FUNCTION(module, name##A, function##_a), NVTX_FUNCTION(module, name##W, function##_w)

static const struct nvtx_function names[] = {
    BOTH(CORE, NameCategory, name_category),
    BOTH(CORE, NameOsThread, name_os_thread),
    BOTH(CORE2, DomainNameCategory, domain_name_category),
    BOTH(CORE2, DomainRegisterString, register_string),
    BOTH(CORE2, DomainCreate, domain_create),
    NVTX_FUNCTION(CORE2, DomainDestroy, do_nothing),
    NVTX_FUNCTION(CORE2, Initialize, do_nothing),
    NVTX_FUNCTION(CORE2, DomainResourceCreate, domain_resource_create),
    NVTX_FUNCTION(CORE2, DomainResourceDestroy, resource_destroy),
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
    NVTX_FUNCTION(SYNC, DomainSyncUserDestroy, resource_destroy),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireStart, acquire_start),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireFailed, acquire_failed),
    NVTX_FUNCTION(SYNC, DomainSyncUserAcquireSuccess, acquire_success),
    NVTX_FUNCTION(SYNC, DomainSyncUserReleasing, releasing),
    {0},
};

/* --- tables of functions --- */

struct table {
    NvtxFunctionTable slots; /* NULL if the program does not use this module of NVTX */
    unsigned size;
};

static void put_in(const struct table *tables, const struct nvtx_function *list)
{
    for (const struct nvtx_function *ours = list; ours->function; ours++) {
        const struct table *table = &tables[ours->module];
        if (table->slots && ours->id < table->size && table->slots[ours->id])
            *table->slots[ours->id] = ours->function;
    }
}

int nvtx_attach(NvtxGetExportTableFunc_t export_table)
{
    const NvtxExportTableCallbacks *callbacks = export_table(NVTX_ETID_CALLBACKS);
    struct table tables[NVTX_CB_MODULE_SIZE] = {{0}};
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    for (unsigned module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++)
        if (!callbacks->GetModuleFunctionTable((NvtxCallbackModule)module, &tables[module].slots, &tables[module].size))
            tables[module].slots = NULL;
    if (!tables[NVTX_CB_MODULE_CORE].slots)
        return 0;
    const NvtxExportTableVersionInfo *info = export_table(NVTX_ETID_VERSIONINFO);
    if (info && info->struct_size >= sizeof(*info) && info->SetInjectionNvtxVersion)
        info->SetInjectionNvtxVersion(NVTX_VERSION);
    put_in(tables, nvtx_domain_events);
    put_in(tables, names);
    if (!nvtx_default_domain.off)
        put_in(tables, nvtx_default_events);
    else if (nvtx_domains_are_listed()) /* otherwise a function that is not put in costs the program nothing */
        put_in(tables, nvtx_left_out_events);
    return 1;
}

/* --- extensions --- */

/* The high byte of an extension's compatibility id is its version: within a version, fields and slots are only added.
 */
static const struct {
    uint16_t module, version;
    const struct nvtx_function *functions;
} lists[] = {
    {NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID >> 8, nvtx_schema_functions},
    {NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID >> 8, nvtx_payload_functions},
    {NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID >> 8, nvtx_clock_functions},
    {NVTX_EXT_COUNTERS_MODULEID, NVTX_EXT_COUNTERS_COMPATID >> 8, nvtx_counter_functions},
    {NVTX_EXT_MODULEID_MEM, NVTX_EXT_COMPATID_MEM >> 8, nvtx_memory_functions},
};

int nvtx_extension_attach(const nvtxExtModuleInfo_t *module)
{
    if (!module || module->structSize < offsetof(nvtxExtModuleInfo_t, getExportFunction))
        return 0;
    /* Each of these extensions has one segment. */
    const nvtxExtModuleSegment_t *segment = module->segmentsCount > 0 ? module->segments : NULL;
    for (size_t i = 0; segment && segment->functionSlots && i < sizeof(lists) / sizeof(*lists); i++)
        for (const struct nvtx_function *ours = lists[i].functions; ours->function; ours++)
            if (lists[i].module == module->moduleId && lists[i].version == module->compatId >> 8 &&
                ours->id < segment->slotCount)
                segment->functionSlots[ours->id] = (intptr_t)(uintptr_t)ours->function;
    return 1;
}

/* --- the program's memory --- */

/* Whether AT is in the address sanitizer's shadow memory, which is readable, but not by code that the sanitizer
 * watches. */
static bool is_shadow(uint64_t at)
{
#ifdef __SANITIZE_ADDRESS__
#define ASAN_SHADOW 1
#elif defined(__has_feature)
#define ASAN_SHADOW __has_feature(address_sanitizer)
#else
#define ASAN_SHADOW 0
#endif
    return ASAN_SHADOW && at >= UINT64_C(0x7fff8000) && at < UINT64_C(0x10007fff8000);
}

/* Whether the page with AT can be read: FUTEX_CMP_REQUEUE reads a word there, and with counts of 0 moves no thread.
 * Fails with EFAULT if not. */
static bool page_is_readable(uint64_t at)
{
    static uint32_t other;
    int saved = errno;
    uint64_t aligned = at & ~(uint64_t)(sizeof(uint32_t) - 1);
    if (aligned == 0 || is_shadow(at))
        return false;
    long result = syscall(SYS_futex, aligned, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, &other, 0);
    bool readable = result == 0 || errno != EFAULT;
    errno = saved;
    return readable;
}

size_t program_readable(uint64_t at, size_t size)
{
    uint64_t end = at + size < at ? UINT64_MAX : at + size, page = at, page_size = page_bytes();
    while (page < end && page_is_readable(page))
        page = (page & ~(page_size - 1)) + page_size;
    return (size_t)((page < end ? page : end) - at);
}

size_t program_text_length(uint64_t at, size_t width, size_t size)
{
    size_t length = 0;
    uint64_t page_size = page_bytes();
    while (length * width < size) {
        uint64_t from = at + length * width, page_end = (from & ~(page_size - 1)) + page_size;
        size_t part = page_end - from < width ? width : (size_t)(page_end - from); /* a character may cross pages */
        part = part < size - length * width ? part : size - length * width;
        size_t readable = program_readable(from, part);
        size_t found = (size_t)payload_text_length((const uint8_t *)(uintptr_t)from, readable, width);
        length += found;
        if (found < part / width || found == 0)
            break;
    }
    return length;
}
