#include "agent/cupti/driver_library.h"

#include <dlfcn.h>
#include <string.h>

bool driver_library_find(void *functions, const char *const names[], size_t count)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    bool whole = library != NULL;
    for (size_t i = 0; whole && i < count; i++) {
        void *found = dlsym(library, names[i]);
        memcpy((char *)functions + i * sizeof(found), &found, sizeof(found));
        whole = found != NULL;
    }
    return whole;
}

/* --- cuda versions --- */

struct version_call {
    int (*ask)(int *version);
};

static int32_t ask(const struct version_call *call)
{
    int version = 0;
    call->ask(&version);
    return version;
}

void cuda_versions_read(int32_t *driver, int32_t *runtime)
{
    static const char *const name = "cuDriverGetVersion";
    struct version_call of_driver;
    struct version_call of_runtime = {(int (*)(int *))dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion")};
    *driver = driver_library_find(&of_driver, &name, 1) ? ask(&of_driver) : 0;
    *runtime = of_runtime.ask ? ask(&of_runtime) : 0;
}
