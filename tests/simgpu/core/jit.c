#include "core/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/config.h"
#include "core/list.h"
#include "core/records.h"

enum { LOAD_NS = 20000, STORE_NS = 60000, PATH_MOST = 4096 };
#define CACHE_BYTES (UINT64_C(1) << 30)

static struct {
    pthread_once_t once;
    bool disabled, folder;
    char path[PATH_MOST]; /* of the folder; where it would be, without one */
    pthread_mutex_t lock; /* of what follows */
    struct list keys;     /* of a cache in the process: uint64_t */
} cache = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint_least64_t units;

static void cache_find(void)
{
    const char *path = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME"), *disable = getenv("CUDA_CACHE_DISABLE");
    cache.disabled = disable && strcmp(disable, "1") == 0;
    cache.folder = path && *path;
    if (cache.folder)
        snprintf(cache.path, sizeof(cache.path), "%s", path);
    else
        snprintf(cache.path, sizeof(cache.path), "%s/.nv/ComputeCache", home ? home : "");
}

/* FNV-1a. */
static uint64_t cache_key(const void *data, size_t size)
{
    uint64_t key = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        key = (key ^ ((const uint8_t *)data)[i]) * UINT64_C(1099511628211);
    return key;
}

static void cache_file(uint64_t key, char path[PATH_MOST + 32])
{
    snprintf(path, PATH_MOST + 32, "%s/simgpu-%016llx", cache.path, (unsigned long long)key);
}

static bool cache_has(uint64_t key)
{
    char path[PATH_MOST + 32];
    if (cache.disabled)
        return false;
    if (cache.folder) {
        cache_file(key, path);
        return access(path, F_OK) == 0;
    }
    bool has = false;
    pthread_mutex_lock(&cache.lock);
    for (size_t i = 0; i < cache.keys.count && !has; i++)
        has = *(const uint64_t *)cache.keys.items[i] == key;
    pthread_mutex_unlock(&cache.lock);
    return has;
}

/* False when it could not be put there. */
static bool cache_put(uint64_t key)
{
    char path[PATH_MOST + 32];
    if (cache.folder) {
        mkdir(cache.path, 0777);
        cache_file(key, path);
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (file >= 0)
            close(file);
        return file >= 0;
    }
    uint64_t *entry = malloc(sizeof(*entry));
    if (!entry)
        abort();
    *entry = key;
    pthread_mutex_lock(&cache.lock);
    list_add(&cache.keys, entry);
    pthread_mutex_unlock(&cache.lock);
    return true;
}

static void step_begin(struct jit_step *step)
{
    step->start = clock_now();
}

static void step_end(struct jit_step *step, CUpti_ActivityJitOperationType operation, uint64_t takes)
{
    clock_wait(step->start + takes);
    step->end = clock_now();
    records_jit(operation, step);
}

void jit_compile(const void *ptx, size_t size)
{
    pthread_once(&cache.once, cache_find);
    uint64_t key = cache_key(ptx, size);
    struct jit_step step = {
        .unit = atomic_fetch_add(&units, 1) + 1, .cache_size = CACHE_BYTES, .cache_path = cache.path};
    step_begin(&step);
    if (cache_has(key)) {
        step_end(&step, CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD, LOAD_NS);
        return;
    }
    step_end(&step, CUPTI_ACTIVITY_JIT_OPERATION_COMPILE, config()->jit_ns);
    step_begin(&step);
    if (!cache.disabled && cache_put(key))
        step_end(&step, CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE, STORE_NS);
}
