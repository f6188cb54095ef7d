/*
 * Kernels and the images they come from. A module, a library, a function and a kernel of CUDA are two things here: an
 * image and a function of it. Kernels are known by name; what they would compute is never looked at.
 */
#ifndef SIMGPU_CORE_FUNCTION_H
#define SIMGPU_CORE_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "core/list.h"

struct image;

/* Behind CUfunction and CUkernel alike. Lives as long as the process, so that a name in a record stays readable. */
struct function {
    struct image *image;
    char *name;        /* mangled; callbacks tell this one */
    char *record_name; /* the same, elsewhere: as CUPTI, whose records point to a copy of their own */
    unsigned registers, static_shared;
    int max_dynamic_shared;
};

struct global {
    char *name;
    size_t size;
    void *address; /* NULL until it is asked for */
};

/* Behind CUmodule and CUlibrary alike. */
struct image {
    uint32_t id;
    struct list functions; /* struct function */
    struct list globals;   /* struct global */
    bool closed;           /* the image could be read: what is not in it does not exist */
    const void *data;      /* the program's, for callbacks */
    size_t size;
    CUcontext context; /* a module's; NULL for a library */
};

/* Reads PTX text, a cubin or a fat binary. Told to CUPTI as a loaded module. */
CUresult image_load(const void *data, CUcontext context, struct image **image);
void image_unload(struct image *image);
/* NULL when the image has no such kernel. */
struct function *image_function(struct image *image, const char *name);
/* NULL when the image has no such variable. SIZE is what it gets when the image does not tell; 0: then it has none. */
struct global *image_global(struct image *image, const char *name, size_t size);

static inline struct function *function_of(CUfunction handle)
{
    return (struct function *)(void *)handle;
}

#endif
