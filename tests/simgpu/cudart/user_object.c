/* The runtime API: what graphs hold for a program. */
#include "cudart/runtime.h"

RUNTIME_API(cudaUserObjectCreate, v11030,
            (cudaUserObject_t * object_out, void *ptr, cudaHostFn_t destroy, unsigned initialRefcount, unsigned flags),
            object_out, ptr, destroy, initialRefcount, flags)
{
    NEED_CONTEXT();
    return DRIVER(cuUserObjectCreate(p->object_out, p->ptr, p->destroy, p->initialRefcount, p->flags));
}

RUNTIME_API(cudaUserObjectRetain, v11030, (cudaUserObject_t object, unsigned count), object, count)
{
    return DRIVER(cuUserObjectRetain(p->object, p->count));
}

RUNTIME_API(cudaUserObjectRelease, v11030, (cudaUserObject_t object, unsigned count), object, count)
{
    return DRIVER(cuUserObjectRelease(p->object, p->count));
}

RUNTIME_API(cudaGraphRetainUserObject, v11030,
            (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags), graph, object, count, flags)
{
    return DRIVER(cuGraphRetainUserObject(p->graph, p->object, p->count, p->flags));
}

RUNTIME_API(cudaGraphReleaseUserObject, v11030, (cudaGraph_t graph, cudaUserObject_t object, unsigned count), graph,
            object, count)
{
    return DRIVER(cuGraphReleaseUserObject(p->graph, p->object, p->count));
}
