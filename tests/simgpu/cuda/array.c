/* The driver API: arrays and mipmapped arrays. */
#include "core/array.h"
#include "core/api.h"
#include "cuda/need.h"

DRIVER_API(cuArrayCreate_v2)
{
    NEED_VALUE(p->pHandle && p->pAllocateArray);
    NEED_CONTEXT(context);
    const CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = p->pAllocateArray->Width,
                                           .Height = p->pAllocateArray->Height,
                                           .Format = p->pAllocateArray->Format,
                                           .NumChannels = p->pAllocateArray->NumChannels};
    return array_create(context, &shape, p->pHandle);
}

DRIVER_API(cuArray3DCreate_v2)
{
    NEED_VALUE(p->pHandle && p->pAllocateArray);
    NEED_CONTEXT(context);
    return array_create(context, p->pAllocateArray, p->pHandle);
}

DRIVER_API(cuArrayDestroy)
{
    NEED_HANDLE(p->hArray);
    return array_destroy(p->hArray);
}

DRIVER_API(cuMipmappedArrayCreate)
{
    NEED_VALUE(p->pHandle && p->pMipmappedArrayDesc && p->numMipmapLevels);
    NEED_CONTEXT(context);
    return mipmap_create(context, p->pMipmappedArrayDesc, p->numMipmapLevels, p->pHandle);
}

DRIVER_API(cuMipmappedArrayDestroy)
{
    NEED_HANDLE(p->hMipmappedArray);
    return mipmap_destroy(p->hMipmappedArray);
}
