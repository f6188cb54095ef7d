#include "core/function.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/callbacks.h"
#include "core/context.h"
#include "core/image_read.h"
#include "core/memory.h"
#include "core/sim.h"

enum { REGISTERS = 32 }; /* of a kernel whose image does not say */

static atomic_uint images_made;
static struct list images; /* all that ever were: functions in them may still be looked at */

static char *function_name_copy(const char *name)
{
    char *copy = strdup(name);
    if (!copy)
        abort();
    return copy;
}

struct function *image_add_function(struct image *image, const char *name)
{
    struct function *function = calloc(1, sizeof(*function));
    if (!function)
        abort();
    function->image = image;
    function->name = function_name_copy(name);
    function->record_name = function_name_copy(name);
    function->registers = REGISTERS;
    list_add(&image->functions, function);
    return function;
}

void image_add_global(struct image *image, const char *name, size_t size)
{
    struct global *global = calloc(1, sizeof(*global));
    if (!global)
        abort();
    global->name = function_name_copy(name);
    global->size = size;
    list_add(&image->globals, global);
}

static void image_tell(const struct image *image, CUpti_CallbackIdResource cbid)
{
    CUpti_ModuleResourceData module = {.moduleId = image->id, .cubinSize = image->size, .pCubin = image->data};
    callbacks_resource(cbid, image->context ? image->context : context_current(), NULL, &module);
}

CUresult image_load(const void *data, CUcontext context, struct image **image)
{
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    struct image *made = calloc(1, sizeof(*made));
    if (!made)
        abort();
    made->id = atomic_fetch_add(&images_made, 1) + 1;
    made->context = context;
    made->data = data;
    if (!image_read(made, data)) {
        free(made);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    sim_lock();
    list_add(&images, made);
    sim_unlock();
    image_tell(made, CUPTI_CBID_RESOURCE_MODULE_LOADED);
    *image = made;
    return CUDA_SUCCESS;
}

/* Functions stay: records and handles in work that goes on point to them. */
void image_unload(struct image *image)
{
    image_tell(image, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
    for (size_t i = 0; i < image->globals.count; i++) {
        struct global *global = image->globals.items[i];
        if (global->address)
            memory_release(global->address, 1u << MEMORY_MODULE);
        free(global->name);
        free(global);
    }
    list_release(&image->globals);
}

struct function *image_function(struct image *image, const char *name)
{
    struct function *found = NULL;
    sim_lock();
    for (size_t i = 0; i < image->functions.count && !found; i++) {
        struct function *function = image->functions.items[i];
        if (strcmp(function->name, name) == 0)
            found = function;
    }
    if (!found && !image->closed)
        found = image_add_function(image, name);
    sim_unlock();
    return found;
}

static struct global *image_find_global(struct image *image, const char *name, size_t size)
{
    for (size_t i = 0; i < image->globals.count; i++) {
        struct global *global = image->globals.items[i];
        if (strcmp(global->name, name) == 0)
            return global;
    }
    if (!size)
        return NULL;
    image_add_global(image, name, size);
    return image->globals.items[image->globals.count - 1];
}

struct global *image_global(struct image *image, const char *name, size_t size)
{
    CUcontext context = image->context ? image->context : context_current();
    sim_lock();
    struct global *global = image_find_global(image, name, size);
    bool missing = global && !global->address;
    sim_unlock();
    if (!missing)
        return global;
    void *address = NULL;
    if (!context || memory_allocate(context, MEMORY_MODULE, global->size, 0, NULL, &address) != CUDA_SUCCESS)
        return NULL;
    memset(address, 0, global->size);
    sim_lock();
    void *spare = global->address ? address : NULL; /* another thread was as quick */
    if (!spare)
        global->address = address;
    sim_unlock();
    if (spare)
        memory_release(spare, 1u << MEMORY_MODULE);
    return global;
}
