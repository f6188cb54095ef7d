/* The runtime API: graphs, their nodes, and user objects. */
#include "cudart/registry.h"
#include "cudart/runtime.h"
#include "cudart/shape.h"

RUNTIME_FORWARD(cudaGraphCreate, v10000, cuGraphCreate)
RUNTIME_FORWARD_PLAIN(cudaGraphDestroy, v10000, cuGraphDestroy)
RUNTIME_FORWARD(cudaGraphInstantiate, v12000, cuGraphInstantiateWithFlags)
RUNTIME_FORWARD(cudaGraphInstantiateWithFlags, v11040, cuGraphInstantiateWithFlags)
RUNTIME_STREAM_CALL(cudaGraphInstantiateWithParams, v12000, v12000, cuGraphInstantiateWithParams, p->pGraphExec,
                    p->graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)(void *)p->instantiateParams)
RUNTIME_STREAM_FORWARD(cudaGraphLaunch, v10000, v10000, cuGraphLaunch)
RUNTIME_FORWARD_PLAIN(cudaGraphExecDestroy, v10000, cuGraphExecDestroy)
RUNTIME_CALL_PLAIN(cudaGraphExecUpdate, v10020, cuGraphExecUpdate_v2, p->hGraphExec, p->hGraph,
                   (CUgraphExecUpdateResultInfo *)(void *)p->resultInfo)

/* ---- its shape ---- */

RUNTIME_FORWARD_PLAIN(cudaGraphGetNodes, v10000, cuGraphGetNodes)
RUNTIME_CALL_PLAIN(cudaGraphGetEdges, v12030, cuGraphGetEdges_v2, p->graph, p->from, p->to, NULL, p->numEdges)

/* ---- nodes ---- */

static cudaError_t kernel_params(const struct cudaKernelNodeParams *from, CUDA_KERNEL_NODE_PARAMS *to)
{
    NEED_VALUE(from);
    NEED_CONTEXT();
    CUfunction function;
    TRY(registry_kernel(from->func, &function));
    *to = (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                    .gridDimX = from->gridDim.x,
                                    .gridDimY = from->gridDim.y,
                                    .gridDimZ = from->gridDim.z,
                                    .blockDimX = from->blockDim.x,
                                    .blockDimY = from->blockDim.y,
                                    .blockDimZ = from->blockDim.z,
                                    .sharedMemBytes = from->sharedMemBytes,
                                    .kernelParams = from->kernelParams,
                                    .extra = from->extra};
    return cudaSuccess;
}

RUNTIME_API(cudaGraphAddKernelNode, v10000)
{
    CUDA_KERNEL_NODE_PARAMS params;
    TRY(kernel_params(p->pNodeParams, &params));
    return DRIVER(cuGraphAddKernelNode_v2(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &params));
}

RUNTIME_API(cudaGraphAddMemcpyNode1D, v11010)
{
    NEED_CONTEXT();
    const CUDA_MEMCPY3D shape = shape_line(p->dst, p->src, p->count);
    return DRIVER(cuGraphAddMemcpyNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &shape, NULL));
}

RUNTIME_API(cudaGraphExecMemcpyNodeSetParams1D, v11010)
{
    const CUDA_MEMCPY3D shape = shape_line(p->dst, p->src, p->count);
    return DRIVER(cuGraphExecMemcpyNodeSetParams(p->hGraphExec, p->node, &shape, NULL));
}

RUNTIME_API(cudaGraphAddMemsetNode, v10000)
{
    NEED_VALUE(p->pMemsetParams);
    NEED_CONTEXT();
    const struct cudaMemsetParams *s = p->pMemsetParams;
    const CUDA_MEMSET_NODE_PARAMS params = {(uintptr_t)s->dst, s->pitch, s->value, s->elementSize, s->width, s->height};
    return DRIVER(cuGraphAddMemsetNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &params, NULL));
}

RUNTIME_API(cudaGraphAddHostNode, v10000)
{
    NEED_VALUE(p->pNodeParams);
    NEED_CONTEXT();
    const CUDA_HOST_NODE_PARAMS params = {p->pNodeParams->fn, p->pNodeParams->userData};
    return DRIVER(cuGraphAddHostNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &params));
}

RUNTIME_FORWARD(cudaGraphAddChildGraphNode, v10000, cuGraphAddChildGraphNode)
RUNTIME_FORWARD(cudaGraphAddEmptyNode, v10000, cuGraphAddEmptyNode)
