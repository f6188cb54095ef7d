#include "agent/nvtx/extensions.h"

#define TABLES_MAX 4

static const struct extension {
    uint16_t module, version; /* the high byte of its compatibility id: within one, fields and slots are only added */
    const struct nvtx_extension_functions *tables[TABLES_MAX];
} extensions[] = {
    {NVTX_EXT_PAYLOAD_MODULEID,
     NVTX_EXT_PAYLOAD_COMPATID >> 8,
     {&nvtx_schema_functions, &nvtx_payload_functions, &nvtx_deferred_functions, &nvtx_clock_functions}},
    {NVTX_EXT_COUNTERS_MODULEID, NVTX_EXT_COUNTERS_COMPATID >> 8, {&nvtx_counter_functions}},
    {NVTX_EXT_MODULEID_MEM, NVTX_EXT_COMPATID_MEM >> 8, {&nvtx_memory_functions, &nvtx_permission_functions}},
};

/* Each of these extensions has one segment. */
static void fill(const nvtxExtModuleSegment_t *segment, const struct nvtx_extension_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++)
        if (functions->each[i].slot < segment->slotCount)
            segment->functionSlots[functions->each[i].slot] = functions->each[i].function;
}

static const struct extension *find(const nvtxExtModuleInfo_t *module)
{
    for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++)
        if (extensions[i].module == module->moduleId && extensions[i].version == module->compatId >> 8)
            return &extensions[i];
    return NULL;
}

int nvtx_extension_attach(const nvtxExtModuleInfo_t *module)
{
    if (!module || module->structSize < offsetof(nvtxExtModuleInfo_t, getExportFunction))
        return 0;
    const struct extension *extension = find(module);
    if (!extension || module->segmentsCount == 0 || !module->segments || !module->segments[0].functionSlots)
        return 1;
    for (size_t i = 0; i < TABLES_MAX && extension->tables[i]; i++)
        fill(&module->segments[0], extension->tables[i]);
    return 1;
}
