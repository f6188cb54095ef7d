/* The driver API: launching kernels, and how many of them fit. */
#include <signal.h>
#include <stdatomic.h>

#include "core/api.h"
#include "core/config.h"
#include "core/function.h"
#include "core/stream.h"
#include "cuda/need.h"

enum { BLOCK_MOST = 1024, SHARED_MOST = 232448, SM_THREADS = 2048, SM_BLOCKS = 32, SM_SHARED = 233472, SMS = 132 };

/* Dies here when the environment says that this launch is the last. Gives its number. */
static uint64_t launch_fate(void)
{
    static atomic_uint_least64_t launches;
    uint64_t number = atomic_fetch_add(&launches, 1) + 1;
    if (number == config()->crash_launch)
        raise(SIGSEGV);
    if (number == config()->kill_launch)
        raise(SIGKILL);
    return number;
}

static CUresult launch(const struct op_kernel *kernel, CUstream stream)
{
    uint64_t number = launch_fate();
    NEED_HANDLE(kernel->function);
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT);
    uint64_t threads = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
    NEED_VALUE(kernel->grid[0] && kernel->grid[1] && kernel->grid[2] && threads && threads <= BLOCK_MOST);
    NEED_VALUE(kernel->grid[1] <= 65535 && kernel->grid[2] <= 65535 && kernel->shared <= SHARED_MOST);
    function_load((struct function *)(uintptr_t)kernel->function, stream->context);
    function_notify_launch(kernel->function, stream->context);
    struct op op = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *kernel};
    op.kernel.told = meeting_take_next();
    CUresult result = stream_submit(stream, &op, false);
    if (number == config()->kill_launched)
        raise(SIGKILL);
    return result;
}

static const char *symbol_of(CUfunction f)
{
    return f ? function_of(f)->name : NULL;
}

DRIVER_LAUNCH_API(cuLaunchKernel, symbol_of(f))
{
    const struct op_kernel kernel = {
        .function = function_of(p->f),
        .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
        .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
        .shared = p->sharedMemBytes,
        .arguments = p->kernelParams,
        .extra = p->extra,
    };
    return launch(&kernel, stream_resolve(p->hStream, per_thread));
}

static void launch_attribute(struct op_kernel *kernel, const CUlaunchAttribute *attribute)
{
    if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute->value.cooperative)
        kernel->launch_type = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
    if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        kernel->cluster[0] = attribute->value.clusterDim.x;
        kernel->cluster[1] = attribute->value.clusterDim.y;
        kernel->cluster[2] = attribute->value.clusterDim.z;
    }
}

DRIVER_LAUNCH_API(cuLaunchKernelEx, symbol_of(f))
{
    const CUlaunchConfig *c = p->config;
    NEED_VALUE(c);
    struct op_kernel kernel = {
        .function = function_of(p->f),
        .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
        .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
        .shared = c->sharedMemBytes,
        .arguments = p->kernelParams,
        .extra = p->extra,
    };
    for (unsigned i = 0; i < c->numAttrs; i++)
        launch_attribute(&kernel, &c->attrs[i]);
    return launch(&kernel, stream_resolve(c->hStream, per_thread));
}

/* How many blocks of THREADS threads and SHARED bytes one multiprocessor holds. */
static unsigned blocks_at_once(uint64_t threads, size_t shared)
{
    unsigned blocks = threads ? (unsigned)(SM_THREADS / threads) : 0;
    if (shared && SM_SHARED / shared < blocks)
        blocks = (unsigned)(SM_SHARED / shared);
    return blocks < SM_BLOCKS ? blocks : SM_BLOCKS;
}

DRIVER_LAUNCH_API(cuLaunchCooperativeKernel, symbol_of(f))
{
    const struct op_kernel kernel = {
        .function = function_of(p->f),
        .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
        .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
        .shared = p->sharedMemBytes,
        .launch_type = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE,
        .arguments = p->kernelParams,
    };
    uint64_t blocks = (uint64_t)p->gridDimX * p->gridDimY * p->gridDimZ;
    uint64_t threads = (uint64_t)p->blockDimX * p->blockDimY * p->blockDimZ;
    NEED(blocks <= (uint64_t)blocks_at_once(threads, p->sharedMemBytes) * SMS, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    return launch(&kernel, stream_resolve(p->hStream, per_thread));
}

/* ---- occupancy ---- */
