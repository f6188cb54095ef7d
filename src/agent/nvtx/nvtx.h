/*
 * NVTX: an injection of our own. It works without a GPU and without a driver.
 */
#ifndef GPUTRACE_AGENT_NVTX_NVTX_H
#define GPUTRACE_AGENT_NVTX_NVTX_H

#include <nvtx3/nvToolsExt.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/nvtx/extension_headers.h"

/*
 * NVTX's header loads the library once for each module (executable or shared library) of the program that uses it, and
 * each time asks for its functions. Domains of one name are one domain, whichever modules made them.
 */

/* Puts our functions into the table of the module that calls. Returns 1, or 0 when the module's NVTX is not understood.
 */
int nvtx_attach(NvtxGetExportTableFunc_t export_table);

/*
 * Our functions for NVTX's tables, in lists.
 */

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
extern const struct nvtx_functions nvtx_names;           /* names.c: domains, strings, categories, objects, resources */

/*
 * NVTX's extensions: payloads, counters, memory. Each has its own way in: NVTX's header of an extension loads the
 * library at the first call of it, once for each module of the program, and hands over a table to be filled.
 */

struct nvtx_extension_function {
    unsigned slot; /* NVTX3EXT_CBID_… */
    intptr_t function;
};

struct nvtx_extension_functions {
    const struct nvtx_extension_function *each;
    size_t count;
};
#define NVTX_EXTENSION_FUNCTION(name, function)               \
    {                                                         \
        NVTX3EXT_CBID_##name, (intptr_t)(uintptr_t)(function) \
    }
#define NVTX_EXTENSION_FUNCTIONS(table)             \
    {                                               \
        (table), sizeof(table) / sizeof((table)[0]) \
    }

extern const struct nvtx_extension_functions nvtx_schema_functions;  /* schemas.c */
extern const struct nvtx_extension_functions nvtx_payload_functions; /* payload_events.c */
extern const struct nvtx_extension_functions nvtx_clock_functions;   /* clocks.c */
extern const struct nvtx_extension_functions nvtx_counter_functions; /* counters.c */
extern const struct nvtx_extension_functions nvtx_memory_functions;  /* memory.c */

/* Puts our functions into the table of an extension of the module that calls. Returns 1: what is not filled does
 * nothing; so with an extension that is not known. 0: the table is not understood. */
int nvtx_extension_attach(const nvtxExtModuleInfo_t *module);

#endif
