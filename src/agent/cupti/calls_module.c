/*
 * Modules and libraries: loaded, which is a phase of compilation, and unloaded.
 */
#include "agent/cupti/cupti_activity.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/first_launches.h"
#include "agent/cupti/image.h"
#include "agent/cupti/lazy_loading.h"
#include "agent/cupti/record_names.h"
#include "agent/dispatch/phases.h"

struct loaded {
    uint64_t module;
    bool library;
    const void *image; /* in memory, or … */
    const char *file;  /* … the name of a file */
};

static void tell_load(const struct driver_return *returned, struct loaded loaded)
{
    registry_module_load_publish(&(struct gputrace_module_load){
        .call = returned->call,
        .module = loaded.module,
        .library = loaded.library,
        .image = loaded.file ? GPUTRACE_IMAGE_FILE : image_sort(loaded.image),
        .file = loaded.file,
    });
}

/* What follows the function's name initialises a struct loaded from `p`, the parameters. */
#define TELL(function, ...)                                           \
    static void tell_##function(const struct driver_return *returned) \
    {                                                                 \
        const function##_params *p = returned->params;                \
        if (registry_module_load_wanted())                            \
            tell_load(returned, (struct loaded){__VA_ARGS__});        \
    }
#define OUTPUT(pointer) (driver_call_done(returned) ? driver_call_integer(*(pointer)) : 0)

TELL(cuModuleLoad, OUTPUT(p->module), .file = p->fname)
TELL(cuModuleLoadData, OUTPUT(p->module), .image = p->image)
TELL(cuModuleLoadDataEx, OUTPUT(p->module), .image = p->image)
TELL(cuModuleLoadFatBinary, OUTPUT(p->module), .image = p->fatCubin)
TELL(cuLibraryLoadData, OUTPUT(p->library), .library = true, .image = p->code)
TELL(cuLibraryLoadFromFile, OUTPUT(p->library), .library = true, .file = p->fileName)

static uint32_t trigger_of(const void *image)
{
    return image_sort(image) == GPUTRACE_IMAGE_PTX ? GPUTRACE_TRIGGER_PTX : GPUTRACE_TRIGGER_MODULE_LOAD;
}

/* What phase loading from memory is. */
#define LOADS(function, image)                                                                    \
    static uint32_t loads_##function(const void *params, CUcontext context, uint32_t correlation) \
    {                                                                                             \
        (void)context, (void)correlation;                                                         \
        return trigger_of(((const function##_params *)params)->image);                            \
    }
LOADS(cuModuleLoadData, image)
LOADS(cuModuleLoadDataEx, image)
LOADS(cuModuleLoadFatBinary, fatCubin)
LOADS(cuLibraryLoadData, code)

static uint32_t loads_file(const void *params, CUcontext context, uint32_t correlation)
{
    (void)params, (void)context, (void)correlation;
    return GPUTRACE_TRIGGER_MODULE_LOAD;
}

static void unload_begins(const void *params)
{
    (void)params;
    cupti_activity_unloading();
}

static void tell_unload(const struct driver_return *returned, const void *handle, bool library)
{
    uint64_t module = driver_call_integer(handle);
    record_names_unloaded();
    lazy_loading_unloaded();
    if (driver_call_done(returned))
        first_launches_unloaded(handle);
    registry_module_unload_publish(
        &(struct gputrace_module_unload){.call = returned->call, .module = module, .library = library});
}

static void tell_module_unload(const struct driver_return *returned)
{
    tell_unload(returned, ((const cuModuleUnload_params *)returned->params)->hmod, false);
}

static void tell_library_unload(const struct driver_return *returned)
{
    tell_unload(returned, ((const cuLibraryUnload_params *)returned->params)->library, true);
}

/* CUPTI records just-in-time compilation only within calls that have a callback. */
#define LOAD (REGISTRY_BIT(module_load) | PHASE_KINDS | REGISTRY_BIT(jit))
#define UNLOAD (REGISTRY_BIT(module_unload) | REGISTRY_BIT(launch_name))

#define UNLOADS(function, teller)                                                                         \
    {                                                                                                     \
        .cbid = CUPTI_DRIVER_TRACE_CBID_##function, .name = #function, .kinds = UNLOAD, .tell = (teller), \
        .begins = unload_begins                                                                           \
    }

static const struct driver_call rows[] = {
    DRIVER_CALL(cuModuleLoad, LOAD, tell_cuModuleLoad, loads_file),
    DRIVER_CALL(cuModuleLoadData, LOAD, tell_cuModuleLoadData, loads_cuModuleLoadData),
    DRIVER_CALL(cuModuleLoadDataEx, LOAD, tell_cuModuleLoadDataEx, loads_cuModuleLoadDataEx),
    DRIVER_CALL(cuModuleLoadFatBinary, LOAD, tell_cuModuleLoadFatBinary, loads_cuModuleLoadFatBinary),
    DRIVER_CALL(cuLibraryLoadData, LOAD, tell_cuLibraryLoadData, loads_cuLibraryLoadData),
    DRIVER_CALL(cuLibraryLoadFromFile, LOAD, tell_cuLibraryLoadFromFile, loads_file),
    UNLOADS(cuModuleUnload, tell_module_unload),
    UNLOADS(cuLibraryUnload, tell_library_unload),
};

const struct driver_calls module_calls = DRIVER_CALLS(rows);
