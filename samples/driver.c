/*
 * driver: the driver API alone, no runtime: a module from PTX text, launches, events, and virtual memory.
 *
 * A correct trace holds the calls below as cuda_driver events, named as they are written here; the kernel `scale` once
 * by cuLaunchKernel and once by cuLaunchKernelEx, each with its flow; a copy in and one out; two sets; a counter for
 * Device memory, and one for Virtual memory where the device can do that.
 */
#include <cuda.h>

#include "statement.h"

enum { ELEMENTS = 1 << 12, THREADS = 128, BLOCKS = ELEMENTS / THREADS, FACTOR = 5 };
static const size_t bytes = ELEMENTS * sizeof(unsigned);

/* data[i] *= factor, for the oldest GPU that PTX of this version knows; the driver compiles it for the one at hand. */
static const char module_text[] = ".version 7.0\n"
                                  ".target sm_52\n"
                                  ".address_size 64\n"
                                  ".visible .entry scale(.param .u64 data, .param .u32 factor)\n"
                                  "{\n"
                                  "    .reg .u32 %r<7>;\n"
                                  "    .reg .u64 %a<5>;\n"
                                  "    ld.param.u64 %a1, [data];\n"
                                  "    ld.param.u32 %r1, [factor];\n"
                                  "    mov.u32 %r2, %ctaid.x;\n"
                                  "    mov.u32 %r3, %ntid.x;\n"
                                  "    mov.u32 %r4, %tid.x;\n"
                                  "    mad.lo.u32 %r5, %r2, %r3, %r4;\n"
                                  "    mul.wide.u32 %a2, %r5, 4;\n"
                                  "    cvta.to.global.u64 %a3, %a1;\n"
                                  "    add.u64 %a4, %a3, %a2;\n"
                                  "    ld.global.u32 %r6, [%a4];\n"
                                  "    mul.lo.u32 %r6, %r6, %r1;\n"
                                  "    st.global.u32 [%a4], %r6;\n"
                                  "    ret;\n"
                                  "}\n";

struct gpu {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction scale;
    CUstream stream;
    bool computes; /* the simulated GPU of the tests does not */
};

static void gpu_init(struct gpu *gpu)
{
    char name[128];
    CHECK(cuInit(0)); /* starts CUDA, and the tracer with it */
    QUERY(cuDeviceGet(&gpu->device, 0));
    QUERY(cuDeviceGetName(name, sizeof(name), gpu->device));
    printf("on %s\n", name);
    gpu->computes = strncmp(name, "Simulated", 9) != 0;
#if CUDA_VERSION >= 13000
    CALL(cuCtxCreate(&gpu->context, NULL, 0, gpu->device));
#else
    CALL(cuCtxCreate(&gpu->context, 0, gpu->device));
#endif
    CALL(cuModuleLoadData(&gpu->module, module_text));
    CALL(cuModuleGetFunction(&gpu->scale, gpu->module, "scale"));
    CALL(cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING));
}

static void gpu_release(struct gpu *gpu)
{
    CALL(cuStreamDestroy(gpu->stream));
    CALL(cuModuleUnload(gpu->module));
    CALL(cuCtxDestroy(gpu->context));
}

static void launch(struct gpu *gpu, CUdeviceptr data)
{
    unsigned factor = FACTOR;
    void *args[] = {&data, &factor};
    CALL(cuLaunchKernel(gpu->scale, BLOCKS, 1, 1, THREADS, 1, 1, 0, gpu->stream, args, NULL));
    did_kernels("scale", 1);

    CUlaunchConfig config = {.gridDimX = BLOCKS,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = THREADS,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = gpu->stream};
    CALL(cuLaunchKernelEx(&config, gpu->scale, args, NULL));
    did_kernels("scale", 1);
}

static void check(const struct gpu *gpu, const unsigned *host)
{
    unsigned wanted = gpu->computes ? FACTOR * FACTOR * 3 : 3;
    for (int i = 0; i < ELEMENTS; i++) {
        if (host[i] != wanted) {
            fprintf(stderr, "element %d is %u, not %u\n", i, host[i], wanted);
            exit(1);
        }
    }
    printf("%d elements are right\n", (int)ELEMENTS);
}

static void compute(struct gpu *gpu)
{
    CUdeviceptr data;
    unsigned host[ELEMENTS];
    CUevent before, after;
    float ms;
    CALL(cuMemAlloc(&data, bytes));
    did_allocate("Device", bytes);
    CALL(cuEventCreate(&before, CU_EVENT_DEFAULT));
    CALL(cuEventCreate(&after, CU_EVENT_DEFAULT));

    for (int i = 0; i < ELEMENTS; i++)
        host[i] = 3;
    CALL(cuMemcpyHtoDAsync(data, host, bytes, gpu->stream));
    did_copy("HtoD", bytes);
    CALL(cuEventRecord(before, gpu->stream));
    launch(gpu, data);
    CALL(cuEventRecord(after, gpu->stream));
    memset(host, 0, sizeof(host));
    CALL(cuMemcpyDtoHAsync(host, data, bytes, gpu->stream));
    did_copy("DtoH", bytes);
    CALL(cuEventSynchronize(after));
    did_wait("Event Sync");
    CALL(cuStreamSynchronize(gpu->stream));
    did_wait("Stream Sync");
    QUERY(cuEventElapsedTime(&ms, before, after));
    check(gpu, host);

    CALL(cuMemsetD32Async(data, 0, ELEMENTS, gpu->stream));
    did_set(bytes);
    CALL(cuCtxSynchronize());
    did_wait("Context Sync");
    CALL(cuEventDestroy(before));
    CALL(cuEventDestroy(after));
    CALL(cuMemFree(data));
    did_release("Device", bytes);
}

/* An address range, memory created apart from it, and the one mapped at the other. */
static void virtual_memory(struct gpu *gpu)
{
    int able = 0;
    CHECK(cuDeviceGetAttribute(&able, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, gpu->device));
    if (!able)
        return;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device}};
    CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle memory;
    CUdeviceptr address;
    size_t size;
    QUERY(cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CALL(cuMemAddressReserve(&address, size, 0, 0, 0));
    CALL(cuMemCreate(&memory, size, &properties, 0));
    did_allocate("Virtual", size);
    CALL(cuMemMap(address, size, 0, memory, 0));
    CALL(cuMemSetAccess(address, size, &access, 1));

    CALL(cuMemsetD8Async(address, 1, size, gpu->stream));
    did_set(size);
    CALL(cuStreamSynchronize(gpu->stream));
    did_wait("Stream Sync");

    CALL(cuMemUnmap(address, size));
    CALL(cuMemRelease(memory));
    did_release("Virtual", size);
    CALL(cuMemAddressFree(address, size));
}

int main(void)
{
    struct gpu gpu;
    gpu_init(&gpu);
    compute(&gpu);
    virtual_memory(&gpu);
    gpu_release(&gpu);

    state_count("streams", 1);
    state_count("devices", 1);
    state_count("threads", 1);
    state_print();
    return 0;
}
