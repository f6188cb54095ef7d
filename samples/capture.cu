/*
 * capture: recording only the part that matters. The program has three parts, and the middle one is to be recorded:
 *
 *     gputrace run --capture-range=cudaProfilerApi     ./capture cudaProfilerApi
 *     gputrace run --capture-range=nvtx:middle         ./capture nvtx
 *     gputrace run --capture-range=nvtx:middle@samples ./capture nvtx-domain
 *     gputrace run --capture-range=api                 ./capture api
 *     gputrace run                                     ./capture all
 *     gputrace run                                     ./capture pause      (the middle is cut out)
 *
 * A correct trace holds the kernels, copies and calls of the recorded parts, and none of the others.
 */
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <gputrace/gputrace.h>
#include <nvtx3/nvToolsExt.h>

#include "statement.h"

enum { ELEMENTS = 1 << 12, THREADS = 128, LAUNCHES = 10 };
static const size_t bytes = ELEMENTS * sizeof(int);

__global__ void before(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void middle(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 10;
}

__global__ void after(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 100;
}

static nvtxDomainHandle_t domain;

static void nothing()
{
}

static void profiler_begin()
{
    CHECK(cudaProfilerStart());
}

static void profiler_end()
{
    CHECK(cudaProfilerStop());
}

static void range_begin()
{
    nvtxRangePushA("middle");
}

static void range_end()
{
    nvtxRangePop();
}

static void domain_range_begin()
{
    nvtxEventAttributes_t event = {};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "middle";
    nvtxRangePushA("middle"); /* the same name in another domain: it must not begin the capture */
    nvtxRangePop();
    nvtxDomainRangePushEx(domain, &event);
}

static void domain_range_end()
{
    nvtxDomainRangePop(domain);
}

/* How the middle is marked, and which parts are recorded then. */
static const struct mode {
    const char *name;
    void (*begin)(), (*end)();
    bool outside, inside;
} modes[] = {
    {"cudaProfilerApi", profiler_begin, profiler_end, false, true},
    {"nvtx", range_begin, range_end, false, true},
    {"nvtx-domain", domain_range_begin, domain_range_end, false, true},
    {"api", gputrace_start, gputrace_stop, false, true},
    {"all", nothing, nothing, true, true},
    {"pause", gputrace_stop, gputrace_start, true, false},
};

static void part(void (*kernel)(int *), const char *name, int *device, int *host)
{
    for (int i = 0; i < LAUNCHES; i++) {
        void *args[] = {&device};
        CALL(cudaLaunchKernel((const void *)kernel, dim3(ELEMENTS / THREADS), dim3(THREADS), args, 0, nullptr));
        did_kernels(name, 1);
    }
    CALL(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, nullptr));
    did_copy("DtoH", bytes);
    CALL(cudaDeviceSynchronize()); /* so that all of this part's work is done before the next */
    did_wait("Context Sync");
}

int main(int argc, char **argv)
{
    const mode *chosen = nullptr;
    for (const mode &m : modes)
        if (argc == 2 && strcmp(argv[1], m.name) == 0)
            chosen = &m;
    if (!chosen) {
        fprintf(stderr, "usage: capture cudaProfilerApi|nvtx|nvtx-domain|api|all|pause\n");
        return 2;
    }

    domain = nvtxDomainCreateA("samples");
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    int *device, *host;
    state_silent(!chosen->outside);
    CALL(cudaMalloc((void **)&device, bytes));
    CALL(cudaMallocHost((void **)&host, bytes));
    CALL(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, nullptr));
    did_copy("HtoD", bytes);
    part(before, "before", device, host);
    chosen->begin();
    state_silent(!chosen->inside);
    part(middle, "middle", device, host);
    chosen->end();
    state_silent(!chosen->outside);
    part(after, "after", device, host);
    CALL(cudaFreeHost(host));
    CALL(cudaFree(device));

    if (strcmp(chosen->name, "api") == 0)
        printf("active at the end: %d\n", gputrace_active());
    state_print();
    return 0;
}
