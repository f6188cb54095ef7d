/*
 * nvtx_memory_cuda: NVTX's memory extension for memory of CUDA's: arrays, permissions of devices, memory that a stream
 * has written.
 *
 * A correct trace holds: an instant for each call with what it was about.
 */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtMemCudaRt.h>

#include "statement.h"

static const size_t WIDTH = 64, HEIGHT = 32, BYTES = 1 << 20;

static void did(const char *words, uint64_t bytes)
{
    char what[120];
    snprintf(what, sizeof(what), "nvtx memory \"%s\"", words);
    state_range(what, 1, 1, true, bytes);
}

static void register_array(nvtxDomainHandle_t domain, cudaArray_t array)
{
    nvtxMemHeapDesc_t heap = {};
    heap.extCompatID = NVTX_EXT_COMPATID_MEM;
    heap.structSize = sizeof(heap);
    heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_LAYOUT;
    heap.type = NVTX_MEM_TYPE_CUDA_ARRAY;
    heap.typeSpecificDescSize = sizeof(array);
    heap.typeSpecificDesc = &array;
    heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
    heap.message.ascii = "texture";
    nvtxMemHeapHandle_t handle = nvtxMemHeapRegister(domain, &heap);
    did("Heap registered", 0);
    state("nvtx memory \"Heap registered\" arg \"kind\" \"CUDA array\"");

    nvtxMemCudaArrayRangeDesc_t range = {};
    range.extCompatID = NVTX_EXT_COMPATID_MEM;
    range.structSize = sizeof(range);
    range.src = array;
    range.extent[0] = WIDTH;
    range.extent[1] = HEIGHT;
    range.extent[2] = 1;
    nvtxMemRegionHandle_t region = nullptr;
    nvtxMemRegionsRegisterBatch_t batch = {};
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof(batch);
    batch.regionType = NVTX_MEM_TYPE_CUDA_ARRAY;
    batch.heap = handle;
    batch.regionCount = 1;
    batch.regionDescElementSize = sizeof(range);
    batch.regionDescElements = &range;
    batch.regionHandleElementsOut = &region;
    nvtxMemRegionsRegister(domain, &batch);
    did("Region registered", 0);
    state("nvtx memory \"Region registered\" arg \"extent[0]\" 64");
    state("nvtx memory \"Region registered\" arg \"extent[1]\" 32");
}

static void mark_initialized(nvtxDomainHandle_t domain, void *memory, cudaStream_t stream)
{
    nvtxMemVirtualRangeDesc_t range = {BYTES, memory};
    nvtxMemMarkInitializedBatch_t batch = {};
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof(batch);
    batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    batch.regionDescCount = 1;
    batch.regionDescElementSize = sizeof(range);
    batch.regionDescElements = &range;
    nvtxMemCudaMarkInitialized(domain, stream, 0, &batch);
    did("Memory marked initialised", BYTES);
}

static void permissions(nvtxDomainHandle_t domain)
{
    nvtxMemPermissionsHandle_t all = nvtxMemCudaGetProcessWidePermissions(domain);
    nvtxMemPermissionsHandle_t device = nvtxMemCudaGetDeviceWidePermissions(domain, 0);
    if (!all || !device || all == device || device != nvtxMemCudaGetDeviceWidePermissions(domain, 0))
        fputs("no permissions\n", stderr);
    nvtxMemCudaSetPeerAccess(domain, device, NVTX_MEM_CUDA_PEER_ALL_DEVICES, NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ);
    did("Process permissions asked for", 0);
    did("Device permissions asked for", 0);
    did("Device permissions asked for", 0);
    did("Peer access set", 0);
    state("nvtx memory \"Peer access set\" arg \"access\" \"read\"");
    state("nvtx memory \"Peer access set\" arg \"device\" \"all\"");
}

int main()
{
    CHECK(cudaSetDevice(0));
    nvtxDomainHandle_t domain = nvtxDomainCreateA("memory");
    cudaStream_t stream;
    cudaArray_t array;
    void *memory;
    const cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    CALL(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    CALL(cudaMalloc(&memory, BYTES));
    CALL(cudaStreamCreate(&stream));
    CALL(cudaMemsetAsync(memory, 0, BYTES, stream));
    did_set(BYTES);
    register_array(domain, array);
    mark_initialized(domain, memory, stream);
    permissions(domain);
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaStreamDestroy(stream));
    CALL(cudaFree(memory));
    CALL(cudaFreeArray(array));
    puts("arrays, devices and a stream");
    state_print();
    return 0;
}
