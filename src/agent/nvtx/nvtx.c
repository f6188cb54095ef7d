#include "agent/nvtx/nvtx.h"

#include "agent/nvtx/domains.h"
#include "agent/nvtx/functions.h"

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
    static const struct nvtx_functions *const always[] = {&nvtx_domain_events, &nvtx_names, &nvtx_resources,
                                                          &nvtx_syncs};
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        put_in(tables, always[i]);
    if (!nvtx_default_domain.off)
        put_in(tables, &nvtx_default_events);
    else if (nvtx_domains_are_listed())
        put_in(tables, &nvtx_left_out_events);
}

/* NVTX wants to know what its tools understand. */
static void tell_version(NvtxGetExportTableFunc_t export_table)
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
    tell_version(export_table);
    put_in_all(tables);
    return 1;
}
