/*
 * Fills NVTX's tables of functions with ours, for each module of the program that asks, and the segments of its
 * extensions likewise.
 */
#include "agent/nvtx/nvtx.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/nvtx/domains.h"
#include "common/memory.h"

struct table {
    NvtxFunctionTable slots; /* NULL: the program does not have this module of NVTX */
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
    put_in(tables, nvtx_names);
    if (!nvtx_default_domain.off)
        put_in(tables, nvtx_default_events);
    else if (nvtx_domains_are_listed()) /* else a function that is not put in costs the program nothing */
        put_in(tables, nvtx_left_out_events);
    return 1;
}

/* --- extensions --- */

#define LISTS_MAX 3

static const struct extension {
    uint16_t module, version; /* the high byte of its compatibility id: within one, fields and slots are only added */
    const struct nvtx_function *lists[LISTS_MAX];
} extensions[] = {
    {NVTX_EXT_PAYLOAD_MODULEID,
     NVTX_EXT_PAYLOAD_COMPATID >> 8,
     {nvtx_schema_functions, nvtx_payload_functions, nvtx_clock_functions}},
    {NVTX_EXT_COUNTERS_MODULEID, NVTX_EXT_COUNTERS_COMPATID >> 8, {nvtx_counter_functions}},
    {NVTX_EXT_MODULEID_MEM, NVTX_EXT_COMPATID_MEM >> 8, {nvtx_memory_functions}},
};

/* Each of these extensions has one segment. */
static void fill(const nvtxExtModuleSegment_t *segment, const struct extension *extension)
{
    for (size_t i = 0; i < LISTS_MAX && extension->lists[i]; i++)
        for (const struct nvtx_function *ours = extension->lists[i]; ours->function; ours++)
            if (ours->id < segment->slotCount)
                segment->functionSlots[ours->id] = (intptr_t)(uintptr_t)ours->function;
}

int nvtx_extension_attach(const nvtxExtModuleInfo_t *module)
{
    if (!module || module->structSize < offsetof(nvtxExtModuleInfo_t, getExportFunction))
        return 0;
    bool has_slots = module->segmentsCount > 0 && module->segments && module->segments[0].functionSlots;
    for (size_t i = 0; has_slots && i < sizeof(extensions) / sizeof(*extensions); i++)
        if (extensions[i].module == module->moduleId && extensions[i].version == module->compatId >> 8)
            fill(&module->segments[0], &extensions[i]);
    return 1;
}

/* --- the program's memory --- */

/* The address sanitizer's shadow can be read, but not by code that it watches: it is not the program's. */
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

/* The kernel compares the word there before it moves none of the threads that wait for it. */
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
        size_t part = page_end - from < width ? width : (size_t)(page_end - from); /* one may lie across pages */
        part = part < size - length * width ? part : size - length * width;
        size_t readable = program_readable(from, part);
        size_t found = (size_t)payload_text_length((const uint8_t *)(uintptr_t)from, readable, width);
        length += found;
        if (found < part / width || found == 0)
            break;
    }
    return length;
}
