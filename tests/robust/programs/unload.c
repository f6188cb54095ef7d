/* Loads a library that uses NVTX and CUDA, calls it and unloads it, again and again. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

/* So that the driver itself stays. */
CUresult (*const keeps_driver)(unsigned) = cuInit;

int main(int argc, char **argv)
{
    unsigned all = 0;
    for (int i = 0; argc > 1 && i < 20; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 7;
        }
        unsigned (*work)(unsigned) = (unsigned (*)(unsigned))dlsym(library, "unloaded_work");
        all += work ? work((unsigned)i) : 0;
        dlclose(library);
    }
    printf("%08x\n", all);
    return 0;
}
