/* The runtime API: graphs, their nodes, and user objects. */
#include "cudart/registry.h"
#include "cudart/runtime.h"
#include "cudart/shape.h"

RUNTIME_FORWARD(cudaGraphCreate, v10000, cuGraphCreate)
RUNTIME_FORWARD_PLAIN(cudaGraphDestroy, v10000, cuGraphDestroy)
RUNTIME_FORWARD_PLAIN(cudaGraphClone, v10000, cuGraphClone)
RUNTIME_FORWARD(cudaGraphInstantiate, v12000, cuGraphInstantiateWithFlags)
RUNTIME_FORWARD(cudaGraphInstantiateWithFlags, v11040, cuGraphInstantiateWithFlags)

RUNTIME_STREAM_API(cudaGraphInstantiateWithParams, v12000, v12000)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuGraphInstantiateWithParams)(p->pGraphExec, p->graph,
                                                     (CUDA_GRAPH_INSTANTIATE_PARAMS *)(void *)p->instantiateParams));
}

RUNTIME_STREAM_FORWARD(cudaGraphLaunch, v10000, v10000, cuGraphLaunch)
RUNTIME_STREAM_FORWARD(cudaGraphUpload, v10000, v10000, cuGraphUpload)
RUNTIME_FORWARD_PLAIN(cudaGraphExecDestroy, v10000, cuGraphExecDestroy)

RUNTIME_API(cudaGraphExecGetFlags, v12000)
{
    return DRIVER(cuGraphExecGetFlags(p->graphExec, (cuuint64_t *)p->flags));
}

RUNTIME_API(cudaGraphExecUpdate, v10020)
{
    return DRIVER(cuGraphExecUpdate_v2(p->hGraphExec, p->hGraph, (CUgraphExecUpdateResultInfo *)(void *)p->resultInfo));
}

/* ---- its shape ---- */

RUNTIME_FORWARD_PLAIN(cudaGraphGetNodes, v10000, cuGraphGetNodes)
RUNTIME_FORWARD_PLAIN(cudaGraphGetRootNodes, v10000, cuGraphGetRootNodes)

RUNTIME_API(cudaGraphGetEdges, v12030)
{
    return DRIVER(cuGraphGetEdges_v2(p->graph, p->from, p->to, NULL, p->numEdges));
}

RUNTIME_API(cudaGraphNodeGetDependencies, v12030)
{
    return DRIVER(cuGraphNodeGetDependencies_v2(p->node, p->pDependencies, NULL, p->pNumDependencies));
}

RUNTIME_API(cudaGraphAddDependencies, v12030)
{
    return DRIVER(cuGraphAddDependencies_v2(p->graph, p->from, p->to, NULL, p->numDependencies));
}

RUNTIME_API(cudaGraphRemoveDependencies, v12030)
{
    return DRIVER(cuGraphRemoveDependencies_v2(p->graph, p->from, p->to, NULL, p->numDependencies));
}

RUNTIME_FORWARD_PLAIN(cudaGraphDestroyNode, v10000, cuGraphDestroyNode)

RUNTIME_API(cudaGraphNodeGetType, v10000)
{
    return DRIVER(cuGraphNodeGetType(p->node, (CUgraphNodeType *)p->pType));
}

RUNTIME_FORWARD_PLAIN(cudaGraphNodeFindInClone, v10000, cuGraphNodeFindInClone)
RUNTIME_FORWARD_PLAIN(cudaGraphNodeSetEnabled, v11060, cuGraphNodeSetEnabled)

RUNTIME_FORWARD(cudaUserObjectCreate, v11030, cuUserObjectCreate)
RUNTIME_FORWARD_PLAIN(cudaUserObjectRetain, v11030, cuUserObjectRetain)
RUNTIME_FORWARD_PLAIN(cudaUserObjectRelease, v11030, cuUserObjectRelease)
RUNTIME_FORWARD_PLAIN(cudaGraphRetainUserObject, v11030, cuGraphRetainUserObject)
RUNTIME_FORWARD_PLAIN(cudaGraphReleaseUserObject, v11030, cuGraphReleaseUserObject)

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

RUNTIME_API(cudaGraphKernelNodeSetParams, v10000)
{
    CUDA_KERNEL_NODE_PARAMS params;
    TRY(kernel_params(p->pNodeParams, &params));
    return DRIVER(cuGraphKernelNodeSetParams_v2(p->node, &params));
}

RUNTIME_API(cudaGraphKernelNodeGetParams, v10000)
{
    NEED_VALUE(p->pNodeParams);
    CUDA_KERNEL_NODE_PARAMS params;
    TRY(cuGraphKernelNodeGetParams_v2(p->node, &params));
    registry_add_handle(params.func);
    *p->pNodeParams = (struct cudaKernelNodeParams){
        .func = params.func,
        .gridDim = {params.gridDimX, params.gridDimY, params.gridDimZ},
        .blockDim = {params.blockDimX, params.blockDimY, params.blockDimZ},
        .sharedMemBytes = params.sharedMemBytes,
        .kernelParams = params.kernelParams,
        .extra = params.extra,
    };
    return cudaSuccess;
}

RUNTIME_API(cudaGraphExecKernelNodeSetParams, v10010)
{
    CUDA_KERNEL_NODE_PARAMS params;
    TRY(kernel_params(p->pNodeParams, &params));
    return DRIVER(cuGraphExecKernelNodeSetParams_v2(p->hGraphExec, p->node, &params));
}

RUNTIME_API(cudaGraphAddMemcpyNode1D, v11010)
{
    NEED_CONTEXT();
    const CUDA_MEMCPY3D shape = shape_line(p->dst, p->src, p->count);
    return DRIVER(cuGraphAddMemcpyNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &shape, NULL));
}

RUNTIME_API(cudaGraphAddMemcpyNode, v10000)
{
    NEED_VALUE(p->pCopyParams);
    NEED_CONTEXT();
    const CUDA_MEMCPY3D shape = shape_box(p->pCopyParams);
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

RUNTIME_API(cudaGraphExecMemsetNodeSetParams, v10020)
{
    NEED_VALUE(p->pNodeParams);
    const struct cudaMemsetParams *s = p->pNodeParams;
    const CUDA_MEMSET_NODE_PARAMS params = {(uintptr_t)s->dst, s->pitch, s->value, s->elementSize, s->width, s->height};
    return DRIVER(cuGraphExecMemsetNodeSetParams(p->hGraphExec, p->node, &params, NULL));
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
RUNTIME_FORWARD(cudaGraphAddEventRecordNode, v11010, cuGraphAddEventRecordNode)
RUNTIME_FORWARD(cudaGraphAddEventWaitNode, v11010, cuGraphAddEventWaitNode)
