/* callbacks.cu: memory of every kind, allocated, freed, registered and mapped. */
#ifndef SAMPLES_CALLBACKS_MEMORY_H
#define SAMPLES_CALLBACKS_MEMORY_H

#include "callbacks.h"

static void device_memory(void)
{
    void *memory[4];
    CUdeviceptr more[4];
    size_t pitch;
    cudaPitchedPtr box;
    int count = 0;
    TELLS(3, "memory_allocation cuMemAlloc_v2", cudaMalloc(&memory[count++], 1000));
    while (count)
        FREE("cuMemFree_v2", cudaFree(memory[--count]));
    TELLS(2, "memory_allocation cuMemAlloc_v2", cuMemAlloc(&more[count++], 2000));
    TELLS(1, "memory_allocation cuMemAllocManaged", cudaMallocManaged(&memory[0], 3000));
    TELLS(2, "memory_allocation cuMemAllocManaged", cuMemAllocManaged(&more[count++], 3000, CU_MEM_ATTACH_GLOBAL));
    FREE("cuMemFree_v2", cudaFree(memory[0]));
    while (count)
        FREE("cuMemFree_v2", cuMemFree(more[--count]));
    TELLS(1, "memory_allocation cuMemAllocPitch_v2", cudaMallocPitch(&memory[0], &pitch, WIDTH, HEIGHT));
    TELLS(1, "memory_allocation cuMemAllocPitch_v2", cudaMalloc3D(&box, make_cudaExtent(WIDTH, HEIGHT, 2)));
    TELLS(2, "memory_allocation cuMemAllocPitch_v2", cuMemAllocPitch(&more[count++], &pitch, WIDTH, HEIGHT, 4));
    FREE("cuMemFree_v2", cudaFree(memory[0]));
    FREE("cuMemFree_v2", cudaFree(box.ptr));
    while (count)
        FREE("cuMemFree_v2", cuMemFree(more[--count]));

    for (int i = 0; i < 3; i++)
        CHECK(cudaFree(NULL)); /* does nothing, and is not reported */
    TELLS_FAILED(2, "memory_allocation_failure cuMemAlloc_v2", cudaMalloc(&memory[0], (size_t)1 << 46));
    TELLS_FAILED(1, "memory_allocation_failure cuMemAlloc_v2", cuMemAlloc(&more[0], (size_t)1 << 46));
    TELLS_FAILED(1, "memory_deallocation cuMemFree_v2", cuMemFree(nowhere));
    if (cudaMalloc(NULL, 1) == cudaSuccess) /* the runtime refuses that itself: not reported */
        exit(1);
}

static void host_memory(void)
{
    enum { PAGE = 4096 };
    void *memory[7];
    int count = 0;
    TELLS(2, "memory_allocation cuMemHostAlloc", cudaHostAlloc(&memory[count++], 1000, cudaHostAllocDefault));
    TELLS(1, "memory_allocation cuMemHostAlloc", cuMemHostAlloc(&memory[count++], 1000, 0));
    TELLS(2, "memory_allocation cuMemAllocHost_v2", cuMemAllocHost(&memory[count++], 1000));
    TELLS(2, "memory_allocation cuMemHostAlloc|cuMemAllocHost_v2", cudaMallocHost(&memory[count++], 1000));
    while (count > 3)
        FREE("cuMemFreeHost", cudaFreeHost(memory[--count]));
    while (count)
        FREE("cuMemFreeHost", cuMemFreeHost(memory[--count]));
    TELLS_FAILED(1, "memory_deallocation cuMemFreeHost", cuMemFreeHost(host));

    unsigned char *own = (unsigned char *)aligned_alloc(PAGE, 3 * PAGE);
    TELLS(2, "memory_allocation cuMemHostRegister_v2", cudaHostRegister(own + PAGE * count++, PAGE, 0));
    TELLS(1, "memory_allocation cuMemHostRegister_v2", cuMemHostRegister(own + PAGE * count++, PAGE, 0));
    TELLS_FAILED(1, "memory_allocation_failure cuMemHostRegister_v2", cuMemHostRegister(own, PAGE, 0));
    while (count > 1)
        FREE("cuMemHostUnregister", cudaHostUnregister(own + PAGE * --count));
    FREE("cuMemHostUnregister", cuMemHostUnregister(own));
    TELLS_FAILED(1, "memory_deallocation cuMemHostUnregister", cuMemHostUnregister(own));
    free(own);
}

