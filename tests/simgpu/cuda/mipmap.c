/* The driver API: mipmapped arrays. */
#include "core/api.h"
#include "core/array.h"
#include "cuda/need.h"

DRIVER_API(cuMipmappedArrayCreate)
{
    NEED_VALUE(p->pHandle && p->pMipmappedArrayDesc && p->numMipmapLevels);
    NEED_CONTEXT(context);
    return mipmap_create(context, p->pMipmappedArrayDesc, p->numMipmapLevels, p->pHandle);
}

DRIVER_API(cuMipmappedArrayGetLevel)
{
    NEED_VALUE(p->pLevelArray);
    NEED_HANDLE(p->hMipmappedArray);
    CUarray level = mipmap_level(p->hMipmappedArray, p->level);
    NEED_VALUE(level);
    *p->pLevelArray = level;
    return CUDA_SUCCESS;
}

DRIVER_API(cuMipmappedArrayDestroy)
{
    NEED_HANDLE(p->hMipmappedArray);
    return mipmap_destroy(p->hMipmappedArray);
}
