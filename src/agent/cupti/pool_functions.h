/*
 * What the driver is asked about pools (memory_pools.h).
 */
#ifndef GPUTRACE_AGENT_CUPTI_POOL_FUNCTIONS_H
#define GPUTRACE_AGENT_CUPTI_POOL_FUNCTIONS_H

#include <cuda.h>

/* Names as libcuda exports them; all are there since CUDA 11.2. */
#define POOL_FUNCTIONS(X)                                                                   \
    X(cuDeviceGetDefaultMemPool, CUmemoryPool *pool, CUdevice device)                       \
    X(cuMemPoolGetAttribute, CUmemoryPool pool, CUmemPool_attribute attribute, void *value) \
    X(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *mode)

struct pool_functions {
#define FUNCTION(name, ...) CUresult (*name)(__VA_ARGS__);
    POOL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* For tests: these instead of the process's. */
void memory_pools_replace_driver(const struct pool_functions *functions);

#endif
