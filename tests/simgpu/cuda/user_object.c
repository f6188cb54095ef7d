/* The driver API: what graphs hold for a program. */
#include "core/user_object.h"
#include "core/api.h"
#include "core/graph.h"
#include "cuda/need.h"

DRIVER_API(cuUserObjectCreate)
{
    NEED_VALUE(p->object_out && p->destroy && p->initialRefcount && p->flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    *p->object_out = user_object_create(p->ptr, p->destroy, p->initialRefcount);
    return CUDA_SUCCESS;
}

DRIVER_API(cuUserObjectRetain)
{
    NEED_VALUE(p->object && p->count);
    user_object_retain(p->object, p->count);
    return CUDA_SUCCESS;
}

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

DRIVER_API(cuGraphReleaseUserObject)
{
    NEED_VALUE(p->graph && p->object && p->count);
    for (unsigned i = 0; i < p->count; i++) {
        NEED_VALUE(list_has(&p->graph->objects, p->object));
        list_remove(&p->graph->objects, p->object);
        user_object_release(p->object, 1, NULL);
    }
    return CUDA_SUCCESS;
}
