/* The runtime API: graphs. */
#include "cudart/runtime.h"

RUNTIME_API(cudaGraphCreate, v10000, (cudaGraph_t * pGraph, unsigned flags), pGraph, flags)
{
    NEED_CONTEXT();
    return DRIVER(cuGraphCreate(p->pGraph, p->flags));
}

RUNTIME_API(cudaGraphDestroy, v10000, (cudaGraph_t graph), graph)
{
    return DRIVER(cuGraphDestroy(p->graph));
}

RUNTIME_API(cudaGraphClone, v10000, (cudaGraph_t * pGraphClone, cudaGraph_t originalGraph), pGraphClone, originalGraph)
{
    return DRIVER(cuGraphClone(p->pGraphClone, p->originalGraph));
}

RUNTIME_API(cudaGraphInstantiate, v12000, (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
            pGraphExec, graph, flags)
{
    NEED_CONTEXT();
    return DRIVER(cuGraphInstantiateWithFlags(p->pGraphExec, p->graph, p->flags));
}

RUNTIME_API(cudaGraphInstantiateWithFlags, v11040,
            (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags), pGraphExec, graph, flags)
{
    NEED_CONTEXT();
    return DRIVER(cuGraphInstantiateWithFlags(p->pGraphExec, p->graph, p->flags));
}

RUNTIME_STREAM_API(cudaGraphInstantiateWithParams, v12000, v12000,
                   (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, cudaGraphInstantiateParams *instantiateParams),
                   pGraphExec, graph, instantiateParams)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuGraphInstantiateWithParams)(p->pGraphExec, p->graph,
                                                     (CUDA_GRAPH_INSTANTIATE_PARAMS *)(void *)p->instantiateParams));
}

RUNTIME_STREAM_API(cudaGraphLaunch, v10000, v10000, (cudaGraphExec_t graphExec, cudaStream_t stream), graphExec, stream)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuGraphLaunch)(p->graphExec, p->stream));
}

RUNTIME_STREAM_API(cudaGraphUpload, v10000, v10000, (cudaGraphExec_t graphExec, cudaStream_t stream), graphExec, stream)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuGraphUpload)(p->graphExec, p->stream));
}

RUNTIME_API(cudaGraphExecDestroy, v10000, (cudaGraphExec_t graphExec), graphExec)
{
    return DRIVER(cuGraphExecDestroy(p->graphExec));
}

RUNTIME_API(cudaGraphExecGetFlags, v12000, (cudaGraphExec_t graphExec, unsigned long long *flags), graphExec, flags)
{
    return DRIVER(cuGraphExecGetFlags(p->graphExec, (cuuint64_t *)p->flags));
}

RUNTIME_API(cudaGraphExecUpdate, v10020,
            (cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphExecUpdateResultInfo *resultInfo), hGraphExec,
            hGraph, resultInfo)
{
    return DRIVER(cuGraphExecUpdate_v2(p->hGraphExec, p->hGraph, (CUgraphExecUpdateResultInfo *)(void *)p->resultInfo));
}

/* ---- its shape ---- */

RUNTIME_API(cudaGraphGetNodes, v10000, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes), graph, nodes,
            numNodes)
{
    return DRIVER(cuGraphGetNodes(p->graph, p->nodes, p->numNodes));
}

RUNTIME_API(cudaGraphGetRootNodes, v10000, (cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes),
            graph, pRootNodes, pNumRootNodes)
{
    return DRIVER(cuGraphGetRootNodes(p->graph, p->pRootNodes, p->pNumRootNodes));
}

RUNTIME_API(cudaGraphGetEdges, v12030,
            (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edgeData,
             size_t *numEdges),
            graph, from, to, edgeData, numEdges)
{
    return DRIVER(cuGraphGetEdges_v2(p->graph, p->from, p->to, NULL, p->numEdges));
}

RUNTIME_API(cudaGraphNodeGetDependencies, v12030,
            (cudaGraphNode_t node, cudaGraphNode_t *pDependencies, cudaGraphEdgeData *edgeData,
             size_t *pNumDependencies),
            node, pDependencies, edgeData, pNumDependencies)
{
    return DRIVER(cuGraphNodeGetDependencies_v2(p->node, p->pDependencies, NULL, p->pNumDependencies));
}

RUNTIME_API(cudaGraphAddDependencies, v12030,
            (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
             const cudaGraphEdgeData *edgeData, size_t numDependencies),
            graph, from, to, edgeData, numDependencies)
{
    return DRIVER(cuGraphAddDependencies_v2(p->graph, p->from, p->to, NULL, p->numDependencies));
}

RUNTIME_API(cudaGraphRemoveDependencies, v12030,
            (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
             const cudaGraphEdgeData *edgeData, size_t numDependencies),
            graph, from, to, edgeData, numDependencies)
{
    return DRIVER(cuGraphRemoveDependencies_v2(p->graph, p->from, p->to, NULL, p->numDependencies));
}

RUNTIME_API(cudaGraphDestroyNode, v10000, (cudaGraphNode_t node), node)
{
    return DRIVER(cuGraphDestroyNode(p->node));
}

RUNTIME_API(cudaGraphNodeGetType, v10000, (cudaGraphNode_t node, enum cudaGraphNodeType *pType), node, pType)
{
    return DRIVER(cuGraphNodeGetType(p->node, (CUgraphNodeType *)p->pType));
}

RUNTIME_API(cudaGraphNodeFindInClone, v10000,
            (cudaGraphNode_t * pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph), pNode, originalNode,
            clonedGraph)
{
    return DRIVER(cuGraphNodeFindInClone(p->pNode, p->originalNode, p->clonedGraph));
}

RUNTIME_API(cudaGraphNodeSetEnabled, v11060, (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned isEnabled),
            hGraphExec, hNode, isEnabled)
{
    return DRIVER(cuGraphNodeSetEnabled(p->hGraphExec, p->hNode, p->isEnabled));
}