static void arrays(void)
{
    const cudaChannelFormatDesc texel = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};
    CUDA_ARRAY_DESCRIPTOR flat = {SIDE, SIDE, CU_AD_FORMAT_UNSIGNED_INT32, 1};
    CUDA_ARRAY3D_DESCRIPTOR deep = {SIDE, SIDE, SIDE, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
    CUDA_ARRAY3D_DESCRIPTOR wrong = {0, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
    cudaArray_t array[3];
    CUarray more[4];
    cudaMipmappedArray_t mipmap;
    CUmipmappedArray mipmaps[2];
    int count = 0;
    TELLS(2, "memory_allocation cuArrayCreate_v2|cuArray3DCreate_v2",
          cudaMallocArray(&array[count++], &texel, SIDE, SIDE, 0));
    TELLS(1, "memory_allocation cuArray3DCreate_v2",
          cudaMalloc3DArray(&array[count++], &texel, make_cudaExtent(SIDE, SIDE, SIDE), 0));
    while (count)
        FREE("cuArrayDestroy", cudaFreeArray(array[--count]));
    TELLS(1, "memory_allocation cuArrayCreate_v2", cuArrayCreate(&more[count++], &flat));
    TELLS(3, "memory_allocation cuArray3DCreate_v2", cuArray3DCreate(&more[count++], &deep));
    while (count)
        FREE("cuArrayDestroy", cuArrayDestroy(more[--count]));
    TELLS(1, "memory_allocation cuMipmappedArrayCreate",
          cudaMallocMipmappedArray(&mipmap, &texel, make_cudaExtent(SIDE, SIDE, 0), 2, 0));
    FREE("cuMipmappedArrayDestroy", cudaFreeMipmappedArray(mipmap));
    TELLS(2, "memory_allocation cuMipmappedArrayCreate", cuMipmappedArrayCreate(&mipmaps[count++], &deep, 3));
    while (count)
        FREE("cuMipmappedArrayDestroy", cuMipmappedArrayDestroy(mipmaps[--count]));
    TELLS_FAILED(1, "memory_allocation_failure cuArray3DCreate_v2", cuArray3DCreate(&more[0], &wrong));
}

static void pools(void)
{
    cudaMemPoolProps properties = {};
    cudaMemPool_t pool;
    void *memory[9], *none;
    int count = 0;
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    TELLS(3, "memory_allocation " STREAM("cuMemAllocAsync"), cudaMallocAsync(&memory[count++], 1000, stream));
    TELLS(1, "memory_allocation " STREAM("cuMemAllocAsync"),
          cuMemAllocAsync((CUdeviceptr *)&memory[count++], 9, stream));
    TELLS(2, "memory_allocation " STREAM("cuMemAllocFromPoolAsync"),
          cudaMallocFromPoolAsync(&memory[count++], 1000, pool, stream));
    TELLS(3, "memory_allocation " STREAM("cuMemAllocFromPoolAsync"),
          cuMemAllocFromPoolAsync((CUdeviceptr *)&memory[count++], 9, pool, stream));
    TELLS_FAILED(1, "memory_allocation_failure " STREAM("cuMemAllocAsync"),
                 cudaMallocAsync(&none, (size_t)1 << 46, stream));
    FREE("cuMemFree_v2", cudaFree(memory[--count])); /* without a stream it can be freed too */
    while (count > 2)
        FREE(STREAM("cuMemFreeAsync"), cudaFreeAsync(memory[--count], stream));
    while (count)
        FREE(STREAM("cuMemFreeAsync"), cuMemFreeAsync(address(memory[--count]), stream));
    wait_for_stream();
    CHECK(cudaMemPoolDestroy(pool));
}

/* Addresses and memory apart. */
static void virtual_memory(void)
{
    CUmemAllocationProp properties = {};
    CUmemGenericAllocationHandle memory[2];
    CUdeviceptr place;
    size_t size;
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK(cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&place, 2 * size, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        TELLS(1, "memory_allocation cuMemCreate", cuMemCreate(&memory[i], size, &properties, 0));
        TELLS(1, "memory_mapping cuMemMap", cuMemMap(place + i * size, size, 0, memory[i], 0));
    }
    TELLS_FAILED(1, "memory_allocation_failure cuMemCreate", cuMemCreate(&memory[0] + 1, 1, &properties, 0));
    TELLS_FAILED(1, "memory_mapping cuMemMap", cuMemMap(place, size + 1, 0, memory[0], 0));
    TELLS(1, "memory_unmapping cuMemUnmap", cuMemUnmap(place, 2 * size));
    TELLS_FAILED(1, "memory_unmapping cuMemUnmap", cuMemUnmap(0, size));
    for (int i = 0; i < 2; i++)
        FREE("cuMemRelease", cuMemRelease(memory[i]));
    CHECK(cuMemAddressFree(place, 2 * size));
}

#endif
