/* The driver API: linking. What is added is read for its names; the whole is a cubin with all of them. */
#include <stdlib.h>
#include <string.h>

#include "core/api.h"
#include "core/cubin.h"
#include "core/function.h"
#include "core/image_read.h"
#include "core/jit.h"
#include "cuda/file.h"
#include "cuda/need.h"

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

DRIVER_API(cuLinkAddFile_v2)
{
    size_t size;
    void *data = file_read(p->path, &size);
    NEED(data, CUDA_ERROR_FILE_NOT_FOUND);
    CUresult result = link_add(p->state, p->type, data, size);
    free(data);
    return result;
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
