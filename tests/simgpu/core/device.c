#include "core/device.h"

#include <string.h>

#include "core/config.h"

/* X(attribute without its prefix, value) */
#define DEVICE_ATTRIBUTES(X)                          \
    X(MAX_THREADS_PER_BLOCK, 1024)                    \
    X(MAX_BLOCK_DIM_X, 1024)                          \
    X(MAX_BLOCK_DIM_Y, 1024)                          \
    X(MAX_BLOCK_DIM_Z, 64)                            \
    X(MAX_GRID_DIM_X, 2147483647)                     \
    X(MAX_GRID_DIM_Y, 65535)                          \
    X(MAX_GRID_DIM_Z, 65535)                          \
    X(MAX_SHARED_MEMORY_PER_BLOCK, 49152)             \
    X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448)      \
    X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472)   \
    X(RESERVED_SHARED_MEMORY_PER_BLOCK, 1024)         \
    X(TOTAL_CONSTANT_MEMORY, 65536)                   \
    X(WARP_SIZE, 32)                                  \
    X(MAX_PITCH, 2147483647)                          \
    X(MAX_REGISTERS_PER_BLOCK, 65536)                 \
    X(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536)        \
    X(MAX_THREADS_PER_MULTIPROCESSOR, 2048)           \
    X(MAX_BLOCKS_PER_MULTIPROCESSOR, 32)              \
    X(MULTIPROCESSOR_COUNT, 132)                      \
    X(CLOCK_RATE, 1980000)                            \
    X(MEMORY_CLOCK_RATE, 3201000)                     \
    X(GLOBAL_MEMORY_BUS_WIDTH, 6144)                  \
    X(L2_CACHE_SIZE, 62914560)                        \
    X(MAX_PERSISTING_L2_CACHE_SIZE, 39321600)         \
    X(MAX_ACCESS_POLICY_WINDOW_SIZE, 134217728)       \
    X(TEXTURE_ALIGNMENT, 512)                         \
    X(TEXTURE_PITCH_ALIGNMENT, 32)                    \
    X(SURFACE_ALIGNMENT, 512)                         \
    X(COMPUTE_CAPABILITY_MAJOR, 9)                    \
    X(COMPUTE_CAPABILITY_MINOR, 0)                    \
    X(COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT)           \
    X(ASYNC_ENGINE_COUNT, 3)                          \
    X(GPU_OVERLAP, 1)                                 \
    X(CONCURRENT_KERNELS, 1)                          \
    X(ECC_ENABLED, 1)                                 \
    X(CAN_MAP_HOST_MEMORY, 1)                         \
    X(UNIFIED_ADDRESSING, 1)                          \
    X(MANAGED_MEMORY, 1)                              \
    X(CONCURRENT_MANAGED_ACCESS, 1)                   \
    X(HOST_REGISTER_SUPPORTED, 1)                     \
    X(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1)     \
    X(HOST_NATIVE_ATOMIC_SUPPORTED, 0)                \
    X(PAGEABLE_MEMORY_ACCESS, 0)                      \
    X(COMPUTE_PREEMPTION_SUPPORTED, 1)                \
    X(STREAM_PRIORITIES_SUPPORTED, 1)                 \
    X(GLOBAL_L1_CACHE_SUPPORTED, 1)                   \
    X(LOCAL_L1_CACHE_SUPPORTED, 1)                    \
    X(COOPERATIVE_LAUNCH, 1)                          \
    X(CLUSTER_LAUNCH, 1)                              \
    X(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1)         \
    X(MEMORY_POOLS_SUPPORTED, 1)                      \
    X(CAN_USE_64_BIT_STREAM_MEM_OPS, 1)               \
    X(CAN_USE_STREAM_WAIT_VALUE_NOR, 1)               \
    X(MEMPOOL_SUPPORTED_HANDLE_TYPES, 1)              \
    X(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1) \
    X(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2)       \
    X(MAXIMUM_TEXTURE1D_WIDTH, 131072)                \
    X(MAXIMUM_TEXTURE2D_WIDTH, 131072)                \
    X(MAXIMUM_TEXTURE2D_HEIGHT, 65536)                \
    X(MAXIMUM_TEXTURE3D_WIDTH, 16384)                 \
    X(MAXIMUM_TEXTURE3D_HEIGHT, 16384)                \
    X(MAXIMUM_TEXTURE3D_DEPTH, 16384)                 \
    X(PCI_DOMAIN_ID, 0)                               \
    X(PCI_DEVICE_ID, 0)                               \
    X(INTEGRATED, 0)                                  \
    X(KERNEL_EXEC_TIMEOUT, 0)                         \
    X(TCC_DRIVER, 0)                                  \
    X(MULTI_GPU_BOARD, 0)

static struct device devices[DEVICE_MOST] = {{.ordinal = 0}, {.ordinal = 1}, {.ordinal = 2}, {.ordinal = 3},
                                             {.ordinal = 4}, {.ordinal = 5}, {.ordinal = 6}, {.ordinal = 7}};

int device_count(void)
{
    return config()->no_device ? 0 : (int)config()->devices;
}

struct device *device_get(int ordinal)
{
    return ordinal >= 0 && ordinal < device_count() ? &devices[ordinal] : NULL;
}

void device_uuid(const struct device *device, CUuuid *uuid)
{
    memset(uuid, 0, sizeof(*uuid));
    memcpy(uuid->bytes, "simulated GPU", 13);
    uuid->bytes[15] = (char)device->ordinal;
}

bool device_attribute(const struct device *device, CUdevice_attribute attribute, int *value)
{
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = device->ordinal + 1; return true;
    case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID: *value = device->ordinal; return true;
#define X(name, known) \
    case CU_DEVICE_ATTRIBUTE_##name: *value = known; return true;
        DEVICE_ATTRIBUTES(X)
#undef X
    default:
        /* What else there is are abilities, and this device has none of them. */
        *value = 0;
        return attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX;
    }
}
