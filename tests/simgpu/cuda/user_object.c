/* The driver API: what graphs hold for a program. */
#include "core/user_object.h"
#include "core/api.h"
#include "core/graph.h"
#include "cuda/need.h"

DRIVER_API(cuUserObjectCreate,
           (CUuserObject * object_out, void *ptr, CUhostFn destroy, unsigned initialRefcount, unsigned flags),
           object_out, ptr, destroy, initialRefcount, flags)
{
    NEED_VALUE(p->object_out && p->destroy && p->initialRefcount && p->flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    *p->object_out = user_object_create(p->ptr, p->destroy, p->initialRefcount);
    return CUDA_SUCCESS;
}

DRIVER_API(cuUserObjectRetain, (CUuserObject object, unsigned count), object, count)
{
    NEED_VALUE(p->object && p->count);
    user_object_retain(p->object, p->count);
    return CUDA_SUCCESS;
}

DRIVER_API(cuUserObjectRelease, (CUuserObject object, unsigned count), object, count)
{
    NEED_VALUE(p->object && p->count);
    user_object_release(p->object, p->count, NULL);
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphRetainUserObject, (CUgraph graph, CUuserObject object, unsigned count, unsigned flags), graph, object,
           count, flags)
{
    NEED_VALUE(p->graph && p->object && p->count && !(p->flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE));
    if (!(p->flags & CU_GRAPH_USER_OBJECT_MOVE))
        user_object_retain(p->object, p->count);
    for (unsigned i = 0; i < p->count; i++)
        list_add(&p->graph->objects, p->object);
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphReleaseUserObject, (CUgraph graph, CUuserObject object, unsigned count), graph, object, count)
{
    NEED_VALUE(p->graph && p->object && p->count);
    for (unsigned i = 0; i < p->count; i++) {
        NEED_VALUE(list_has(&p->graph->objects, p->object));
        list_remove(&p->graph->objects, p->object);
        user_object_release(p->object, 1, NULL);
    }
    return CUDA_SUCCESS;
}
