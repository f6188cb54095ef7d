#include "agent/ranges/driver.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"

static struct {
    pthread_mutex_t lock; /* of finding */
    struct driver found;
    const struct driver *driver; /* once it is known */
} libcuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const names[] = {
#define FUNCTION(name, ...) #name,
    DRIVER_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static const struct driver *known(void)
{
    return __atomic_load_n(&libcuda.driver, __ATOMIC_ACQUIRE);
}

const struct driver *driver_functions(void)
{
    if (known())
        return known();
    /* Before the lock: the dynamic loader has one of its own. */
    struct driver driver;
    if (!driver_library_find(&driver, names, sizeof(names) / sizeof(names[0])))
        return NULL;
    pthread_mutex_lock(&libcuda.lock);
    if (!libcuda.driver) {
        libcuda.found = driver;
        __atomic_store_n(&libcuda.driver, &libcuda.found, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&libcuda.lock);
    return known();
}

void driver_replace(const struct driver *driver)
{
    __atomic_store_n(&libcuda.driver, driver, __ATOMIC_RELEASE);
}

/* --- current context --- */

void current_context_find(struct gputrace_call *call)
{
    const struct driver *driver = driver_functions();
    CUcontext context = NULL;
    struct tracing_suppressed suppressed;
    if (!driver || !tracing_suppress(&suppressed))
        return;
    if (driver->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context)
        cupti_ids_of_context(context, call);
    tracing_resume(&suppressed);
}
