/* callbacks.cu: copies and sets. */
#ifndef SAMPLES_CALLBACKS_COPIES_H
#define SAMPLES_CALLBACKS_COPIES_H

#include "callbacks.h"

static void copies(void)
{
    const CUdeviceptr to = address(twin), from = address(device);
    TELLS(2, "memcpy " SYNC("cuMemcpyHtoD_v2"), cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice));
    TELLS(1, "memcpy " SYNC("cuMemcpyHtoD_v2"), cuMemcpyHtoD(to, host, BYTES));
    TELLS(3, "memcpy " SYNC("cuMemcpyDtoH_v2"), cudaMemcpy(host, device, BYTES, cudaMemcpyDeviceToHost));
    TELLS(1, "memcpy " SYNC("cuMemcpyDtoH_v2"), cuMemcpyDtoH(host, from, BYTES));
    TELLS(4, "memcpy " SYNC("cuMemcpyDtoD_v2"), cudaMemcpy(twin, device, BYTES, cudaMemcpyDeviceToDevice));
    TELLS(1, "memcpy " SYNC("cuMemcpyDtoD_v2"), cuMemcpyDtoD(to, from, BYTES));
    TELLS(5, "memcpy " SYNC("cuMemcpy"), cudaMemcpy(twin, device, BYTES, cudaMemcpyDefault));
    TELLS(1, "memcpy " SYNC("cuMemcpy"), cuMemcpy(to, from, BYTES));
    TELLS(1, "memcpy " STREAM("cuMemcpyHtoDAsync_v2"),
          cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, stream));
    TELLS(2, "memcpy " STREAM("cuMemcpyHtoDAsync_v2"), cuMemcpyHtoDAsync(to, host, BYTES, stream));
    TELLS(2, "memcpy " STREAM("cuMemcpyDtoHAsync_v2"),
          cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, stream));
    TELLS(2, "memcpy " STREAM("cuMemcpyDtoHAsync_v2"), cuMemcpyDtoHAsync(host, from, BYTES, stream));
    TELLS(3, "memcpy " STREAM("cuMemcpyDtoDAsync_v2"),
          cudaMemcpyAsync(twin, device, BYTES, cudaMemcpyDeviceToDevice, stream));
    TELLS(2, "memcpy " STREAM("cuMemcpyDtoDAsync_v2"), cuMemcpyDtoDAsync(to, from, BYTES, stream));
    TELLS(4, "memcpy " STREAM("cuMemcpyAsync"), cudaMemcpyAsync(twin, device, BYTES, cudaMemcpyDefault, stream));
    TELLS(2, "memcpy " STREAM("cuMemcpyAsync"), cuMemcpyAsync(to, from, BYTES, stream));
    TELLS(2, "memcpy cuMemcpyPeer|cuMemcpyPeer_ptds", cudaMemcpyPeer(twin, 0, device, 0, BYTES));
    TELLS(3, "memcpy cuMemcpyPeerAsync|cuMemcpyPeerAsync_ptsz", cudaMemcpyPeerAsync(twin, 0, device, 0, BYTES, stream));
    TELLS(2, "memcpy " SYNC("cuMemcpyHtoD_v2"), cudaMemcpyToSymbol(symbol, host, sizeof(symbol)));
    TELLS(1, "memcpy " SYNC("cuMemcpyDtoH_v2"), cudaMemcpyFromSymbol(host, symbol, sizeof(symbol)));
    TELLS_FAILED(2, "memcpy " SYNC("cuMemcpyHtoD_v2"), cuMemcpyHtoD(nowhere, host, BYTES));
    TELLS_FAILED(1, "memcpy " STREAM("cuMemcpyDtoHAsync_v2"), cuMemcpyDtoHAsync(host, nowhere, BYTES, stream));
    if (cudaMemcpy(device, host, BYTES, (cudaMemcpyKind)77) == cudaSuccess) /* the runtime refuses it: not reported */
        exit(1);
    wait_for_stream();
}

