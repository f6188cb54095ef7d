/*
 * planted_kernels: kernels that leave multiprocessors empty, or are slow by what they are, and their twins: see
 * planted.h. A kernel takes as long as its argument says; on the simulated GPU, as SIMGPU_KERNEL_NS says.
 */
#include "planted.h"

enum { ROUNDS = 20, MICROSECONDS = 500 };

__global__ void spinning_in_shared_memory(int microseconds)
{
    extern __shared__ int shared[];
    shared[threadIdx.x] = microseconds;
    spin(shared[threadIdx.x]);
}

/* These are named as NCCL and cuBLAS name theirs. */
extern "C" __global__ void ncclDevKernel_AllReduce_Sum_f32_RING_LL(int microseconds)
{
    spin(microseconds);
}

extern "C" __global__ void ampere_sgemm_128x64_nn(int microseconds)
{
    spin(microseconds);
}

extern "C" __global__ void cutlass_80_tensorop_s1688gemm_128x64_nn(int microseconds)
{
    spin(microseconds);
}

static int attribute(cudaDeviceAttr which)
{
    int value;
    CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

static int multiprocessors()
{
    return attribute(cudaDevAttrMultiProcessorCount);
}

/* The work is done by 8 blocks, or by a block for each multiprocessor. */
static void tiny(bool fixed)
{
    enum { BLOCKS = 8 };
    cudaStream_t stream = new_stream();
    int blocks = fixed ? multiprocessors() : BLOCKS;
    hold(&stream, 1);
    for (int i = 0; i < ROUNDS; i++)
        spinning<<<blocks, 256, 0, stream>>>(MICROSECONDS * BLOCKS / blocks);
}

/* One block more than a multiple of what the GPU runs at once. */
static void tail(bool fixed)
{
    enum { THREADS = 1024 };
    cudaStream_t stream = new_stream();
    int wave = multiprocessors() * (attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / THREADS);
    hold(&stream, 1);
    for (int i = 0; i < ROUNDS; i++)
        spinning<<<fixed ? wave : wave + 1, THREADS, 0, stream>>>(MICROSECONDS);
}

/* Of 8 blocks of 128 threads a multiprocessor runs two at once, or all. */
static void occupancy(bool fixed)
{
    enum { THREADS = 128, BLOCKS = 8, AT_ONCE = 2 };
    cudaStream_t stream = new_stream();
    int shared = fixed ? THREADS * (int)sizeof(int) : 100 << 10;
    CHECK(cudaFuncSetAttribute(spinning_in_shared_memory, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    hold(&stream, 1);
    for (int i = 0; i < ROUNDS; i++)
        spinning_in_shared_memory<<<BLOCKS * multiprocessors(), THREADS, shared, stream>>>(MICROSECONDS * AT_ONCE /
                                                                                           BLOCKS);
}

/* Communication follows computation, or runs in another stream while the next computation does. */
static void communication(bool fixed)
{
    cudaStream_t streams[] = {new_stream(), new_stream()};
    hold(streams, 2);
    for (int i = 0; i < ROUNDS; i++) {
        ncclDevKernel_AllReduce_Sum_f32_RING_LL<<<8, 256, 0, streams[fixed]>>>(MICROSECONDS / 2);
        spinning<<<multiprocessors(), 256, 0, streams[0]>>>(MICROSECONDS);
    }
}

static void products(bool fixed)
{
    cudaStream_t stream = new_stream();
    hold(&stream, 1);
    for (int i = 0; i < ROUNDS; i++) {
        if (fixed)
            cutlass_80_tensorop_s1688gemm_128x64_nn<<<multiprocessors(), 256, 0, stream>>>(MICROSECONDS / 8);
        else
            ampere_sgemm_128x64_nn<<<multiprocessors(), 256, 0, stream>>>(MICROSECONDS);
    }
}

static const planted_case cases[] = {
    {"tiny", tiny}, {"tail", tail}, {"occupancy", occupancy}, {"communication", communication}, {"products", products}};

PLANTED_MAIN(cases)
