/*
 * Kernel launches. At their begin they ask whether the kernel is launched for the first time and loaded on the way: a
 * phase of compilation (lazy_loading.h).
 */
#include "injected/collect/driver_calls.h"
#include "injected/collect/lazy_loading.h"
#include "injected/collect/names_due.h"

static struct gputrace_kernel_launch begin(const struct driver_return *returned, CUfunction kernel, CUstream stream)
{
    return (struct gputrace_kernel_launch){
        .call = returned->call,
        .name = returned->symbol,
        .kernel = driver_call_integer(kernel),
        .stream = driver_call_stream(returned, stream),
    };
}

/* The shape of a launch, which stands in structs that are alike but for their type. */
#define SET_SHAPE(launch, from)                          \
    do {                                                 \
        (launch)->grid[0] = (from)->gridDimX;            \
        (launch)->grid[1] = (from)->gridDimY;            \
        (launch)->grid[2] = (from)->gridDimZ;            \
        (launch)->block[0] = (from)->blockDimX;          \
        (launch)->block[1] = (from)->blockDimY;          \
        (launch)->block[2] = (from)->blockDimZ;          \
        (launch)->shared_bytes = (from)->sharedMemBytes; \
    } while (0)

static void tell_launch(const struct driver_return *returned)
{
    const cuLaunchKernel_params *p = returned->params;
    struct gputrace_kernel_launch launch = begin(returned, p->f, p->hStream);
    SET_SHAPE(&launch, p);
    registry_kernel_launch_publish(&launch);
}

static void tell_cooperative(const struct driver_return *returned)
{
    const cuLaunchCooperativeKernel_params *p = returned->params;
    struct gputrace_kernel_launch launch = begin(returned, p->f, p->hStream);
    SET_SHAPE(&launch, p);
    launch.cooperative = 1;
    registry_kernel_launch_publish(&launch);
}

static uint32_t is_cooperative(const CUlaunchConfig *config)
{
    for (unsigned i = 0; config->attrs && i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            return config->attrs[i].value.cooperative != 0;
    return 0;
}

/* The attributes of a launch that was refused may be what it was refused for: they are not looked at. */
static void tell_launch_ex(const struct driver_return *returned)
{
    const cuLaunchKernelEx_params *p = returned->params;
    struct gputrace_kernel_launch launch = begin(returned, p->f, p->config ? p->config->hStream : NULL);
    if (p->config)
        SET_SHAPE(&launch, p->config);
    if (driver_call_done(returned))
        launch.cooperative = is_cooperative(p->config);
    registry_kernel_launch_publish(&launch);
}

/* One launch on each of several devices. The call's device and context are the thread's, and one symbol stands for no
 * more than one of the kernels: the name is left out. Of a failed call nothing is known but that. */
static void tell_multi_device(const struct driver_return *returned)
{
    const cuLaunchCooperativeKernelMultiDevice_params *p = returned->params;
    unsigned count = driver_call_done(returned) ? p->numDevices : 0;
    for (unsigned i = 0; i < count; i++) {
        const CUDA_LAUNCH_PARAMS *one = &p->launchParamsList[i];
        struct gputrace_kernel_launch launch = begin(returned, one->function, one->hStream);
        SET_SHAPE(&launch, one);
        launch.name = NULL;
        launch.cooperative = 1;
        registry_kernel_launch_publish(&launch);
    }
    if (count == 0)
        registry_kernel_launch_publish(&(struct gputrace_kernel_launch){.call = returned->call, .cooperative = 1});
}

/* The functions of CUDA 3: the block's shape was set before, by a call of its own, and is not told. */
static void tell_grid(const struct driver_return *returned, CUfunction kernel, CUstream stream, int width, int height)
{
    struct gputrace_kernel_launch launch = begin(returned, kernel, stream);
    launch.grid[0] = (uint32_t)width;
    launch.grid[1] = (uint32_t)height;
    launch.grid[2] = 1;
    registry_kernel_launch_publish(&launch);
}

static void tell_old(const struct driver_return *returned)
{
    const cuLaunch_params *p = returned->params;
    tell_grid(returned, p->f, NULL, 1, 1);
}

static void tell_old_grid(const struct driver_return *returned)
{
    const cuLaunchGrid_params *p = returned->params;
    tell_grid(returned, p->f, NULL, p->grid_width, p->grid_height);
}

static void tell_old_grid_async(const struct driver_return *returned)
{
    const cuLaunchGridAsync_params *p = returned->params;
    tell_grid(returned, p->f, p->hStream, p->grid_width, p->grid_height);
}

/* --- the first launch of a kernel --- */

static uint32_t loads_first(CUfunction kernel, uint32_t correlation)
{
    names_due_launch(kernel);
    return lazy_loading_begins(kernel, correlation) ? GPUTRACE_TRIGGER_FUNCTION_LOAD : 0;
}

static uint32_t launch_loads(const void *params, uint32_t correlation)
{
    return loads_first(((const cuLaunchKernel_params *)params)->f, correlation);
}

static uint32_t launch_ex_loads(const void *params, uint32_t correlation)
{
    return loads_first(((const cuLaunchKernelEx_params *)params)->f, correlation);
}

static uint32_t cooperative_loads(const void *params, uint32_t correlation)
{
    return loads_first(((const cuLaunchCooperativeKernel_params *)params)->f, correlation);
}

#define LAUNCH REGISTRY_BIT(kernel_launch)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTSZ(cuLaunchKernel, LAUNCH, tell_launch, launch_loads),
    DRIVER_CALL_PTSZ(cuLaunchKernelEx, LAUNCH, tell_launch_ex, launch_ex_loads),
    DRIVER_CALL_PTSZ(cuLaunchCooperativeKernel, LAUNCH, tell_cooperative, cooperative_loads),
    DRIVER_CALL(cuLaunchCooperativeKernelMultiDevice, LAUNCH, tell_multi_device, NULL),
    DRIVER_CALL(cuLaunch, LAUNCH, tell_old, NULL),
    DRIVER_CALL(cuLaunchGrid, LAUNCH, tell_old_grid, NULL),
    DRIVER_CALL(cuLaunchGridAsync, LAUNCH, tell_old_grid_async, NULL),
};

const struct driver_calls launch_calls = DRIVER_CALLS(rows);
