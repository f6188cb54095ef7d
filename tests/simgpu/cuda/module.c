/* The driver API: modules, libraries, and the functions and variables in them. */
#include "core/api.h"
#include "core/device.h"
#include "core/function.h"
#include "cuda/file.h"
#include "cuda/need.h"

/* Handles are images and functions by other names. */
static struct image *image_of(const void *handle)
{
    return (struct image *)(uintptr_t)handle;
}

static CUresult module_load(CUmodule *module, const void *data)
{
    NEED_VALUE(module);
    NEED_CONTEXT(context);
    struct image *image;
    CUresult result = image_load(data, context, &image);
    if (result == CUDA_SUCCESS)
        *module = (CUmodule)(void *)image;
    return result;
}

DRIVER_API(cuModuleLoad)
{
    void *data = file_read(p->fname, NULL); /* stays: tools look at an image for as long as it is loaded */
    return data ? module_load(p->module, data) : CUDA_ERROR_FILE_NOT_FOUND;
}

DRIVER_API(cuModuleLoadData)
{
    return module_load(p->module, p->image);
}

DRIVER_API(cuModuleLoadDataEx)
{
    return module_load(p->module, p->image);
}

DRIVER_API(cuModuleLoadFatBinary)
{
    return module_load(p->module, p->fatCubin);
}

DRIVER_API(cuModuleUnload)
{
    NEED_HANDLE(p->hmod);
    image_unload(image_of(p->hmod));
    return CUDA_SUCCESS;
}

