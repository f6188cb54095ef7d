/* The runtime API: graphs. */
#include "cudart/runtime.h"

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
