#include "trace/spool/memory_names.h"

#include <stddef.h>

#include <cupti_activity.h>

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
