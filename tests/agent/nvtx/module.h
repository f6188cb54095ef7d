/*
 * A module of a program that uses NVTX: its tables, as NVTX's header would hand them out, and calls through them.
 */
#include "agent/nvtx/nvtx.h"
#ifndef TESTS_AGENT_NVTX_MODULE_H
#define TESTS_AGENT_NVTX_MODULE_H

enum { MODULE_FUNCTIONS_MAX = 32 };

/* As many functions as each of NVTX's modules has, with the invalid one. */
static const unsigned module_sizes[NVTX_CB_MODULE_SIZE] = {
    [NVTX_CB_MODULE_CORE] = NVTX_CBID_CORE_SIZE,     [NVTX_CB_MODULE_CUDA] = NVTX_CBID_CUDA_SIZE,
    [NVTX_CB_MODULE_OPENCL] = NVTX_CBID_OPENCL_SIZE, [NVTX_CB_MODULE_CUDART] = NVTX_CBID_CUDART_SIZE,
    [NVTX_CB_MODULE_CORE2] = NVTX_CBID_CORE2_SIZE,   [NVTX_CB_MODULE_SYNC] = NVTX_CBID_SYNC_SIZE};

static NvtxFunctionPointer module_functions[NVTX_CB_MODULE_SIZE][MODULE_FUNCTIONS_MAX];
static uint32_t module_version; /* that the tool said it understands */

static inline int module_table(NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size)
{
    static NvtxFunctionPointer *slots[NVTX_CB_MODULE_SIZE][MODULE_FUNCTIONS_MAX];
    for (unsigned i = 0; i < MODULE_FUNCTIONS_MAX; i++)
        slots[module][i] = &module_functions[module][i];
    *table = slots[module];
    *size = module_sizes[module];
    return 1;
}

static inline void module_set_version(uint32_t version)
{
    module_version = version;
}

static inline const void *module_export_table(uint32_t id)
{
    static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), module_table};
    static const NvtxExportTableVersionInfo info = {.struct_size = sizeof(info),
                                                    .SetInjectionNvtxVersion = module_set_version};
    return id == NVTX_ETID_CALLBACKS ? (const void *)&callbacks : id == NVTX_ETID_VERSIONINFO ? &info : NULL;
}

#define FUNCTION(module, name) module_functions[NVTX_CB_MODULE_##module][NVTX_CBID_##module##_##name]
#define CORE(name) ((nvtx##name##_impl_fntype)FUNCTION(CORE, name))
#define CORE2(name) ((nvtx##name##_impl_fntype)FUNCTION(CORE2, name))
#define FAKE(module, name) ((nvtx##name##_fakeimpl_fntype)FUNCTION(module, name))

/* The functions of an extension go into SLOTS, as its header would hand them out. */
static inline int attach_extension(uint16_t module, uint16_t version, intptr_t *slots, size_t slot_count)
{
    nvtxExtModuleSegment_t segment = {.slotCount = slot_count, .functionSlots = slots};
    const nvtxExtModuleInfo_t info = {.nvtxVer = NVTX_VERSION,
                                      .structSize = sizeof(info),
                                      .moduleId = module,
                                      .compatId = version,
                                      .segmentsCount = 1,
                                      .segments = &segment};
    return nvtx_extension_attach(&info);
}

#endif