/* Each copy of a batch is reported. */
static void batches(void)
{
#if CUDART_VERSION >= 13000
    void *to[3] = {twin, twin + 100, twin + 200};
    const void *from[3] = {device, device + 100, device + 200};
    CUdeviceptr targets[2] = {address(to[0]), address(to[1])}, sources[2] = {address(from[0]), address(from[1])};
    size_t sizes[3] = {256, 128, 64}, first = 0;
    cudaMemcpyAttributes attributes = {};
    CUmemcpyAttributes more = {};
    CUDA_MEMCPY3D_BATCH_OP box = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    more.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    TELLS(1, "memcpy " STREAM("cuMemcpyBatchAsync_v2"),
          cudaMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream));
    TELLS(2, "memcpy " STREAM("cuMemcpyBatchAsync_v2"),
          cuMemcpyBatchAsync(targets, sources, sizes, 2, &more, &first, 1, stream));
    state_reported("memcpy " STREAM("cuMemcpyBatchAsync_v2"), (3 - 1) + 2 * (2 - 1));
    box.src.type = box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    box.src.op.ptr.ptr = sources[0];
    box.dst.op.ptr.ptr = targets[0];
    box.extent.width = WIDTH;
    box.extent.height = HEIGHT;
    box.extent.depth = 1;
    box.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    TELLS(2, "memcpy " STREAM("cuMemcpy3DBatchAsync_v2"), cuMemcpy3DBatchAsync(1, &box, 0, stream));
    wait_for_stream();
#endif
}

static CUDA_MEMCPY2D plane(void)
{
    CUDA_MEMCPY2D shape = {};
    shape.srcMemoryType = shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    shape.srcDevice = address(device);
    shape.dstDevice = address(twin);
    shape.srcPitch = shape.dstPitch = 2 * WIDTH;
    shape.WidthInBytes = WIDTH;
    shape.Height = HEIGHT;
    return shape;
}

static CUDA_MEMCPY3D_PEER box_of_peers(void)
{
    CUDA_MEMCPY3D_PEER shape = {};
    shape.srcMemoryType = shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    shape.srcDevice = address(device);
    shape.dstDevice = address(twin);
    shape.srcPitch = shape.dstPitch = 2 * WIDTH;
    shape.srcHeight = shape.dstHeight = HEIGHT;
    shape.WidthInBytes = WIDTH;
    shape.Height = HEIGHT;
    shape.Depth = 2;
    CHECK(cuCtxGetCurrent(&shape.srcContext));
    shape.dstContext = shape.srcContext;
    return shape;
}

static void copies_of_shapes(void)
{
    const CUDA_MEMCPY2D flat = plane();
    const CUDA_MEMCPY3D_PEER peers = box_of_peers();
    CUDA_MEMCPY3D deep;
    memcpy(&deep, &peers, sizeof(deep)); /* one layout, but for the contexts */
    deep.reserved0 = deep.reserved1 = NULL;
    cudaMemcpy3DParms box = {};
    box.srcPtr = make_cudaPitchedPtr(device, 2 * WIDTH, WIDTH, HEIGHT);
    box.dstPtr = make_cudaPitchedPtr(twin, 2 * WIDTH, WIDTH, HEIGHT);
    box.extent = make_cudaExtent(WIDTH, HEIGHT, 2);
    box.kind = cudaMemcpyDeviceToDevice;
    TELLS(2, "memcpy " SYNC("cuMemcpy2DUnaligned_v2"),
          cudaMemcpy2D(twin, 2 * WIDTH, device, 2 * WIDTH, WIDTH, HEIGHT, cudaMemcpyDeviceToDevice));
    TELLS(1, "memcpy " SYNC("cuMemcpy2DUnaligned_v2"), cuMemcpy2DUnaligned(&flat));
    TELLS(4, "memcpy " SYNC("cuMemcpy2D_v2"), cuMemcpy2D(&flat));
    TELLS(3, "memcpy " STREAM("cuMemcpy2DAsync_v2"),
          cudaMemcpy2DAsync(twin, 2 * WIDTH, device, 2 * WIDTH, WIDTH, HEIGHT, cudaMemcpyDeviceToDevice, stream));
    TELLS(2, "memcpy " STREAM("cuMemcpy2DAsync_v2"), cuMemcpy2DAsync(&flat, stream));
    TELLS(2, "memcpy " SYNC("cuMemcpy3D_v2"), cudaMemcpy3D(&box));
    TELLS(1, "memcpy " SYNC("cuMemcpy3D_v2"), cuMemcpy3D(&deep));
    TELLS(1, "memcpy " STREAM("cuMemcpy3DAsync_v2"), cudaMemcpy3DAsync(&box, stream));
    TELLS(3, "memcpy " STREAM("cuMemcpy3DAsync_v2"), cuMemcpy3DAsync(&deep, stream));
    TELLS(2, "memcpy " SYNC("cuMemcpy3DPeer"), cuMemcpy3DPeer(&peers));
    TELLS(3, "memcpy " STREAM("cuMemcpy3DPeerAsync"), cuMemcpy3DPeerAsync(&peers, stream));
    wait_for_stream();
}

