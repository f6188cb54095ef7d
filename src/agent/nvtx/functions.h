/*
 * Our functions for NVTX's tables, in lists.
 */
#ifndef GPUTRACE_AGENT_NVTX_FUNCTIONS_H
#define GPUTRACE_AGENT_NVTX_FUNCTIONS_H

#include <nvtx3/nvToolsExt.h>
#include <stddef.h>

struct nvtx_function {
    NvtxCallbackModule module;
    unsigned id; /* within the module */
    NvtxFunctionPointer function;
};

#define NVTX_FUNCTION(module, name, function)                                                 \
    {                                                                                         \
        NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, (NvtxFunctionPointer)(function) \
    }

struct nvtx_functions {
    const struct nvtx_function *each;
    size_t count;
};
#define NVTX_FUNCTIONS(table)                       \
    {                                               \
        (table), sizeof(table) / sizeof((table)[0]) \
    }

extern const struct nvtx_functions nvtx_default_events;  /* events.c: ranges and marks of the default domain */
extern const struct nvtx_functions nvtx_left_out_events; /* … where that is off */
extern const struct nvtx_functions nvtx_domain_events;   /* … and of any, also ended without it */
extern const struct nvtx_functions nvtx_names;     /* names.c: domains, strings, categories, threads, CUDA's objects */
extern const struct nvtx_functions nvtx_resources; /* resources.c: resources, OpenCL's objects */
extern const struct nvtx_functions nvtx_syncs;     /* syncs.c: synchronisation objects */

#endif
