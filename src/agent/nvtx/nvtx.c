/*
 * Fills NVTX's tables of functions with ours, for each module of the program that asks, and the segments of its
 * extensions likewise.
 */
#include "agent/nvtx/nvtx.h"

#include "agent/nvtx/domains.h"

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
