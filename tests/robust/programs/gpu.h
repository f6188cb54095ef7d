/*
 * What the programs of this folder do with a GPU: a little, by the driver's API and NVTX, with a result that can be
 * checked.
 */
#ifndef TESTS_ROBUST_PROGRAMS_GPU_H
#define TESTS_ROBUST_PROGRAMS_GPU_H

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU_BYTES 4096

/* Ends the program when RESULT is an error. */
static inline void gpu_must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", what, (int)result);
    exit(9);
}
#define MUST(call) gpu_must(call, #call)

/* The first use of CUDA in this process: a context that is current to this thread. */
static inline CUcontext gpu_start(void)
{
    CUdevice device;
    CUcontext context;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    return context;
}

/* ROUNDS of a copy there, a set of its first half, and a copy back. Gives a number made of what came back. */
static inline unsigned gpu_work(unsigned rounds)
{
    unsigned char bytes[GPU_BYTES];
    unsigned sum = 0;
    for (unsigned round = 0; round < rounds; round++) {
        CUdeviceptr memory;
        nvtxRangePushA("round");
        MUST(cuMemAlloc(&memory, sizeof(bytes)));
        memset(bytes, (int)(round & 0x7f), sizeof(bytes));
        MUST(cuMemcpyHtoD(memory, bytes, sizeof(bytes)));
        MUST(cuMemsetD8(memory, 0x80, sizeof(bytes) / 2));
        memset(bytes, 0, sizeof(bytes));
        MUST(cuMemcpyDtoH(bytes, memory, sizeof(bytes)));
        MUST(cuMemFree(memory));
        nvtxRangePop();
        for (unsigned i = 0; i < sizeof(bytes); i++)
            sum = sum * 31 + bytes[i];
    }
    return sum;
}

/* COUNT ranges, each with a message of LENGTH bytes: many records in little time. */
static inline void nvtx_work(unsigned count, unsigned length)
{
    char message[4096];
    memset(message, 'm', sizeof(message));
    message[length < sizeof(message) ? length : sizeof(message) - 1] = '\0';
    for (unsigned i = 0; i < count; i++) {
        nvtxRangePushA(message);
        nvtxRangePop();
    }
}

#endif
