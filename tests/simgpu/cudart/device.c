/* The runtime API: devices, versions, the profiler's switch. */
#include <string.h>

#include "cudart/runtime.h"

#include <cudaProfiler.h>

enum { RUNTIME_VERSION = 13000 };

RUNTIME_API(cudaRuntimeGetVersion, v3020)
{
    NEED_VALUE(p->runtimeVersion);
    *p->runtimeVersion = RUNTIME_VERSION;
    return cudaSuccess;
}

RUNTIME_FORWARD_PLAIN(cudaDriverGetVersion, v3020, cuDriverGetVersion)

/* Unlike others this one also answers when there is no driver: with none. */
API_EXPORT cudaError_t CUDARTAPI cudaGetDeviceCount(int *count);
API_EXPORT cudaError_t CUDARTAPI cudaGetDeviceCount(int *count)
{
    const cudaGetDeviceCount_v3020_params params = {count};
    if (!count)
        return runtime_end(cudaErrorInvalidValue);
    *count = 0;
    RUNTIME_RUN(cudaGetDeviceCount_v3020, "cudaGetDeviceCount", &params, NULL, runtime_end,
                DRIVER(cuDeviceGetCount(count)));
}

RUNTIME_API(cudaSetDevice, v3020)
{
    return runtime_set_device(p->device);
}

RUNTIME_API(cudaGetDevice, v3020)
{
    NEED_VALUE(p->device);
    *p->device = runtime_device();
    return cudaSuccess;
}

RUNTIME_CALL_PLAIN(cudaDeviceGetAttribute, v5000, cuDeviceGetAttribute, p->value, (CUdevice_attribute)p->attr,
                   p->device)

/* X(field, attribute): what cudaDeviceProp has of the driver's attributes */
#define PROPERTIES(X)                                                             \
    X(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                             \
    X(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                      \
    X(warpSize, WARP_SIZE)                                                        \
    X(memPitch, MAX_PITCH)                                                        \
    X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                  \
    X(maxThreadsDim[0], MAX_BLOCK_DIM_X)                                          \
    X(maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                          \
    X(maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                          \
    X(maxGridSize[0], MAX_GRID_DIM_X)                                             \
    X(maxGridSize[1], MAX_GRID_DIM_Y)                                             \
    X(maxGridSize[2], MAX_GRID_DIM_Z)                                             \
    X(totalConstMem, TOTAL_CONSTANT_MEMORY)                                       \
    X(major, COMPUTE_CAPABILITY_MAJOR)                                            \
    X(minor, COMPUTE_CAPABILITY_MINOR)                                            \
    X(textureAlignment, TEXTURE_ALIGNMENT)                                        \
    X(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT)                             \
    X(multiProcessorCount, MULTIPROCESSOR_COUNT)                                  \
    X(integrated, INTEGRATED)                                                     \
    X(canMapHostMemory, CAN_MAP_HOST_MEMORY)                                      \
    X(surfaceAlignment, SURFACE_ALIGNMENT)                                        \
    X(concurrentKernels, CONCURRENT_KERNELS)                                      \
    X(ECCEnabled, ECC_ENABLED)                                                    \
    X(pciBusID, PCI_BUS_ID)                                                       \
    X(pciDeviceID, PCI_DEVICE_ID)                                                 \
    X(pciDomainID, PCI_DOMAIN_ID)                                                 \
    X(tccDriver, TCC_DRIVER)                                                      \
    X(asyncEngineCount, ASYNC_ENGINE_COUNT)                                       \
    X(unifiedAddressing, UNIFIED_ADDRESSING)                                      \
    X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                                    \
    X(l2CacheSize, L2_CACHE_SIZE)                                                 \
    X(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE)                     \
    X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)                \
    X(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)                     \
    X(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED)                          \
    X(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED)                            \
    X(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)           \
    X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)                    \
    X(managedMemory, MANAGED_MEMORY)                                              \
    X(isMultiGpuBoard, MULTI_GPU_BOARD)                                           \
    X(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS)                               \
    X(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS)                         \
    X(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)                   \
    X(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) \
    X(cooperativeLaunch, COOPERATIVE_LAUNCH)                                      \
    X(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                  \
    X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)                  \
    X(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE)                   \
    X(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)                \
    X(hostRegisterSupported, HOST_REGISTER_SUPPORTED)                             \
    X(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                               \
    X(clusterLaunch, CLUSTER_LAUNCH)

RUNTIME_API(cudaGetDeviceProperties, v12000)
{
    NEED_VALUE(p->prop);
    struct cudaDeviceProp *prop = p->prop;
    memset(prop, 0, sizeof(*prop));
    TRY(cuDeviceGetName(prop->name, sizeof(prop->name), p->device));
    TRY(cuDeviceTotalMem_v2(&prop->totalGlobalMem, p->device));
    TRY(cuDeviceGetUuid_v2(&prop->uuid, p->device));
    int value;
#define X(field, attribute)                                                        \
    TRY(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, p->device)); \
    prop->field = (__typeof__(prop->field))value;
    PROPERTIES(X)
#undef X
    return cudaSuccess;
}

RUNTIME_API_0(runtime_end, cudaDeviceSynchronize, v3020)
{
    NEED_CONTEXT();
    return DRIVER(cuCtxSynchronize_v2(NULL));
}

RUNTIME_API_0(runtime_end, cudaDeviceReset, v3020)
{
    int device = runtime_device();
    runtime_forget(device);
    TRY(cuDevicePrimaryCtxReset_v2(device));
    return DRIVER(cuCtxSetCurrent(NULL));
}

RUNTIME_FORWARD(cudaDeviceGetStreamPriorityRange, v5050, cuCtxGetStreamPriorityRange)
RUNTIME_FORWARD_PLAIN(cudaDeviceCanAccessPeer, v4000, cuDeviceCanAccessPeer)

RUNTIME_API(cudaDeviceEnablePeerAccess, v4000)
{
    NEED_CONTEXT();
    CUcontext peer;
    TRY(runtime_primary(p->peerDevice, &peer));
    return DRIVER(cuCtxEnablePeerAccess(peer, p->flags));
}

RUNTIME_API(cudaDeviceDisablePeerAccess, v4000)
{
    NEED_CONTEXT();
    CUcontext peer;
    TRY(runtime_primary(p->peerDevice, &peer));
    return DRIVER(cuCtxDisablePeerAccess(peer));
}

RUNTIME_API_0(runtime_end, cudaProfilerStart, v4000)
{
    NEED_CONTEXT();
    return DRIVER(cuProfilerStart());
}

RUNTIME_API_0(runtime_end, cudaProfilerStop, v4000)
{
    NEED_CONTEXT();
    return DRIVER(cuProfilerStop());
}

/* Finds functions of the driver for programs that do not link with it. */
static cudaError_t entry_point(const char *symbol, void **function, unsigned version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status, bool per_thread)
{
    NEED_VALUE(symbol && function);
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (per_thread && flags == cudaEnableDefault)
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    CUresult result = cuGetProcAddress_v2(symbol, function, (int)version, flags, &found);
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    return result == CUDA_ERROR_NOT_FOUND && status ? cudaSuccess : DRIVER(result);
}

RUNTIME_STREAM_API(cudaGetDriverEntryPointByVersion, v12050, v12050)
{
    return entry_point(p->symbol, p->funcPtr, p->cudaVersion, p->flags, p->driverStatus, per_thread);
}

RUNTIME_STREAM_API(cudaGetDriverEntryPoint, v11030, v11030)
{
    return entry_point(p->symbol, p->funcPtr, RUNTIME_VERSION, p->flags, p->driverStatus, per_thread);
}