DRIVER_API(cuModuleGetLoadingMode)
{
    NEED_VALUE(p->mode);
    *p->mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

DRIVER_API(cuModuleGetFunction)
{
    NEED_HANDLE(p->hmod);
    NEED_VALUE(p->hfunc && p->name);
    NEED_CONTEXT(context);
    struct function *function = image_function(image_of(p->hmod), p->name);
    NEED(function, CUDA_ERROR_NOT_FOUND);
    function_load(function, context);
    *p->hfunc = (CUfunction)(void *)function;
    return CUDA_SUCCESS;
}

static CUresult find_global(CUdeviceptr *address, size_t *bytes, struct image *image, const char *name)
{
    NEED_HANDLE(image);
    NEED_VALUE(name);
    NEED_CONTEXT(context);
    image_use(image, context);
    struct global *global = image_global(image, name, 0);
    NEED(global, CUDA_ERROR_NOT_FOUND);
    if (address)
        *address = (uintptr_t)global->address;
    if (bytes)
        *bytes = global->size;
    return CUDA_SUCCESS;
}

DRIVER_API(cuModuleGetGlobal_v2)
{
    return find_global(p->dptr, p->bytes, image_of(p->hmod), p->name);
}

/* ---- libraries ---- */

static CUresult library_load(CUlibrary *library, const void *data)
{
    NEED_VALUE(library);
    struct image *image;
    CUresult result = image_load(data, NULL, &image);
    if (result == CUDA_SUCCESS)
        *library = (CUlibrary)(void *)image;
    return result;
}

DRIVER_API(cuLibraryLoadData)
{
    return library_load(p->library, p->code);
}

DRIVER_API(cuLibraryLoadFromFile)
{
    void *data = file_read(p->fileName, NULL);
    return data ? library_load(p->library, data) : CUDA_ERROR_FILE_NOT_FOUND;
}

DRIVER_API(cuLibraryUnload)
{
    NEED_HANDLE(p->library);
    image_unload(image_of(p->library));
    return CUDA_SUCCESS;
}

DRIVER_API(cuLibraryGetKernel)
{
    NEED_HANDLE(p->library);
    NEED_VALUE(p->pKernel && p->name);
    struct function *function = image_function(image_of(p->library), p->name);
    NEED(function, CUDA_ERROR_NOT_FOUND);
    *p->pKernel = (CUkernel)(void *)function;
    return CUDA_SUCCESS;
}

DRIVER_API(cuLibraryGetKernelCount)
{
    NEED_HANDLE(p->lib);
    NEED_VALUE(p->count);
    *p->count = (unsigned)image_of(p->lib)->functions.count;
    return CUDA_SUCCESS;
}

DRIVER_API(cuLibraryEnumerateKernels)
{
    NEED_HANDLE(p->lib);
    NEED_VALUE(p->kernels);
    struct image *image = image_of(p->lib);
    for (size_t i = 0; i < p->numKernels && i < image->functions.count; i++)
        p->kernels[i] = image->functions.items[i];
    return CUDA_SUCCESS;
}

DRIVER_API(cuLibraryGetModule)
{
    NEED_HANDLE(p->library);
    NEED_VALUE(p->pMod);
    NEED_CONTEXT(context);
    image_use(image_of(p->library), context);
    *p->pMod = (CUmodule)(void *)p->library;
    return CUDA_SUCCESS;
}

DRIVER_API(cuLibraryGetGlobal)
{
    return find_global(p->dptr, p->bytes, image_of(p->library), p->name);
}

/* ---- kernels ---- */

DRIVER_API(cuKernelGetFunction)
{
    NEED_VALUE(p->pFunc);
    NEED_HANDLE(p->kernel);
    NEED_CONTEXT(context);
    function_load(function_of((CUfunction)(void *)p->kernel), context);
    *p->pFunc = (CUfunction)(void *)p->kernel;
    return CUDA_SUCCESS;
}

DRIVER_API(cuKernelGetName)
{
    NEED_VALUE(p->name);
    NEED_HANDLE(p->hfunc);
    *p->name = function_of((CUfunction)(void *)p->hfunc)->name;
    return CUDA_SUCCESS;
}

DRIVER_API(cuFuncGetName)
{
    NEED_VALUE(p->name);
    NEED_HANDLE(p->hfunc);
    *p->name = function_of(p->hfunc)->name;
    return CUDA_SUCCESS;
}

DRIVER_API(cuFuncGetModule)
{
    NEED_VALUE(p->hmod);
    NEED_HANDLE(p->hfunc);
    *p->hmod = (CUmodule)(void *)function_of(p->hfunc)->image;
    return CUDA_SUCCESS;
}

static CUresult get_attribute(const struct function *function, CUfunction_attribute attribute, int *value)
{
    NEED_VALUE(value);
    NEED_HANDLE(function);
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)function->static_shared; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)function->registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->max_dynamic_shared ? function->max_dynamic_shared : 49152;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = -1; break;
    default: *value = 0; break;
    }
    return attribute < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_attribute(struct function *function, CUfunction_attribute attribute, int value)
{
    NEED_HANDLE(function);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        NEED_VALUE(value >= 0 && value <= 232448);
        function->max_dynamic_shared = value;
    }
    return CUDA_SUCCESS;
}

DRIVER_API(cuFuncGetAttribute)
{
    return get_attribute(function_of(p->hfunc), p->attrib, p->pi);
}

DRIVER_API(cuFuncSetAttribute)
{
    return set_attribute(function_of(p->hfunc), p->attrib, p->value);
}

DRIVER_API(cuFuncSetCacheConfig)
{
    return p->hfunc ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_API(cuKernelGetAttribute)
{
    return get_attribute(function_of((CUfunction)(void *)p->kernel), p->attrib, p->pi);
}

DRIVER_API(cuKernelSetAttribute)
{
    return set_attribute(function_of((CUfunction)(void *)p->kernel), p->attrib, p->val);
}

DRIVER_API(cuFuncLoad)
{
    NEED_HANDLE(p->function);
    NEED_CONTEXT(context);
    function_load(function_of(p->function), context);
    return CUDA_SUCCESS;
}

DRIVER_API(cuFuncIsLoaded)
{
    NEED_VALUE(p->state);
    NEED_HANDLE(p->function);
    NEED_CONTEXT(context);
    bool loaded = function_loaded(function_of(p->function), context);
    *p->state = loaded ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}
