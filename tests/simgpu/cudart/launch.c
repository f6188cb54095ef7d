/* The runtime API: launching kernels, and what is known of them. */
#include "cudart/registry.h"
#include "cudart/runtime.h"

enum { CONFIGURATIONS = 64 };

/* <<<…>>> pushes the configuration; the stub of the kernel that is called next pops it. */
static _Thread_local struct {
    struct {
        dim3 grid, block;
        size_t shared;
        cudaStream_t stream;
    } pushed[CONFIGURATIONS];
    unsigned count;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func);

API_EXPORT unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                                struct CUstream_st *stream)
{
    if (configuration.count == CONFIGURATIONS)
        return 1;
    unsigned i = configuration.count++;
    configuration.pushed[i].grid = gridDim;
    configuration.pushed[i].block = blockDim;
    configuration.pushed[i].shared = sharedMem;
    configuration.pushed[i].stream = stream;
    return 0;
}

API_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream)
{
    if (!configuration.count)
        return cudaErrorMissingConfiguration;
    unsigned i = --configuration.count;
    *gridDim = configuration.pushed[i].grid;
    *blockDim = configuration.pushed[i].block;
    *sharedMem = configuration.pushed[i].shared;
    *(cudaStream_t *)stream = configuration.pushed[i].stream;
    return cudaSuccess;
}

/* The handle that launches get is the host's function still: loading waits for the first launch, as with the real one.
 */
API_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
    *kernel = (cudaKernel_t)(uintptr_t)func;
    return cudaSuccess;
}

RUNTIME_LAUNCH_API(cudaLaunchKernel, v7000, v7000, registry_name(func))
{
    NEED_CONTEXT();
    CUfunction function;
    TRY(registry_kernel(p->func, &function));
    CUresult result =
        PICK(cuLaunchKernel)(function, p->gridDim.x, p->gridDim.y, p->gridDim.z, p->blockDim.x, p->blockDim.y,
                             p->blockDim.z, (unsigned)p->sharedMem, p->stream, p->args, NULL);
    return result == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration : DRIVER(result);
}

/* What nvcc 13 makes of <<<…>>>. CUPTI tells it as cudaLaunchKernel. */
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                                    cudaStream_t stream);

API_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                                          size_t sharedMem, cudaStream_t stream)
{
    return cudaLaunchKernel((const void *)kernel, gridDim, blockDim, args, sharedMem, stream);
}

API_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                                               size_t sharedMem, cudaStream_t stream)
{
    return cudaLaunchKernel_ptsz((const void *)kernel, gridDim, blockDim, args, sharedMem, stream);
}

RUNTIME_LAUNCH_API(cudaLaunchCooperativeKernel, v9000, v9000, registry_name(func))
{
    NEED_CONTEXT();
    CUfunction function;
    TRY(registry_kernel(p->func, &function));
    return DRIVER(PICK(cuLaunchCooperativeKernel)(function, p->gridDim.x, p->gridDim.y, p->gridDim.z, p->blockDim.x,
                                                  p->blockDim.y, p->blockDim.z, (unsigned)p->sharedMem, p->stream,
                                                  p->args));
}

RUNTIME_LAUNCH_API(cudaLaunchKernelExC, v11060, v11060, registry_name(func))
{
    NEED_VALUE(p->config);
    NEED_CONTEXT();
    CUfunction function;
    TRY(registry_kernel(p->func, &function));
    const CUlaunchConfig driver = {
        .gridDimX = p->config->gridDim.x,
        .gridDimY = p->config->gridDim.y,
        .gridDimZ = p->config->gridDim.z,
        .blockDimX = p->config->blockDim.x,
        .blockDimY = p->config->blockDim.y,
        .blockDimZ = p->config->blockDim.z,
        .sharedMemBytes = (unsigned)p->config->dynamicSmemBytes,
        .hStream = p->config->stream,
        .attrs = (CUlaunchAttribute *)(void *)p->config->attrs, /* one layout, two names */
        .numAttrs = p->config->numAttrs,
    };
    return DRIVER(PICK(cuLaunchKernelEx)(&driver, function, p->args, NULL));
}

RUNTIME_STREAM_FORWARD(cudaLaunchHostFunc, v10000, v10000, cuLaunchHostFunc)

/* ---- what is known of kernels ---- */

RUNTIME_API(cudaFuncGetAttributes, v3020)
{
    NEED_VALUE(p->attr);
    NEED_CONTEXT();
    CUfunction f;
    TRY(registry_kernel(p->func, &f));
    int shared, registers, threads, dynamic, version;
    TRY(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    TRY(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    TRY(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    TRY(cuFuncGetAttribute(&dynamic, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    TRY(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f));
    *p->attr = (struct cudaFuncAttributes){.sharedSizeBytes = (size_t)shared,
                                           .maxThreadsPerBlock = threads,
                                           .numRegs = registers,
                                           .ptxVersion = version,
                                           .binaryVersion = version,
                                           .maxDynamicSharedSizeBytes = dynamic,
                                           .preferredShmemCarveout = -1};
    return cudaSuccess;
}

RUNTIME_API(cudaFuncSetAttribute, v9000)
{
    NEED_CONTEXT();
    CUfunction function;
    TRY(registry_kernel(p->func, &function));
    return DRIVER(cuFuncSetAttribute(function, (CUfunction_attribute)p->attr, p->value));
}

/* ---- libraries ---- */

RUNTIME_CALL(cudaLibraryLoadData, v12060, cuLibraryLoadData, p->library, p->code, NULL, NULL, 0, NULL, NULL, 0)

RUNTIME_FORWARD_PLAIN(cudaLibraryUnload, v12060, cuLibraryUnload)
