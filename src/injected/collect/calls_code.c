/*
 * Calls that prepare code and are told as phases of compilation: linking, and getting functions, whose code is loaded
 * then where modules are loaded lazily. What was got is launched next: first_launches.h.
 */
#include "injected/collect/callback_switches.h"
#include "injected/collect/driver_calls.h"
#include "injected/collect/first_launches.h"
#include "injected/collect/lazy_loading.h"
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
    if (!driver_call_done(returned))
        return;
    first_launches_got(*p->pKernel, returned->call.correlation);
    if (callback_switches_wanted() & PHASE_KINDS)
        lazy_loading_arm(*p->pKernel, returned->call.correlation);
}

static void note_function(const struct driver_return *returned)
{
    const cuKernelGetFunction_params *p = returned->params;
    if (!driver_call_done(returned))
        return;
    lazy_loading_loaded(p->kernel);
    first_launches_got(p->pFunc ? *p->pFunc : NULL, returned->call.correlation);
}

static void note_module_function(const struct driver_return *returned)
{
    const cuModuleGetFunction_params *p = returned->params;
    if (driver_call_done(returned))
        first_launches_got(p->hfunc ? *p->hfunc : NULL, returned->call.correlation);
}

/* CUPTI records just-in-time compilation only within calls that have a callback. */
#define PREPARES (PHASE_KINDS | REGISTRY_BIT(jit))
#define GETS REGISTRY_BIT(launch_name)

static const struct driver_call rows[] = {
    DRIVER_CALL(cuLinkAddData, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddData_v2, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddFile, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddFile_v2, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkComplete, PREPARES, NULL, links),
    DRIVER_CALL(cuModuleGetFunction, PREPARES | GETS, note_module_function, loads_function),
    DRIVER_CALL(cuFuncLoad, PREPARES, NULL, loads_function),
    DRIVER_CALL(cuLibraryGetModule, PREPARES, NULL, loads_function),
    DRIVER_CALL(cuKernelGetFunction, PREPARES | GETS, note_function, loads_function),
    DRIVER_CALL(cuLibraryGetKernel, PHASE_KINDS | GETS, note_kernel, NULL),
};

const struct driver_calls code_calls = DRIVER_CALLS(rows);
