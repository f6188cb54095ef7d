/* The runtime API: the nodes of graphs. */
#include "cudart/registry.h"
#include "cudart/runtime.h"
#include "cudart/shape.h"

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

RUNTIME_API(cudaGraphAddKernelNode, v10000,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies, const struct cudaKernelNodeParams *pNodeParams),
            pGraphNode, graph, pDependencies, numDependencies, pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    TRY(kernel_params(p->pNodeParams, &params));
    return DRIVER(cuGraphAddKernelNode_v2(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &params));
}

RUNTIME_API(cudaGraphKernelNodeSetParams, v10000,
            (cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams), node, pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    TRY(kernel_params(p->pNodeParams, &params));
    return DRIVER(cuGraphKernelNodeSetParams_v2(p->node, &params));
}

RUNTIME_API(cudaGraphKernelNodeGetParams, v10000, (cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams),
            node, pNodeParams)
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

RUNTIME_API(cudaGraphExecKernelNodeSetParams, v10010,
            (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams),
            hGraphExec, node, pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    TRY(kernel_params(p->pNodeParams, &params));
    return DRIVER(cuGraphExecKernelNodeSetParams_v2(p->hGraphExec, p->node, &params));
}

RUNTIME_API(cudaGraphAddMemcpyNode1D, v11010,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies, void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
            pGraphNode, graph, pDependencies, numDependencies, dst, src, count, kind)
{
    NEED_CONTEXT();
    const CUDA_MEMCPY3D shape = shape_line(p->dst, p->src, p->count);
    return DRIVER(cuGraphAddMemcpyNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &shape, NULL));
}

RUNTIME_API(cudaGraphAddMemcpyNode, v10000,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies, const struct cudaMemcpy3DParms *pCopyParams),
            pGraphNode, graph, pDependencies, numDependencies, pCopyParams)
{
    NEED_VALUE(p->pCopyParams);
    NEED_CONTEXT();
    const CUDA_MEMCPY3D shape = shape_box(p->pCopyParams);
    return DRIVER(cuGraphAddMemcpyNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &shape, NULL));
}

RUNTIME_API(cudaGraphExecMemcpyNodeSetParams1D, v11010,
            (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const void *src, size_t count,
             enum cudaMemcpyKind kind),
            hGraphExec, node, dst, src, count, kind)
{
    const CUDA_MEMCPY3D shape = shape_line(p->dst, p->src, p->count);
    return DRIVER(cuGraphExecMemcpyNodeSetParams(p->hGraphExec, p->node, &shape, NULL));
}

RUNTIME_API(cudaGraphAddMemsetNode, v10000,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies, const struct cudaMemsetParams *pMemsetParams),
            pGraphNode, graph, pDependencies, numDependencies, pMemsetParams)
{
    NEED_VALUE(p->pMemsetParams);
    NEED_CONTEXT();
    const struct cudaMemsetParams *s = p->pMemsetParams;
    const CUDA_MEMSET_NODE_PARAMS params = {(uintptr_t)s->dst, s->pitch, s->value, s->elementSize, s->width, s->height};
    return DRIVER(cuGraphAddMemsetNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &params, NULL));
}

RUNTIME_API(cudaGraphExecMemsetNodeSetParams, v10020,
            (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams), hGraphExec,
            node, pNodeParams)
{
    NEED_VALUE(p->pNodeParams);
    const struct cudaMemsetParams *s = p->pNodeParams;
    const CUDA_MEMSET_NODE_PARAMS params = {(uintptr_t)s->dst, s->pitch, s->value, s->elementSize, s->width, s->height};
    return DRIVER(cuGraphExecMemsetNodeSetParams(p->hGraphExec, p->node, &params, NULL));
}

RUNTIME_API(cudaGraphAddHostNode, v10000,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies, const struct cudaHostNodeParams *pNodeParams),
            pGraphNode, graph, pDependencies, numDependencies, pNodeParams)
{
    NEED_VALUE(p->pNodeParams);
    NEED_CONTEXT();
    const CUDA_HOST_NODE_PARAMS params = {p->pNodeParams->fn, p->pNodeParams->userData};
    return DRIVER(cuGraphAddHostNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, &params));
}

RUNTIME_API(cudaGraphAddChildGraphNode, v10000,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies, cudaGraph_t childGraph),
            pGraphNode, graph, pDependencies, numDependencies, childGraph)
{
    NEED_CONTEXT();
    return DRIVER(
        cuGraphAddChildGraphNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, p->childGraph));
}

RUNTIME_API(cudaGraphAddEmptyNode, v10000,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies),
            pGraphNode, graph, pDependencies, numDependencies)
{
    NEED_CONTEXT();
    return DRIVER(cuGraphAddEmptyNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies));
}

RUNTIME_API(cudaGraphAddEventRecordNode, v11010,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies, cudaEvent_t event),
            pGraphNode, graph, pDependencies, numDependencies, event)
{
    NEED_CONTEXT();
    return DRIVER(cuGraphAddEventRecordNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, p->event));
}

RUNTIME_API(cudaGraphAddEventWaitNode, v11010,
            (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
             size_t numDependencies, cudaEvent_t event),
            pGraphNode, graph, pDependencies, numDependencies, event)
{
    NEED_CONTEXT();
    return DRIVER(cuGraphAddEventWaitNode(p->pGraphNode, p->graph, p->pDependencies, p->numDependencies, p->event));
}
