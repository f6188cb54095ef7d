#include "agent/nvtx/nvtx.h"

#include "agent/nvtx/domains.h"

struct table {
    NvtxFunctionTable slots; /* NULL: the module of the program has none */
    unsigned size;
};

/* The program's tables by NVTX's modules; one that it does not have stays empty. */
static void get_tables(const NvtxExportTableCallbacks *callbacks, struct table tables[NVTX_CB_MODULE_SIZE])
{
    for (unsigned module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++) {
        struct table *table = &tables[module];
        if (!callbacks->GetModuleFunctionTable((NvtxCallbackModule)module, &table->slots, &table->size))
            table->slots = NULL;
    }
}

static void put_in(const struct table *tables, const struct nvtx_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        const struct nvtx_function *ours = &functions->each[i];
        const struct table *table = &tables[ours->module];
        if (table->slots && ours->id < table->size && table->slots[ours->id])
            *table->slots[ours->id] = ours->function;
    }
}

/* A function that is not put in costs the program nothing. */
static void put_in_all(const struct table *tables)
{
    static const struct nvtx_functions *const always[] = {&nvtx_domain_events, &nvtx_names};
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        put_in(tables, always[i]);
    if (!nvtx_default_domain.off)
        put_in(tables, &nvtx_default_events);
    else if (nvtx_domains_are_listed())
        put_in(tables, &nvtx_left_out_events);
}

/* NVTX wants to know what its tools understand. */
static void publish_version(NvtxGetExportTableFunc_t export_table)
{
    const NvtxExportTableVersionInfo *info = export_table(NVTX_ETID_VERSIONINFO);
    if (info && info->struct_size >= sizeof(*info) && info->SetInjectionNvtxVersion)
        info->SetInjectionNvtxVersion(NVTX_VERSION);
}

int nvtx_attach(NvtxGetExportTableFunc_t export_table)
{
    const NvtxExportTableCallbacks *callbacks = export_table(NVTX_ETID_CALLBACKS);
    struct table tables[NVTX_CB_MODULE_SIZE] = {{0}};
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    get_tables(callbacks, tables);
    if (!tables[NVTX_CB_MODULE_CORE].slots)
        return 0;
    publish_version(export_table);
    put_in_all(tables);
    return 1;
}

/* --- extensions --- */

#define TABLES_MAX 4

static const struct extension {
    uint16_t module, version; /* the high byte of its compatibility id: within one, fields and slots are only added */
    const struct nvtx_extension_functions *tables[TABLES_MAX];
} extensions[] = {
    {NVTX_EXT_PAYLOAD_MODULEID,
     NVTX_EXT_PAYLOAD_COMPATID >> 8,
     {&nvtx_schema_functions, &nvtx_payload_functions, &nvtx_clock_functions}},
    {NVTX_EXT_COUNTERS_MODULEID, NVTX_EXT_COUNTERS_COMPATID >> 8, {&nvtx_counter_functions}},
    {NVTX_EXT_MODULEID_MEM, NVTX_EXT_COMPATID_MEM >> 8, {&nvtx_memory_functions}},
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
