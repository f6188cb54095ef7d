/* Knows no MPI. Loads the library of its first argument, as Python does its modules; without one it looks for MPI by a
 * symbol, and calls what it finds. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc > 1) {
        void *module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        int (*run)(void);
        *(void **)&run = module ? dlsym(module, "module_run") : NULL;
        return run ? run() : 2;
    }
    int (*init)(void *, void *);
    *(void **)&init = dlsym(RTLD_DEFAULT, "MPI_Init");
    puts(!init ? "no MPI" : init(NULL, NULL) == 0 ? "MPI" : "MPI cannot start");
    return 0;
}
