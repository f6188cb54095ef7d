/*
 * graphs: one CUDA graph built node by node, one captured from two streams, each launched several times.
 *
 *     built:     memset ──> scale ─┐
 *                memcpy HtoD ──> scale ─┴─> join ──> memcpy DtoH
 *     captured:  memcpy HtoD ──┬─> scale ─┬─> join          (the fork goes to a second stream)
 *                              └─> scale ─┘
 *
 * A correct trace holds, for every launch of a graph, one slice for each of its nodes, all with the correlation of that
 * cudaGraphLaunch, a graph id and a graph node id, and a flow from the call to each. The launches written while the
 * stream is captured are API calls without any GPU work. (With --graph=graph: one slice for each launch instead.)
 */
#include <cuda_runtime_api.h>

#include "statement.h"

enum { ELEMENTS = 1 << 16, LAUNCHES = 6, THREADS = 256, BLOCKS = ELEMENTS / THREADS };
static const size_t bytes = ELEMENTS * sizeof(float);

__global__ void scale(float *data, float factor)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] *= factor;
}

__global__ void join(const float *a, const float *b, float *sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sum[i] = a[i] + b[i];
}

struct buffers {
    float *a, *b, *sum, *host;
};

static void device_alloc(float **data)
{
    CALL(cudaMalloc((void **)data, bytes));
    did_allocate("Device", bytes);
}

static void device_free(float *data)
{
    CALL(cudaFree(data));
    did_release("Device", bytes);
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, void *kernel, void **args, const cudaGraphNode_t *after,
                                  size_t count)
{
    cudaKernelNodeParams params = {};
    params.func = kernel;
    params.gridDim = dim3(BLOCKS);
    params.blockDim = dim3(THREADS);
    params.kernelParams = args;
    cudaGraphNode_t node;
    CALL(cudaGraphAddKernelNode(&node, graph, after, count, &params));
    return node;
}

static cudaGraph_t build(buffers *data)
{
    cudaGraph_t graph;
    CALL(cudaGraphCreate(&graph, 0));

    cudaMemsetParams set = {};
    set.dst = data->a;
    set.elementSize = 1;
    set.width = bytes;
    set.height = 1;
    cudaGraphNode_t cleared, copied, scaled[2], joined, fetched;
    CALL(cudaGraphAddMemsetNode(&cleared, graph, nullptr, 0, &set));
    CALL(cudaGraphAddMemcpyNode1D(&copied, graph, nullptr, 0, data->b, data->host, bytes, cudaMemcpyHostToDevice));

    float factor = 2.0f;
    void *scale_a[] = {&data->a, &factor}, *scale_b[] = {&data->b, &factor};
    void *join_args[] = {&data->a, &data->b, &data->sum};
    scaled[0] = add_kernel(graph, (void *)scale, scale_a, &cleared, 1);
    scaled[1] = add_kernel(graph, (void *)scale, scale_b, &copied, 1);
    joined = add_kernel(graph, (void *)join, join_args, scaled, 2);
    CALL(cudaGraphAddMemcpyNode1D(&fetched, graph, &joined, 1, data->host, data->sum, bytes, cudaMemcpyDeviceToHost));
    return graph;
}

static cudaGraph_t capture(buffers *data, cudaStream_t stream, cudaStream_t branch)
{
    cudaEvent_t forked, joined;
    CALL(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CALL(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));

    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CALL(cudaMemcpyAsync(data->a, data->host, bytes, cudaMemcpyHostToDevice, stream));
    CALL(cudaEventRecord(forked, stream));
    CALL(cudaStreamWaitEvent(branch, forked, 0));
    CAPTURE_LAUNCH(scale<<<BLOCKS, THREADS, 0, stream>>>(data->a, 3.0f));
    CAPTURE_LAUNCH(scale<<<BLOCKS, THREADS, 0, branch>>>(data->b, 4.0f));
    CALL(cudaEventRecord(joined, branch));
    CALL(cudaStreamWaitEvent(stream, joined, 0));
    CAPTURE_LAUNCH(join<<<BLOCKS, THREADS, 0, stream>>>(data->a, data->b, data->sum));
    cudaGraph_t graph;
    CALL(cudaStreamEndCapture(stream, &graph));

    CALL(cudaEventDestroy(forked));
    CALL(cudaEventDestroy(joined));
    return graph;
}

static void launch(cudaGraph_t graph, cudaStream_t stream)
{
    cudaGraphExec_t executable;
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < LAUNCHES; i++)
        CALL(cudaGraphLaunch(executable, stream));
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    CALL(cudaGraphExecDestroy(executable));
    CALL(cudaGraphDestroy(graph));

    /* Two kernels scale, one join, and a copy to the device in either graph. */
    did_kernels("scale", 2 * LAUNCHES);
    did_kernels("join", LAUNCHES);
    did_copies("HtoD", LAUNCHES, LAUNCHES * bytes);
    state_count("graph-kernels", 3 * LAUNCHES);
}

int main()
{
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    buffers data;
    device_alloc(&data.a);
    device_alloc(&data.b);
    device_alloc(&data.sum);
    CALL(cudaMallocHost((void **)&data.host, bytes));
    did_allocate("Pinned", bytes);
    for (int i = 0; i < ELEMENTS; i++)
        data.host[i] = 1.0f;
    cudaStream_t stream, branch;
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CALL(cudaStreamCreateWithFlags(&branch, cudaStreamNonBlocking));

    launch(build(&data), stream);
    did_copies("DtoH", LAUNCHES, LAUNCHES * bytes);
    did_sets(LAUNCHES, LAUNCHES * bytes);
    launch(capture(&data, stream, branch), stream);

    CALL(cudaStreamDestroy(branch));
    CALL(cudaStreamDestroy(stream));
    CALL(cudaFreeHost(data.host));
    did_release("Pinned", bytes);
    device_free(data.sum);
    device_free(data.b);
    device_free(data.a);
    printf("2 graphs, %d launches of each\n", (int)LAUNCHES);
    state_count("devices", 1);
    state_count("threads", 1);
    state_print();
    return 0;
}