static void copies_of_arrays(void)
{
    const cudaChannelFormatDesc texel = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    const CUDA_ARRAY_DESCRIPTOR row = {WIDTH, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    cudaArray_t array;
    CUarray first, second;
    TELLS(1, "memory_allocation cuArrayCreate_v2|cuArray3DCreate_v2",
          cudaMallocArray(&array, &texel, WIDTH, HEIGHT, 0));
    TELLS(1, "memory_allocation cuArrayCreate_v2", cuArrayCreate(&first, &row));
    TELLS(1, "memory_allocation cuArrayCreate_v2", cuArrayCreate(&second, &row));
    /* The runtime has boxes of one plane copied; which function copies a plane out of an array is not known. */
    TELLS(2, "memcpy " SYNC("cuMemcpy3D_v2"),
          cudaMemcpy2DToArray(array, 0, 0, host, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    TELLS(1, "memcpy " SYNC("cuMemcpy3D_v2") "|" SYNC("cuMemcpy2DUnaligned_v2"),
          cudaMemcpy2DFromArray(host, WIDTH, array, 0, 0, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
    TELLS(1, "memcpy " SYNC("cuMemcpyHtoA_v2"), cuMemcpyHtoA(first, 0, host, WIDTH));
    TELLS(2, "memcpy " SYNC("cuMemcpyAtoH_v2"), cuMemcpyAtoH(host, first, 0, WIDTH));
    TELLS(3, "memcpy " SYNC("cuMemcpyDtoA_v2"), cuMemcpyDtoA(first, 0, address(device), WIDTH));
    TELLS(1, "memcpy " SYNC("cuMemcpyAtoD_v2"), cuMemcpyAtoD(address(device), first, 0, WIDTH));
    TELLS(2, "memcpy " SYNC("cuMemcpyAtoA_v2"), cuMemcpyAtoA(second, 0, first, 0, WIDTH));
    TELLS(3, "memcpy " STREAM("cuMemcpyHtoAAsync_v2"), cuMemcpyHtoAAsync(first, 0, host, WIDTH, stream));
    TELLS(1, "memcpy " STREAM("cuMemcpyAtoHAsync_v2"), cuMemcpyAtoHAsync(host, first, 0, WIDTH, stream));
    wait_for_stream();
    FREE("cuArrayDestroy", cudaFreeArray(array));
    FREE("cuArrayDestroy", cuArrayDestroy(first));
    FREE("cuArrayDestroy", cuArrayDestroy(second));
}

/* Values of so many bits, so many times for each of the four functions. */
#define SETS(bits, a, b, c, d)                                                                                   \
    TELLS(a, "memset " SYNC("cuMemsetD" #bits "_v2"), cuMemsetD##bits(to, 1, 64));                               \
    TELLS(b, "memset " STREAM("cuMemsetD" #bits "Async"), cuMemsetD##bits##Async(to, 1, 64, stream));            \
    TELLS(c, "memset " SYNC("cuMemsetD2D" #bits "_v2"), cuMemsetD2D##bits(to, 2 * WIDTH, 1, WIDTH / 4, HEIGHT)); \
    TELLS(d, "memset " STREAM("cuMemsetD2D" #bits "Async"),                                                      \
          cuMemsetD2D##bits##Async(to, 2 * WIDTH, 1, WIDTH / 4, HEIGHT, stream))

static void sets(void)
{
    const CUdeviceptr to = address(device);
    SETS(8, 1, 2, 3, 4);
    SETS(16, 2, 1, 4, 3);
    SETS(32, 4, 3, 1, 2);
    TELLS(3, "memset " SYNC("cuMemsetD8_v2"), cudaMemset(device, 0, BYTES));
    TELLS(1, "memset " STREAM("cuMemsetD8Async"), cudaMemsetAsync(device, 0, BYTES, stream));
    TELLS(2, "memset " SYNC("cuMemsetD2D8_v2"), cudaMemset2D(device, 2 * WIDTH, 0, WIDTH, HEIGHT));
    TELLS(1, "memset " STREAM("cuMemsetD2D8Async"), cudaMemset2DAsync(device, 2 * WIDTH, 0, WIDTH, HEIGHT, stream));
    TELLS_FAILED(2, "memset " SYNC("cuMemsetD8_v2"), cuMemsetD8(nowhere, 0, 8));
    wait_for_stream();
}

#endif
