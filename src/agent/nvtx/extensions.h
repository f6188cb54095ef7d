/*
 * NVTX's extensions: payloads, counters, memory. Each has its own way in: NVTX's header of an extension loads the
 * library at the first call of it, once for each module of the program, and hands over a table to be filled.
 */
#ifndef GPUTRACE_AGENT_NVTX_EXTENSIONS_H
#define GPUTRACE_AGENT_NVTX_EXTENSIONS_H

#include <stddef.h>
#include <stdint.h>

#include "agent/nvtx/extension_headers.h"

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

extern const struct nvtx_extension_functions nvtx_schema_functions;     /* schemas.c */
extern const struct nvtx_extension_functions nvtx_payload_functions;    /* payload_events.c */
extern const struct nvtx_extension_functions nvtx_deferred_functions;   /* deferred.c */
extern const struct nvtx_extension_functions nvtx_clock_functions;      /* clocks.c */
extern const struct nvtx_extension_functions nvtx_counter_functions;    /* counters.c */
extern const struct nvtx_extension_functions nvtx_memory_functions;     /* memory.c */
extern const struct nvtx_extension_functions nvtx_permission_functions; /* memory_permissions.c */

/* Puts our functions into the table of an extension of the module that calls. Gives 1: what is not filled does
 * nothing; so with an extension that is not known. 0: the table is not understood. */
int nvtx_extension_attach(const nvtxExtModuleInfo_t *module);

#endif
