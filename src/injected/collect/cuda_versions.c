#include "injected/collect/cuda_versions.h"

#include <dlfcn.h>
#include <stddef.h>

static int32_t ask(void *library, const char *function)
{
    int version = 0;
    void *found = dlsym(library, function);
    if (found)
        ((int (*)(int *))found)(&version);
    return version;
}

void cuda_versions_read(int32_t *driver, int32_t *runtime)
{
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *driver = libcuda ? ask(libcuda, "cuDriverGetVersion") : 0;
    *runtime = ask(RTLD_DEFAULT, "cudaRuntimeGetVersion");
}
