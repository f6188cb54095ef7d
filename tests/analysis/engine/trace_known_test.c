/* Blocks of a multiprocessor beside NVIDIA's occupancy calculator. */
#include "tests/unit.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace.h"

static const cudaOccDeviceProp gpus[] = {
    /* major, minor, threads: of a block, of a multiprocessor; registers: the same; warp; shared: block, multiprocessor,
       multiprocessors, most of a block, of the system */
    {7, 0, 1024, 2048, 65536, 65536, 32, 49152, 98304, 80, 98304, 0},
    {7, 5, 1024, 1024, 65536, 65536, 32, 49152, 65536, 40, 65536, 0},
    {8, 0, 1024, 2048, 65536, 65536, 32, 49152, 167936, 108, 166912, 1024},
    {8, 6, 1024, 1536, 65536, 65536, 32, 49152, 102400, 84, 101376, 1024},
    {8, 9, 1024, 1536, 65536, 65536, 32, 49152, 102400, 142, 101376, 1024},
    {9, 0, 1024, 2048, 65536, 65536, 32, 49152, 233472, 132, 232448, 1024},
    {10, 0, 1024, 2048, 65536, 65536, 32, 49152, 233472, 148, 232448, 1024},
    {12, 0, 1024, 1536, 65536, 65536, 32, 49152, 102400, 188, 101376, 1024},
};

static int64_t by_nvidia(const cudaOccDeviceProp *gpu, int threads, int registers, int shared)
{
    cudaOccFuncAttributes function;
    cudaOccDeviceState state;
    cudaOccResult result;
    memset(&function, 0, sizeof(function));
    memset(&state, 0, sizeof(state));
    memset(&result, 0, sizeof(result));
    function.maxThreadsPerBlock = INT32_MAX;
    function.numRegs = registers;
    function.sharedSizeBytes = (size_t)shared;
    function.maxDynamicSharedSizeBytes = 0;
    function.partitionedGCConfig = PARTITIONED_GC_OFF;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    state.cacheConfig = CACHE_PREFER_SHARED;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(&result, gpu, &function, &state, threads, 0),
                     CUDA_OCC_SUCCESS);
    return result.activeBlocksPerMultiprocessor;
}

UNIT_TEST(random_shapes_agree_with_nvidias_calculator)
{
    unsigned fitting = 0;
    for (size_t i = 0; i < sizeof(gpus) / sizeof(*gpus); i++)
        for (unit_seed = 1; unit_seed < 5000; unit_seed += 7) {
            const cudaOccDeviceProp *gpu = &gpus[i];
            const struct trace_device device = {.threads = gpu->maxThreadsPerMultiprocessor,
                                                .registers = gpu->regsPerMultiprocessor,
                                                .shared_bytes = (int64_t)gpu->sharedMemPerMultiprocessor,
                                                .major = gpu->computeMajor,
                                                .minor = gpu->computeMinor};
            unsigned kept = unit_seed;
            int threads = 1 + (int)unit_random_below(1024), registers = 16 + (int)unit_random_below(240);
            int shared = unit_random_below(2) ? 1 + (int)unit_random_below(48000) : 0;
            int64_t expected = by_nvidia(gpu, threads, registers, shared);
            fitting += expected > 0;
            const struct block_shape shape = {threads, registers, shared};
            if (device_blocks(&device, &shape) != expected)
                fail_msg("GPU %d.%d, %d threads, %d registers, %d bytes: %lld, not %lld", gpu->computeMajor,
                         gpu->computeMinor, threads, registers, shared, (long long)device_blocks(&device, &shape),
                         (long long)expected);
            unit_seed = kept;
        }
    assert_true(fitting > 1000);
}

static int64_t percent_on(const struct trace_device *device, int64_t threads, int64_t registers, int64_t shared)
{
    const struct block_shape shape = {threads, registers, shared};
    return device_occupancy(device, &shape);
}

UNIT_TEST(occupancy_is_that_of_whole_warps)
{
    const struct trace_device h200 = {.threads = 2048, .registers = 65536, .shared_bytes = 233472, .major = 9};
    assert_int_equal(percent_on(&h200, 512, 56, 2048), 50); /* as torch.profiler says of this kernel */
    assert_int_equal(percent_on(&h200, 33, 16, 0), 100);
    assert_int_equal(percent_on(&h200, 256, 255, 0), 12);
    assert_int_equal(percent_on(&h200, 64, 32, 100000), 6);
    assert_int_equal(percent_on(&h200, 0, 32, 0), 0);
}

UNIT_MAIN(NULL, NULL)
