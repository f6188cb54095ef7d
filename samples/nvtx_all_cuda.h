/*
 * Names of CUDA's objects, and ranges on the GPU: a chapter of nvtx_all.c.
 */
#ifndef SAMPLES_NVTX_ALL_CUDA_H
#define SAMPLES_NVTX_ALL_CUDA_H

#include <cuda.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include "nvtx_all.h"
#include "nvtx_all_things.h"

#define BYTES ((size_t)1 << 20)

static cudaStream_t stream, other;
static void *memory;

static void did_gpu_range(const char *name)
{
    state("nvtx gpu \"%s\"", name);
}

static void set(cudaStream_t where)
{
    CALL(cudaMemsetAsync(memory, 0, BYTES, where));
    did_set(BYTES);
}

struct request {
    nvtxRangeId_t range;
    pthread_barrier_t named;
};

static void *finish(void *data)
{
    struct request *request = data;
    pthread_barrier_wait(&request->named);
    set(stream);
    nvtxRangeEnd(request->range);
    set(stream); /* no longer in it */
    return NULL;
}

/* A range that another thread ends, to which this one gives a name before. */
static void handed_on(void)
{
    struct request request = {.range = nvtxRangeStartA("request")};
    pthread_t thread;
    did_start("\"request\"");
    set(stream);
    must(pthread_barrier_init(&request.named, NULL, 2) == 0, "cannot make a barrier");
    must(pthread_create(&thread, NULL, finish, &request) == 0, "cannot start a thread");
    create(&(struct thing){NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX, (uint64_t)thread, "the finisher", "POSIX thread"});
    did_name_row("the finisher");
    pthread_barrier_wait(&request.named);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&request.named);
    did_gpu_range("request");
}

static void ranges_on_the_gpu(void)
{
    nvtxRangePushA("step");
    did_push("\"step\"");
    set(stream);
    nvtxRangePushA("inner step");
    did_push("\"inner step\"");
    set(stream);
    set(other);
    nvtxRangePop();
    nvtxRangePop();
    did_gpu_range("step"); /* on both streams */
    did_gpu_range("step");
    did_gpu_range("inner step");
    did_gpu_range("inner step");
}

static void a_graph_in_a_range(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CALL(cudaMemsetAsync(memory, 0, BYTES, stream));
    CALL(cudaMemsetAsync(memory, 1, BYTES, stream));
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    nvtxRangePushA("graph");
    did_push("\"graph\"");
    CALL(cudaGraphLaunch(exec, stream));
    did_sets(2, 2 * BYTES);
    nvtxRangePop();
    did_gpu_range("graph");
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
}

/* The last name counts. */
static void names_of_places(void)
{
    CUcontext context;
    must(cuCtxGetCurrent(&context) == CUDA_SUCCESS, "there is no context");
    nvtxNameCudaDeviceA(0, "first name");
    nvtxNameCudaDeviceW(0, L"zweiter Name");
    nvtxNameCuDeviceA(0, "third name");
    nvtxNameCuDeviceW(0, L"die GPU \u00e4");
    did_name_row("die GPU ä");
    nvtxNameCuContextA(context, "first name");
    nvtxNameCuContextW(context, L"der Kontext \u00e4");
    did_name_row("der Kontext ä");
    nvtxNameCuStreamA((CUstream)stream, "first name");
    nvtxNameCuStreamW((CUstream)stream, L"zweiter Name");
    nvtxNameCudaStreamA(stream, "third name");
    nvtxNameCudaStreamW(stream, L"der Strom \u00e4");
    did_name_row("der Strom ä");
    create(&(struct thing){NVTX_RESOURCE_TYPE_CUDART_STREAM, (uint64_t)other, "a stream by resource", "CUDA stream"});
    did_name_row("a stream by resource");
    create(&(struct thing){NVTX_RESOURCE_TYPE_CUDA_CONTEXT, (uint64_t)(uintptr_t)context, "der Kontext ä",
                           "CUDA context"});
    create(&(struct thing){NVTX_RESOURCE_TYPE_CUDA_DEVICE, 0, "die GPU ä", "CUDA device"});
}

static void names_of_events(void)
{
    static const char *const names[] = {"by the driver", "vom Treiber", "by the runtime", "von der Laufzeit",
                                        "by resource"};
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    cudaEvent_t events[COUNT];
    for (int i = 0; i < COUNT; i++)
        CALL(cudaEventCreate(&events[i]));
    nvtxNameCuEventA((CUevent)events[0], names[0]);
    nvtxNameCuEventW((CUevent)events[1], L"vom Treiber");
    nvtxNameCudaEventA(events[2], names[2]);
    nvtxNameCudaEventW(events[3], L"von der Laufzeit");
    create(&(struct thing){NVTX_RESOURCE_TYPE_CUDA_EVENT, (uint64_t)(uintptr_t)events[4], names[4], "CUDA event"});
    for (int i = 0; i < COUNT; i++) {
        CALL(cudaEventRecord(events[i], stream));
        state("cuda-event \"%s\"", names[i]);
    }
    CALL(cudaStreamWaitEvent(other, events[0], 0));
    state("wait-on \"%s\"", names[0]);
    CALL(cudaEventSynchronize(events[4]));
    did_wait("Event Sync");
    state("wait-on \"%s\"", names[4]);
    for (int i = 0; i < COUNT; i++)
        CALL(cudaEventDestroy(events[i]));
}

static void cuda(void)
{
    CHECK(cudaSetDevice(0));
    CALL(cudaMalloc(&memory, BYTES));
    did_allocate("Device", BYTES);
    CALL(cudaStreamCreate(&stream));
    CALL(cudaStreamCreate(&other));
    names_of_places();
    names_of_events();
    ranges_on_the_gpu();
    handed_on();
    a_graph_in_a_range();
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    CALL(cudaStreamDestroy(other));
    CALL(cudaStreamDestroy(stream));
    CALL(cudaFree(memory));
    did_release("Device", BYTES);
}

#endif
