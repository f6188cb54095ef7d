#include "agent/cupti/cuda_versions.h"

#include <dlfcn.h>

#include "agent/cupti/driver_library.h"

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
