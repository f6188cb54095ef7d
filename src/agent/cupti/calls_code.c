/*
 * Calls that prepare code and are told as phases of compilation: linking, and getting functions, whose code is loaded
 * then where modules are loaded lazily. What was got has a name (function_names.h) and is launched next
 * (first_launches.h).
 */
#include "agent/cupti/callback_switches.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/first_launches.h"
#include "agent/cupti/function_names.h"
#include "agent/cupti/lazy_loading.h"
#include "agent/dispatch/phases.h"

static uint32_t links(const void *params, CUcontext context, uint32_t correlation)
{
    (void)params, (void)context, (void)correlation;
    return GPUTRACE_TRIGGER_LINK;
}

static uint32_t loads_function(const void *params, CUcontext context, uint32_t correlation)
{
    (void)params, (void)context, (void)correlation;
    return GPUTRACE_TRIGGER_FUNCTION_LOAD;
}

/* Libraries ask for a kernel's function before each launch; it is loaded the first time. */
static uint32_t loads_kernel(const void *params, CUcontext context, uint32_t correlation)
{
    const cuKernelGetFunction_params *p = params;
    (void)correlation;
    return lazy_loading_is_first(p->kernel, context) ? GPUTRACE_TRIGGER_FUNCTION_LOAD : 0;
}

/* FUNCTION, a CUfunction or CUkernel called NAME (may be NULL), is of MODULE (may be NULL). */
static void got(const void *function, const char *name, const void *module)
{
    function_name_tell(function, name);
    first_launches_got(name, module);
}

/* CUDA's runtime gets a kernel right before it launches it for the first time; the launch loads it. */
static void note_kernel(const struct driver_return *returned)
{
    const cuLibraryGetKernel_params *p = returned->params;
    if (!driver_call_done(returned))
        return;
    got(*p->pKernel, p->name, p->library);
    if (callback_switches_wanted() & PHASE_KINDS)
        lazy_loading_arm(*p->pKernel, returned->call.correlation);
}

static void note_function(const struct driver_return *returned)
{
    const cuKernelGetFunction_params *p = returned->params;
    if (!driver_call_done(returned))
        return;
    lazy_loading_loaded(p->kernel);
    if (p->pFunc)
        got(*p->pFunc, kernel_name_ask(p->kernel), NULL);
}

static void note_module_function(const struct driver_return *returned)
{
    const cuModuleGetFunction_params *p = returned->params;
    if (driver_call_done(returned) && p->hfunc)
        got(*p->hfunc, p->name, p->hmod);
}

static void note_functions(const struct driver_return *returned)
{
    const cuModuleEnumerateFunctions_params *p = returned->params;
    unsigned count = driver_call_done(returned) && p->functions ? p->numFunctions : 0;
    for (unsigned i = 0; i < count; i++)
        got(p->functions[i], function_name_ask(p->functions[i]), p->mod);
}

static void note_kernels(const struct driver_return *returned)
{
    const cuLibraryEnumerateKernels_params *p = returned->params;
    unsigned count = driver_call_done(returned) && p->kernels ? p->numKernels : 0;
    for (unsigned i = 0; i < count; i++)
        got(p->kernels[i], kernel_name_ask(p->kernels[i]), p->lib);
}

/* CUPTI records just-in-time compilation only within calls that have a callback. */
#define PREPARES (PHASE_KINDS | REGISTRY_BIT(jit))
#define GETS (REGISTRY_BIT(launch_name) | REGISTRY_BIT(function_name))

static const struct driver_call rows[] = {
    DRIVER_CALL(cuLinkAddData, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddData_v2, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddFile, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkAddFile_v2, PREPARES, NULL, links),
    DRIVER_CALL(cuLinkComplete, PREPARES, NULL, links),
    DRIVER_CALL(cuModuleGetFunction, PREPARES | GETS, note_module_function, loads_function),
    DRIVER_CALL(cuFuncLoad, PREPARES, NULL, loads_function),
    DRIVER_CALL(cuLibraryGetModule, PREPARES, NULL, loads_function),
    DRIVER_CALL(cuKernelGetFunction, PREPARES | GETS, note_function, loads_kernel),
    DRIVER_CALL(cuLibraryGetKernel, PHASE_KINDS | GETS, note_kernel, NULL),
    DRIVER_CALL(cuLibraryEnumerateKernels, GETS, note_kernels, NULL),
    DRIVER_CALL(cuModuleEnumerateFunctions, GETS, note_functions, NULL),
};

const struct driver_calls code_calls = DRIVER_CALLS(rows);
