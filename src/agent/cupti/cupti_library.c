/*
 * Finds and loads libcupti and libcuda and resolves their functions. Nothing is linked: a program without CUDA runs
 * without them, and the CUPTI of the process's own CUDA version is preferred. Asks CUPTI for the numbers of contexts,
 * devices and streams, and remembers the answers for each thread; a counter of destroyed streams shows when a
 * remembered stream may be outdated.
 */
#include "agent/cupti/cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/cupti.h"
#include "common/log.h"
#include "common/map.h"
#include "common/memory.h"

static struct cupti loaded;

static bool resolve(void *handle, struct cupti *cupti, const char **missing)
{
#define FUNCTION(name)                                           \
    cupti->name = (__typeof__(cupti->name))dlsym(handle, #name); \
    if (!cupti->name)                                            \
        *missing = #name;
    CUPTI_NEWER_FUNCTIONS(FUNCTION)
    *missing = NULL;
    CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
    return !*missing;
}

struct search {
    const char *preferred;
    char *why;
    size_t size;
};

/* Tries one file, without checking who can write to it. A non-zero result ends the search. */
static int load_file(void *context, const char *path)
{
    struct search *search = context;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle && search->preferred && strcmp(path, search->preferred) == 0)
        warning("the requested libcupti cannot be loaded (%s): searching for another one", dlerror());
    if (!handle)
        return 0;
    const char *missing;
    bool complete = resolve(handle, &loaded, &missing);
    if (complete)
        loaded.cuptiGetVersion(&loaded.version);
    if (!complete || loaded.version < CUPTI_OLDEST) {
        if (complete)
            snprintf(search->why, search->size, "'%s' is CUPTI %u: 18 (of CUDA 11.8) is the oldest that works", path,
                     loaded.version);
        else
            snprintf(search->why, search->size, "'%s' is too old: it has no %s (CUPTI 11.8 or newer is needed)", path,
                     missing);
        if (search->preferred && strcmp(path, search->preferred) == 0)
            warning("%s; looking for another", search->why);
        dlclose(handle);
        memset(&loaded, 0, sizeof(loaded));
        return 0;
    }
    struct link_map *map = NULL;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    snprintf(loaded.path, sizeof(loaded.path), "%s", map && *map->l_name ? map->l_name : path);
    return 1;
}

/* Tries one file, unless everybody can write to it. A name without a directory is left to the loader, which has its own
 * rules. */
static int try_file(void *context, const char *path)
{
    struct search *search = context;
    char where[PATH_MAX];
    if (!strchr(path, '/') || !world_writable(path, where))
        return load_file(context, path);
    snprintf(search->why, search->size, "'%s' is not loaded, because everybody can write to '%s'", path, where);
    warning("'%s' is not loaded, because everybody can write to '%s'", path, where);
    return 0;
}

const struct cupti *cupti_load(const char *preferred, char *why, size_t size)
{
    if (loaded.cuptiSubscribe)
        return &loaded;
    snprintf(why, size,
             "no libcupti.so was found; the CUDA toolkit has it, and so has NVIDIA's wheel nvidia-cuda-cupti (pip "
             "install); --cupti FILE names one");
    struct search search = {.preferred = preferred, .why = why, .size = size};
    char already[PATH_MAX];
    if (preferred && *preferred && try_file(&search, preferred))
        return &loaded;
    if (library_is_loaded("libcupti.so", already) && load_file(&search, already))
        return &loaded;
    return cupti_path_each(NULL, try_file, &search) ? &loaded : NULL;
}

const char *cupti_words(const struct cupti *cupti, CUptiResult result)
{
    const char *words = NULL;
    cupti->cuptiGetResultString(result, &words);
    return words ? words : "unknown CUPTI result";
}

/* --- libcuda --- */

static struct {
    pthread_mutex_t lock; /* held while resolving */
    struct driver found;
    const struct driver *known;
} libcuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool resolve_driver(void *library, struct driver *driver)
{
#define FUNCTION(name, ...) driver->name = (__typeof__(driver->name))dlsym(library, #name);
    DRIVER_FUNCTIONS(FUNCTION)
    DRIVER_NEWER_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name, ...) &&driver->name
    return true DRIVER_FUNCTIONS(FUNCTION);
#undef FUNCTION
}

const struct driver *driver_known(void)
{
    return __atomic_load_n(&libcuda.known, __ATOMIC_ACQUIRE);
}

