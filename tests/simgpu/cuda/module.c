/* The driver API: modules, libraries, the functions and variables in them, and linking. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api.h"
#include "core/cubin.h"
#include "core/device.h"
#include "core/function.h"
#include "core/image_read.h"
#include "core/jit.h"
#include "cuda/need.h"

/* The file's bytes with a NUL behind them, to be freed; *SIZE (may be NULL) is without it. NULL: cannot be read. */
static void *file_read(const char *path, size_t *size)
{
    enum { block = 1 << 16 };
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file)
        return NULL;
    char *data = NULL;
    size_t all = 0, got;
    do {
        data = realloc(data, all + block + 1);
        if (!data)
            abort();
        got = fread(data + all, 1, block, file);
        all += got;
    } while (got);
    data[all] = '\0';
    fclose(file);
    if (size)
        *size = all;
    return data;
}

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

DRIVER_API(cuModuleUnload)
{
    NEED_HANDLE(p->hmod);
    image_unload(image_of(p->hmod));
    return CUDA_SUCCESS;
}

DRIVER_ANSWER(cuModuleGetLoadingMode, NEED_NOTHING, mode, CU_MODULE_LAZY_LOADING)

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

DRIVER_ANSWER(cuKernelGetName, NEED_HANDLE(p->hfunc), name, function_of((CUfunction)(void *)p->hfunc)->name)

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

/* ---- linking: what is added is read for its names; the result is a cubin with all of them ---- */

struct CUlinkState_st {
    struct image parts; /* the names of all that was added */
    void *cubin;        /* once it is complete; the program's to look at until the state is destroyed */
    size_t size;
};

static CUresult link_add(CUlinkState state, CUjitInputType type, const void *data, size_t size)
{
    NEED_HANDLE(state);
    NEED_VALUE(data && size && !state->cubin && (unsigned)type < CU_JIT_NUM_INPUT_TYPES);
    char *text = malloc(size + 1); /* PTX may come without a NUL */
    NEED(text, CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(text, data, size);
    text[size] = '\0';
    state->parts.ptx = NULL;
    bool read = image_read(&state->parts, text);
    bool is_ptx = state->parts.ptx == text;
    if (read && is_ptx)
        jit_compile(text, state->parts.ptx_size);
    free(text);
    NEED(read, type == CU_JIT_INPUT_PTX ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE);
    NEED(is_ptx == (type == CU_JIT_INPUT_PTX), CUDA_ERROR_INVALID_IMAGE);
    return CUDA_SUCCESS;
}

DRIVER_API(cuLinkCreate_v2)
{
    NEED_VALUE(p->stateOut && ((p->options && p->optionValues) || !p->numOptions));
    NEED_CONTEXT(context);
    CUlinkState state = calloc(1, sizeof(*state));
    NEED(state, CUDA_ERROR_OUT_OF_MEMORY);
    *p->stateOut = state;
    return CUDA_SUCCESS;
}

DRIVER_API(cuLinkAddData_v2)
{
    return link_add(p->state, p->type, p->data, p->size);
}

DRIVER_API(cuLinkComplete)
{
    NEED_HANDLE(p->state);
    NEED_VALUE(p->cubinOut);
    if (!p->state->cubin)
        p->state->cubin = cubin_make(&p->state->parts, &p->state->size);
    *p->cubinOut = p->state->cubin;
    if (p->sizeOut)
        *p->sizeOut = p->state->size;
    return CUDA_SUCCESS;
}

DRIVER_API(cuLinkDestroy)
{
    NEED_HANDLE(p->state);
    image_forget(&p->state->parts);
    free(p->state->cubin);
    free(p->state);
    return CUDA_SUCCESS;
}
