#include "tests/agent/cupti/launching.h"

#include "agent/cupti/driver_calls.h"
#include "agent/cupti/kernel_names.h"
#include "agent/dispatch/registry.h"

struct launching_published published;

static uint64_t registration;

static void hear(void *data, const struct gputrace_launch_name *name)
{
    (void)data;
    published.count++;
    published.correlation = name->correlation;
    snprintf(published.text, sizeof(published.text), "%.*s", (int)name->text.length, name->text.bytes);
}

int launching_want(void)
{
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_launch_name, (gputrace_any_fn *)hear, NULL);
    return registration == 0;
}

int launching_want_no_more(void)
{
    return registry_remove(REGISTRY_LIBRARY, registration);
}

int launching_start(void **state)
{
    char why[256];
    (void)state;
    return launching_want() != 0 || cupti_callbacks_init(&fake_cupti, why, sizeof(why)) != 0;
}

int launching_clear(void **state)
{
    (void)state;
    first_launches_forget();
    memset(&published, 0, sizeof(published));
    return launches_are_on();
}

bool launches_are_on(void)
{
    return fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH);
}

void get_function(const char *name)
{
    CUfunction function = (CUfunction)0x10;
    cuModuleGetFunction_params p = {&function, (CUmodule)0x1, name};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction, &p, CUDA_SUCCESS);
}

void get_kernel(const char *name, CUresult result)
{
    CUkernel kernel = (CUkernel)0x20;
    cuLibraryGetKernel_params p = {&kernel, (CUlibrary)0x1, name};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel, &p, result);
}

void launch(const char *name)
{
    cuLaunchKernel_params p = {.f = (CUfunction)0x30};
    fake_symbol = name;
    fake_call(LAUNCH, &p, CUDA_SUCCESS);
    fake_symbol = NULL;
}

void launch_others(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        launch("other");
}
