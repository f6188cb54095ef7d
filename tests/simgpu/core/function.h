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

/* Behind CUfunction and CUkernel alike. Lives as long as the process. */
struct function {
    struct image *image;
    char *name;              /* mangled; callbacks tell this one */
    const char *record_name; /* a copy that records point to, until the image is unloaded */
    unsigned registers, static_shared;
    int max_dynamic_shared;
    struct list loaded; /* contexts that it is loaded in: under the simulator's lock */
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
    bool unloaded;
    bool closed;     /* the image could be read: what is not in it does not exist */
    const void *ptx; /* while it is loaded: what is to be compiled; NULL: there is a cubin */
    size_t ptx_size;
    const void *cubin; /* for callbacks: the program's, or made at the first callback */
    size_t cubin_size;
    CUcontext context;  /* a module's; NULL for a library */
    struct list loaded; /* contexts that its code is loaded in: under the simulator's lock */
};

/* Reads PTX text, which is compiled, a cubin or a fat binary. CUPTI's callback says that a module is loaded; that a
 * library is when it is first used in a context. */
CUresult image_load(const void *data, CUcontext context, struct image **image);
/* With a callback, if there was one when it was loaded. */
void image_unload(struct image *image);
/* Frees the names in an image that was only read, never loaded. */
void image_forget(struct image *image);
/* Loads its code into CONTEXT, if it is not there. */
void image_use(struct image *image, CUcontext context);
/* Loads FUNCTION into CONTEXT, with its image, if it is not there: the driver leaves that to a function's first use. */
void function_load(struct function *function, CUcontext context);
bool function_loaded(const struct function *function, CUcontext context);
/* Tells CUPTI of a launch: its module is "profiled". */
void function_notify_launch(const struct function *function, CUcontext context);
/* NULL when the image has no such kernel. */
struct function *image_function(struct image *image, const char *name);
/* NULL when the image has no such variable. SIZE is what it gets when the image does not tell; 0: then it has none. */
struct global *image_global(struct image *image, const char *name, size_t size);

static inline struct function *function_of(CUfunction handle)
{
    return (struct function *)(void *)handle;
}

#endif
