/* The driver API: graphs. */
#include "core/graph.h"
#include "core/api.h"
#include "core/stream.h"
#include "core/user_object.h"
#include "cuda/need.h"

DRIVER_ANSWER(cuGraphCreate, NEED_NOTHING, phGraph, graph_create())

DRIVER_API(cuGraphDestroy)
{
    NEED_VALUE(p->hGraph);
    graph_destroy(p->hGraph);
    return CUDA_SUCCESS;
}

/* As on an H200. */
static bool has_conditional(CUgraph graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct op *op = &((CUgraphNode)graph->nodes.items[i])->op;
        if (op->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
            (op->type == CU_GRAPH_NODE_TYPE_GRAPH && has_conditional(op->graph)))
            return true;
    }
    return false;
}

DRIVER_ANSWER(cuGraphClone, NEED_VALUE(p->originalGraph);
              NEED(!has_conditional(p->originalGraph), CUDA_ERROR_NOT_SUPPORTED), phGraphClone,
              graph_clone(p->originalGraph))

/* ---- its shape ---- */

/* The usual way to hand out a list: without an array only the count, else as many as fit, and NULL for the rest. */
static CUresult hand_out(const struct list *list, CUgraphNode *nodes, size_t *count)
{
    NEED_VALUE(count);
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < list->count ? list->items[i] : NULL;
    if (!nodes || list->count < *count)
        *count = list->count;
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphGetNodes)
{
    NEED_VALUE(p->hGraph);
    return hand_out(&p->hGraph->nodes, p->nodes, p->numNodes);
}

DRIVER_API(cuGraphGetEdges_v2)
{
    NEED_VALUE(p->hGraph && p->numEdges);
    struct list starts = {0}, ends = {0};
    for (size_t i = 0; i < p->hGraph->nodes.count; i++) {
        CUgraphNode node = p->hGraph->nodes.items[i];
        for (size_t j = 0; j < node->before.count; j++) {
            list_add(&starts, node->before.items[j]);
            list_add(&ends, node);
        }
    }
    size_t capacity = *p->numEdges;
    hand_out(&starts, p->from, p->numEdges);
    hand_out(&ends, p->to, &capacity);
    list_release(&starts);
    list_release(&ends);
    return CUDA_SUCCESS;
}

/* ---- its nodes ---- */

/* ---- making it executable, and executing it ---- */

DRIVER_ANSWER(cuGraphInstantiateWithFlags, NEED_VALUE(p->hGraph), phGraphExec, graph_instantiate(p->hGraph, p->flags))

DRIVER_STREAM_API(cuGraphInstantiateWithParams)
{
    NEED_VALUE(p->phGraphExec && p->hGraph && p->instantiateParams);
    *p->phGraphExec = graph_instantiate(p->hGraph, p->instantiateParams->flags);
    p->instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphExecUpdate_v2)
{
    NEED_VALUE(p->hGraphExec && p->hGraph && p->resultInfo);
    bool same = graph_exec_update(p->hGraphExec, p->hGraph);
    *p->resultInfo = (CUgraphExecUpdateResultInfo){.result = same ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                                  : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
    return same ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

DRIVER_STREAM_API(cuGraphLaunch)
{
    NEED_VALUE(p->hGraph);
    CUstream stream = stream_resolve(p->hStream, per_thread);
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT);
    if (!stream->capture)
        return graph_launch(p->hGraph, stream);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = graph_clone(p->hGraph->graph)};
    CUresult result = stream_submit(stream, &op, false);
    if (result != CUDA_SUCCESS)
        graph_destroy(op.graph);
    return result;
}

DRIVER_API(cuGraphExecDestroy)
{
    NEED_VALUE(p->hGraphExec);
    graph_exec_destroy(p->hGraphExec);
    return CUDA_SUCCESS;
}

/* ---- user objects ---- */

DRIVER_ANSWER(cuUserObjectCreate,
              NEED_VALUE(p->destroy && p->initialRefcount && p->flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), object_out,
              user_object_create(p->ptr, p->destroy, p->initialRefcount))

DRIVER_API(cuUserObjectRelease)
{
    NEED_VALUE(p->object && p->count);
    user_object_release(p->object, p->count, NULL);
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphRetainUserObject)
{
    NEED_VALUE(p->graph && p->object && p->count && !(p->flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE));
    if (!(p->flags & CU_GRAPH_USER_OBJECT_MOVE))
        user_object_retain(p->object, p->count);
    for (unsigned i = 0; i < p->count; i++)
        list_add(&p->graph->objects, p->object);
    return CUDA_SUCCESS;
}
