/* Tables of names that the build makes of CUDA's headers, and functions that find a number in them. */
#include "trace/spool/cuda_names.h"

#include <assert.h>
#include <cupti_activity.h>
#include <stddef.h>
#include <string.h>

#include "trace/spool/event_record.h"

static const char *const runtime_names[] = {
#include "common/runtime_cbid.inc"
};

static const char *const driver_names[] = {
#include "common/driver_cbid.inc"
};

static_assert(sizeof(runtime_names) / sizeof(*runtime_names) <= API_CBID_LIMIT, "limit");
static_assert(sizeof(driver_names) / sizeof(*driver_names) <= API_CBID_LIMIT, "limit");

const char *api_name(unsigned domain, uint32_t cbid)
{
    if (domain == EVENT_API_RUNTIME)
        return cbid < sizeof(runtime_names) / sizeof(*runtime_names) ? runtime_names[cbid] : NULL;
    return cbid < sizeof(driver_names) / sizeof(*driver_names) ? driver_names[cbid] : NULL;
}

unsigned api_sorts(unsigned domain, uint32_t cbid)
{
    static const struct {
        const char *prefix;
        unsigned sorts;
    } known[] = {{"LaunchHostFunc", 0},   {"Launch", LAUNCH_KERNELS},       {"Memcpy", LAUNCH_COPIES},
                 {"Memset", LAUNCH_SETS}, {"GraphLaunch", LAUNCH_ANYTHING}, {"EventRecord", LAUNCH_CUDA_EVENTS}};
    const char *name = api_name(domain, cbid);
    size_t prefix = domain == EVENT_API_RUNTIME ? strlen("cuda") : strlen("cu");
    if (!name || strlen(name) < prefix)
        return 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strncmp(name + prefix, known[i].prefix, strlen(known[i].prefix)) == 0)
            return known[i].sorts;
    return 0;
}

const char *runtime_error_name(int64_t number)
{
    switch (number) {
#include "trace/spool/runtime_errors.inc"
    default: return NULL;
    }
}

const char *driver_error_name(int64_t number)
{
    switch (number) {
#include "trace/spool/driver_errors.inc"
    default: return NULL;
    }
}

static const char *const copy_kinds[] = {
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "HtoD", [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "DtoH",
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOA] = "HtoA", [CUPTI_ACTIVITY_MEMCPY_KIND_ATOH] = "AtoH",
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOA] = "AtoA", [CUPTI_ACTIVITY_MEMCPY_KIND_ATOD] = "AtoD",
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOA] = "DtoA", [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = "DtoD",
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOH] = "HtoH", [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = "PtoP",
};

static const char *const memory_kinds[] = {
    [CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE] = "Pageable",
    [CUPTI_ACTIVITY_MEMORY_KIND_PINNED] = "Pinned",
    [CUPTI_ACTIVITY_MEMORY_KIND_DEVICE] = "Device",
    [CUPTI_ACTIVITY_MEMORY_KIND_ARRAY] = "Array",
    [CUPTI_ACTIVITY_MEMORY_KIND_MANAGED] = "Managed",
    [CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC] = "Device Static",
    [CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC] = "Managed Static",
};

static const char *name_of(const char *const *names, size_t count, unsigned number)
{
    return number < count && names[number] ? names[number] : "Unknown";
}

const char *copy_kind_name(unsigned kind)
{
    return name_of(copy_kinds, sizeof(copy_kinds) / sizeof(*copy_kinds), kind);
}

const char *memory_kind_name(unsigned kind)
{
    return name_of(memory_kinds, sizeof(memory_kinds) / sizeof(*memory_kinds), kind);
}
