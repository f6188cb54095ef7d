#include "agent/allocator/cuda_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/log.h"

static struct {
    pthread_mutex_t lock; /* of what is found, and of telling that nothing was */
    struct cuda_calls found;
    const struct cuda_calls *calls; /* once they are known */
    bool told;
} libcuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct cuda_calls *known(void)
{
    return __atomic_load_n(&libcuda.calls, __ATOMIC_ACQUIRE);
}

/* The name of the first function that is missing; NULL: none is. */
static const char *resolve(void *library, struct cuda_calls *calls)
{
    const char *missing = NULL;
#define CALL(name, ...)                                           \
    calls->name = (__typeof__(calls->name))dlsym(library, #name); \
    if (!calls->name && !missing)                                 \
        missing = #name;
    CUDA_CALLS(CALL)
#undef CALL
    return missing;
}

static const struct cuda_calls *fail(const char *why)
{
    pthread_mutex_lock(&libcuda.lock);
    bool first = !libcuda.told;
    libcuda.told = true;
    pthread_mutex_unlock(&libcuda.lock);
    if (first)
        warning("the allocator has no memory to give: %s", why);
    return NULL;
}

const struct cuda_calls *cuda_calls(void)
{
    if (known())
        return known();
    /* Without the lock: the dynamic loader and the driver have their own, and may call us. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    struct cuda_calls calls;
    if (!library)
        return fail("there is no CUDA driver (libcuda.so.1)");
    if (resolve(library, &calls))
        return fail("CUDA's driver is older than 11.3");
    if (calls.cuInit(0) != CUDA_SUCCESS)
        return fail("CUDA's driver does not start (cuInit); 'gputrace doctor' says more");
    pthread_mutex_lock(&libcuda.lock);
    if (!libcuda.calls) {
        libcuda.found = calls;
        __atomic_store_n(&libcuda.calls, &libcuda.found, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&libcuda.lock);
    return known();
}

void cuda_calls_replace(const struct cuda_calls *calls)
{
    __atomic_store_n(&libcuda.calls, calls, __ATOMIC_RELEASE);
}
