#include "core/function.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/callbacks.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/cubin.h"
#include "core/image_read.h"
#include "core/jit.h"
#include "core/list.h"
#include "core/memory.h"
#include "core/records.h"
#include "core/sim.h"

enum {
    REGISTERS = 32, /* of a kernel whose image does not say */
    LOAD_NS = 15000 /* loading a function */
};

/*
 * ---- names as activity records point to them ----
 * CUPTI has one copy of each name. When all code that has the name is unloaded the copy goes, and the next name may be
 * at its address.
 */

struct name_copy {
    unsigned users;
    size_t capacity;
    char text[];
};

static struct {
    pthread_mutex_t lock;
    struct list copies; /* all that ever were, in use or not */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct name_copy *name_find(const char *name)
{
    for (size_t i = 0; i < names.copies.count; i++) {
        struct name_copy *copy = names.copies.items[i];
        if (copy->users > 0 && strcmp(copy->text, name) == 0)
            return copy;
    }
    return NULL;
}

/* The first that nobody uses and that is large enough; or a new one. */
static struct name_copy *name_find_free(size_t bytes)
{
    for (size_t i = 0; i < names.copies.count; i++) {
        struct name_copy *copy = names.copies.items[i];
        if (copy->users == 0 && copy->capacity >= bytes)
            return copy;
    }
    size_t capacity = bytes < 64 ? 64 : bytes;
    struct name_copy *copy = calloc(1, sizeof(*copy) + capacity);
    if (!copy)
        abort();
    copy->capacity = capacity;
    list_add(&names.copies, copy);
    return copy;
}

/* The copy of NAME, with one more user. */
static const char *name_acquire(const char *name)
{
    pthread_mutex_lock(&names.lock);
    struct name_copy *copy = name_find(name);
    if (!copy) {
        size_t bytes = strlen(name) + 1;
        copy = name_find_free(bytes);
        memcpy(copy->text, name, bytes);
    }
    copy->users++;
    pthread_mutex_unlock(&names.lock);
    return copy->text;
}

/* One user less. The text stays until another name needs the space. */
static void name_release(const char *text)
{
    pthread_mutex_lock(&names.lock);
    for (size_t i = 0; i < names.copies.count; i++) {
        struct name_copy *copy = names.copies.items[i];
        if (copy->text == text && copy->users > 0)
            copy->users--;
    }
    pthread_mutex_unlock(&names.lock);
}

/* ---- images and functions ---- */

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
    function->record_name = name_acquire(name);
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

static void image_notify(const struct image *image, CUcontext context, CUpti_CallbackIdResource cbid)
{
    CUpti_ModuleResourceData module = {
        .moduleId = image->id, .cubinSize = image->cubin_size, .pCubin = (const char *)image->cubin};
    callbacks_resource(cbid, context, NULL, &module);
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
    if (!image_read(made, data)) {
        image_forget(made);
        free(made);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (made->ptx)
        jit_compile(made->ptx, made->ptx_size);
    made->ptx = NULL; /* the program may do with it as it likes */
    sim_lock();
    list_add(&images, made);
    sim_unlock();
    if (context)
        image_use(made, context);
    *image = made;
    return CUDA_SUCCESS;
}

void image_forget(struct image *image)
{
    for (size_t i = 0; i < image->functions.count; i++) {
        struct function *function = image->functions.items[i];
        free(function->name);
        free(function);
    }
    for (size_t i = 0; i < image->globals.count; i++) {
        struct global *global = image->globals.items[i];
        free(global->name);
        free(global);
    }
    list_release(&image->functions);
    list_release(&image->globals);
}

void image_use(struct image *image, CUcontext context)
{
    sim_lock();
    bool first = !list_has(&image->loaded, context);
    if (first)
        list_add(&image->loaded, context);
    if (!image->cubin)
        image->cubin = cubin_make(image, &image->cubin_size);
    sim_unlock();
    if (first)
        image_notify(image, context, CUPTI_CBID_RESOURCE_MODULE_LOADED);
}

bool function_loaded(const struct function *function, CUcontext context)
{
    sim_lock();
    bool loaded = list_has(&function->loaded, context);
    sim_unlock();
    return loaded;
}

void function_load(struct function *function, CUcontext context)
{
    if (function_loaded(function, context))
        return;
    uint64_t start = clock_now();
    image_use(function->image, context);
    clock_wait(start + LOAD_NS);
    sim_lock();
    bool first = !list_has(&function->loaded, context); /* another thread may have been as quick */
    if (first)
        list_add(&function->loaded, context);
    sim_unlock();
    if (first)
        records_overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, start);
}

void function_notify_launch(const struct function *function, CUcontext context)
{
    if (callbacks_wanted(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_PROFILED))
        image_notify(function->image, context, CUPTI_CBID_RESOURCE_MODULE_PROFILED);
}

static void give_record_names(struct image *image)
{
    for (size_t i = 0; i < image->functions.count && !image->unloaded; i++)
        name_release(((struct function *)image->functions.items[i])->record_name);
    image->unloaded = true;
}

/* Functions stay: handles in work that goes on point to them. */
void image_unload(struct image *image)
{
    struct list contexts = {0};
    sim_lock();
    list_copy(&contexts, &image->loaded);
    image->loaded.count = 0;
    sim_unlock();
    for (size_t i = 0; i < contexts.count; i++)
        image_notify(image, contexts.items[i], CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
    list_release(&contexts);
    give_record_names(image);
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
