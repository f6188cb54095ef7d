/*
 * Calls that prepare code and are told as phases of compilation alone: linking, and getting functions, whose code is
 * loaded then where modules are loaded lazily.
 */
#include "injected/collect/driver_calls.h"
#include "injected/collect/lazy_loading.h"
#include "injected/collect/names_due.h"
#include "injected/registry/phases.h"

static uint32_t links(const void *params, uint32_t correlation)
{
    (void)params, (void)correlation;
    return GPUTRACE_TRIGGER_LINK;
}

static uint32_t loads_function(const void *params, uint32_t correlation)
{
    (void)params, (void)correlation;
    return GPUTRACE_TRIGGER_FUNCTION_LOAD;
}

/* CUDA's runtime gets a kernel right before it launches it for the first time; the launch loads it. */
static void note_kernel(const struct driver_return *returned)
{
    const cuLibraryGetKernel_params *p = returned->params;
    if (driver_call_done(returned))
        lazy_loading_arm(*p->pKernel, returned->call.correlation);
}

static void note_function(const struct driver_return *returned)
{
    const cuKernelGetFunction_params *p = returned->params;
    if (!driver_call_done(returned))
        return;
    lazy_loading_loaded(p->kernel);
    names_due_of(p->pFunc ? *p->pFunc : NULL);
}

static void note_module_function(const struct driver_return *returned)
{
    const cuModuleGetFunction_params *p = returned->params;
    if (driver_call_done(returned))
        names_due_of(p->hfunc ? *p->hfunc : NULL);
}

/* CUPTI records just-in-time compilation only within calls that have a callback. */
#define PREPARES (PHASE_KINDS | REGISTRY_BIT(jit))

static const struct driver_call rows[] = {
    DRIVER_CALL(cuLinkAddData, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddData_v2, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddFile, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddFile_v2, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkComplete, PREPARES, NULL, links),
    DRIVER_CALL(cuModuleGetFunction, PREPARES, note_module_function, loads_function),
    DRIVER_CALL(cuFuncLoad, PREPARES, NULL, loads_function),
    DRIVER_CALL(cuLibraryGetModule, PREPARES, NULL, loads_function),
    DRIVER_CALL(cuKernelGetFunction, PREPARES, note_function, loads_function),
    DRIVER_CALL(cuLibraryGetKernel, PHASE_KINDS, note_kernel, NULL),
};

const struct driver_calls code_calls = DRIVER_CALLS(rows);
