#include "agent/cupti/function_names.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "common/map.h"
#include "agent/cupti/driver_library.h"
#include "agent/dispatch/registry.h"
#include "agent/dispatch/text.h"

/* In the order of their names; both have been there since 12.3. */
static struct driver {
    CUresult (*cuFuncGetName)(const char **name, CUfunction function);
    CUresult (*cuKernelGetName)(const char **name, CUkernel kernel);
} driver;

static struct {
    pthread_mutex_t lock;
    struct map of_function; /* handle -> the hash of its name */
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

void function_names_init(void)
{
    static const char *const names[] = {"cuFuncGetName", "cuKernelGetName"};
    if (!driver.cuFuncGetName && !driver_library_find(&driver, names, sizeof(names) / sizeof(names[0])))
        driver = (struct driver){0};
}

static bool is_new(const void *function, const char *name, size_t length)
{
    uint64_t hash = hash_bytes(name, length);
    pthread_mutex_lock(&told.lock);
    bool first = false;
    uint64_t *known = map_put(&told.of_function, (uint64_t)(uintptr_t)function, &first);
    bool same = known && !first && *known == hash;
    if (known)
        *known = hash;
    pthread_mutex_unlock(&told.lock);
    return !same;
}

void function_name_tell(const void *function, const char *name)
{
    if (!function || !name || !registry_function_name_wanted())
        return;
    size_t length = strlen(name);
    if (is_new(function, name, length))
        registry_function_name_publish(&(struct gputrace_function_name){function, text_of_bytes(name, length)});
}

static bool wanted(void)
{
    return registry_function_name_wanted() || registry_launch_name_wanted();
}

const char *function_name_ask(CUfunction function)
{
    const char *name = NULL;
    bool asked = function && driver.cuFuncGetName && wanted();
    return asked && driver.cuFuncGetName(&name, function) == CUDA_SUCCESS ? name : NULL;
}

const char *kernel_name_ask(CUkernel kernel)
{
    const char *name = NULL;
    bool asked = kernel && driver.cuKernelGetName && wanted();
    return asked && driver.cuKernelGetName(&name, kernel) == CUDA_SUCCESS ? name : NULL;
}

void function_names_forget(void)
{
    pthread_mutex_lock(&told.lock);
    map_release(&told.of_function);
    pthread_mutex_unlock(&told.lock);
}

void function_names_leave(void)
{
    pthread_mutex_init(&told.lock, NULL);
    told.of_function = (struct map){0}; /* the parent's memory is a copy here: leave it, malloc may be locked */
}

void function_names_replace_driver(CUresult (*of_function)(const char **name, CUfunction function),
                                   CUresult (*of_kernel)(const char **name, CUkernel kernel))
{
    driver = (struct driver){of_function, of_kernel};
}
