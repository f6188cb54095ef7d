/* Tools are loaded when the driver is initialised, once, and see the call that did it. */
#include "tests/unit.h"

#include <dlfcn.h>
#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>

#include "recording.h"

static const char *tool_path(void)
{
    static char self[4096], path[5000];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(size > 0);
    snprintf(path, sizeof(path), "%s/injected.so", dirname(self));
    return path;
}

/* A counter of the tool, which is loaded by now. */
static int told(const char *counter)
{
    void *tool = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
    atomic_int *value = tool ? dlsym(tool, counter) : NULL;
    return value ? atomic_load(value) : -1;
}

static int first_call_is_of_the_runtime(void)
{
    void *memory;
    HOLDS(told("injected_times") == -1);
    HOLDS(cudaMalloc(&memory, 100) == cudaSuccess);
    HOLDS(told("injected_times") == 1 && told("injected_status") == 0);
    HOLDS(told("injected_calls") == 1);
    HOLDS(cudaFree(memory) == cudaSuccess);
    HOLDS(told("injected_calls") == 2 && told("injected_times") == 1);
    return 0;
}

UNIT_TEST(the_runtimes_first_call_loads_the_tool_and_is_told)
{
    EXITS(first_call_is_of_the_runtime, "CUDA_INJECTION64_PATH", tool_path());
}

static int first_call_is_of_the_driver(void)
{
    HOLDS(cuInit(0) == CUDA_SUCCESS && cuInit(0) == CUDA_SUCCESS);
    HOLDS(told("injected_times") == 1 && told("injected_status") == 0 && told("injected_calls") == 0);
    return 0;
}

UNIT_TEST(initialising_the_driver_loads_the_tool_once)
{
    EXITS(first_call_is_of_the_driver, "CUDA_INJECTION64_PATH", tool_path());
}

static void *call_first(void *unused)
{
    (void)unused;
    int count;
    return cudaGetDeviceCount(&count) == cudaSuccess && told("injected_times") == 1 ? &told : NULL;
}

static int many_threads_are_first(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, call_first, NULL);
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(threads[i], &result);
        HOLDS(result != NULL);
    }
    HOLDS(told("injected_times") == 1 && told("injected_calls") == 8);
    return 0;
}

UNIT_TEST(threads_that_come_together_load_it_once)
{
    EXITS(many_threads_are_first, "CUDA_INJECTION64_PATH", tool_path());
}

static int goes_on_without(void)
{
    void *memory;
    HOLDS(cudaMalloc(&memory, 100) == cudaSuccess && cudaFree(memory) == cudaSuccess);
    return 0;
}

UNIT_TEST(a_tool_that_cannot_be_loaded_is_no_harm)
{
    EXITS(goes_on_without, "CUDA_INJECTION64_PATH", "/nowhere/tool.so");
}

UNIT_MAIN(NULL, NULL)