const struct driver *driver_functions(void)
{
    struct driver driver;
    if (driver_known())
        return driver_known();
    /* Called without the lock, because the dynamic loader has a lock of its own. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library || !resolve_driver(library, &driver))
        return NULL;
    pthread_mutex_lock(&libcuda.lock);
    if (!libcuda.known) {
        libcuda.found = driver;
        driver_replace(&libcuda.found);
    }
    pthread_mutex_unlock(&libcuda.lock);
    return driver_known();
}

void driver_replace(const struct driver *driver)
{
    __atomic_store_n(&libcuda.known, driver, __ATOMIC_RELEASE);
}

/* --- versions of CUDA --- */

void cuda_versions_read(int32_t *driver, int32_t *runtime)
{
    int (*ask_runtime)(int *version) = (int (*)(int *))dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion");
    const struct driver *functions = driver_functions();
    *driver = *runtime = 0;
    if (functions)
        functions->cuDriverGetVersion(driver);
    if (ask_runtime)
        ask_runtime(runtime);
}

/* --- numbers of contexts, devices and streams --- */

static const struct cupti *cupti_in_use;
static uint32_t streams_round = 1; /* counts destroyed streams: answers from an earlier round are outdated */

void cupti_ids_init(const struct cupti *cupti)
{
    cupti_ids_forget_streams();
    __atomic_store_n(&cupti_in_use, cupti, __ATOMIC_RELEASE);
}

static void ask(CUcontext context, uint32_t *id, uint32_t *device)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    if (!context || !cupti || cupti->cuptiGetContextId(context, id) != CUPTI_SUCCESS)
        *id = 0;
    if (!context || !cupti || cupti->cuptiGetDeviceId(context, device) != CUPTI_SUCCESS)
        *device = GPUTRACE_NO_DEVICE;
}

void cupti_ids_of_context(struct CUctx_st *context, struct gputrace_call *call)
{
    call->context = context;
    ask(context, &call->context_id, &call->device);
}

void cupti_ids_ask(struct cupti_ids *mine, struct CUctx_st *context, uint32_t uid)
{
    mine->context = context;
    mine->uid = uid;
    ask(context, &mine->id, &mine->device);
}

uint32_t cupti_stream_id(uint64_t context, uint64_t stream)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    uint32_t id = GPUTRACE_NO_STREAM;
    if (!cupti)
        return GPUTRACE_NO_STREAM;
    bool per_thread = stream == (uintptr_t)CU_STREAM_PER_THREAD;
    CUstream handle = stream <= (uintptr_t)CU_STREAM_PER_THREAD ? NULL : (CUstream)(uintptr_t)stream;
    if (cupti->cuptiGetStreamIdEx((CUcontext)(uintptr_t)context, handle, per_thread, &id) != CUPTI_SUCCESS)
        return GPUTRACE_NO_STREAM;
    return id;
}

void cupti_ids_forget_streams(void)
{
    __atomic_add_fetch(&streams_round, 1, __ATOMIC_RELEASE);
}

/* Reads the round before asking CUPTI: if a stream is destroyed meanwhile, the answer is not used again. A client's
 * call within this call may have left another context in MINE. */
uint32_t cupti_ids_of_stream(struct cupti_ids *mine, const struct gputrace_call *call, const struct CUstream_st *stream)
{
    uint64_t handle = (uint64_t)(uintptr_t)stream, context = (uint64_t)(uintptr_t)call->context;
    if (mine->context != call->context || mine->uid == 0)
        return cupti_stream_id(context, handle);
    /* Handles are addresses of objects larger than 64 bytes, or small numbers. */
    unsigned place = (unsigned)(handle ^ handle >> 6 ^ handle >> 9) % CUPTI_IDS_STREAMS;
    __typeof__(mine->streams[0]) *known = &mine->streams[place];
    uint32_t round = __atomic_load_n(&streams_round, __ATOMIC_ACQUIRE);
    if (known->stream == handle && known->uid == mine->uid && known->round == round)
        return known->id;
    known->stream = handle;
    known->round = round;
    known->id = cupti_stream_id(context, handle);
    known->uid = known->id == GPUTRACE_NO_STREAM ? 0 : mine->uid;
    return known->id;
}

/* --- streams of the program --- */

static struct {
    pthread_mutex_t lock;
    struct map streams; /* set of handles */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

void own_streams_add(const struct CUstream_st *stream)
{
    pthread_mutex_lock(&own.lock);
    map_put(&own.streams, (uint64_t)(uintptr_t)stream, NULL); /* without memory only its own call reports its end */
    pthread_mutex_unlock(&own.lock);
}

bool own_streams_remove(const struct CUstream_st *stream)
{
    pthread_mutex_lock(&own.lock);
    bool was = map_remove(&own.streams, (uint64_t)(uintptr_t)stream);
    pthread_mutex_unlock(&own.lock);
    return was;
}

void cupti_ids_atfork_child(void)
{
    cupti_ids_init(NULL);
    pthread_mutex_init(&own.lock, NULL);
    own.streams = (struct map){0}; /* another thread may have been changing the map: it is not freed */
}
