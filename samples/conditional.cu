/*
 * conditional: graphs with conditional nodes, each launched several times.
 *
 *     framed:  head ──> if: { step ──> clear } ──> tail
 *     bare:             if: { step }
 *
 * The condition of either is true at each launch, so that no kernel needs to set it. A correct trace holds a flow
 * from each cudaGraphLaunch to all kernels of that launch, those in the bodies too: CUPTI's records of these have no
 * correlation id.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "statement.h"

enum { ELEMENTS = 1 << 14, LAUNCHES = 5, THREADS = 256, BLOCKS = ELEMENTS / THREADS };
static const size_t bytes = ELEMENTS * sizeof(float);

#define DRIVER(call)                                                     \
    do {                                                                 \
        CUresult result_ = (call);                                       \
        if (result_ != CUDA_SUCCESS) {                                   \
            fprintf(stderr, "%s: CUDA error %d\n", #call, (int)result_); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

__global__ void head(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

__global__ void step(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}

__global__ void clear(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}

__global__ void tail(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, void *kernel, float **data, const cudaGraphNode_t *after)
{
    void *args[] = {data};
    cudaKernelNodeParams params = {};
    params.func = kernel;
    params.gridDim = dim3(BLOCKS);
    params.blockDim = dim3(THREADS);
    params.kernelParams = args;
    cudaGraphNode_t node;
    CALL(cudaGraphAddKernelNode(&node, graph, after, after ? 1 : 0, &params));
    return node;
}

/* Gives the node; *BODY is what it does when the condition is true. */
static cudaGraphNode_t add_condition(cudaGraph_t graph, const cudaGraphNode_t *after, cudaGraph_t *body)
{
    CUcontext context;
    CUgraphNode node;
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 1;
    DRIVER(cuCtxGetCurrent(&context));
    params.conditional.ctx = context;
    DRIVER(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    DRIVER(cuGraphAddNode(&node, graph, after, nullptr, after ? 1 : 0, &params));
    *body = params.conditional.phGraph_out[0];
    return node;
}

static cudaGraph_t framed(float **data)
{
    cudaGraph_t graph, body;
    CALL(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t first = add_kernel(graph, (void *)head, data, nullptr);
    cudaGraphNode_t condition = add_condition(graph, &first, &body);
    cudaGraphNode_t inner = add_kernel(body, (void *)step, data, nullptr);
    add_kernel(body, (void *)clear, data, &inner);
    add_kernel(graph, (void *)tail, data, &condition);
    return graph;
}

static cudaGraph_t bare(float **data)
{
    cudaGraph_t graph, body;
    CALL(cudaGraphCreate(&graph, 0));
    add_condition(graph, nullptr, &body);
    add_kernel(body, (void *)step, data, nullptr);
    return graph;
}

/* Launches of which none is waited for before the next, unless WAIT. */
static void launch(cudaGraph_t graph, cudaStream_t stream, bool wait)
{
    cudaGraphExec_t executable;
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < LAUNCHES; i++) {
        CALL(cudaGraphLaunch(executable, stream));
        if (!wait && i < LAUNCHES - 1)
            continue;
        CALL(cudaStreamSynchronize(stream));
        did_wait("Stream Sync");
    }
    CALL(cudaGraphExecDestroy(executable));
    CALL(cudaGraphDestroy(graph));
}

int main()
{
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    float *data;
    cudaStream_t stream;
    CALL(cudaMalloc((void **)&data, bytes));
    did_allocate("Device", bytes);
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    launch(framed(&data), stream, false);
    launch(bare(&data), stream, true);
    did_kernels("head", LAUNCHES);
    did_kernels("step", 2 * LAUNCHES);
    did_kernels("tail", LAUNCHES);
    did_kernels("clear", LAUNCHES);
    state_count("graph-kernels", 5 * LAUNCHES);
    state_count("flows", 5 * LAUNCHES);

    CALL(cudaStreamDestroy(stream));
    CALL(cudaFree(data));
    did_release("Device", bytes);
    printf("2 graphs, %d launches of each\n", (int)LAUNCHES);
    state_count("devices", 1);
    state_count("threads", 1);
    state_print();
    return 0;
}
