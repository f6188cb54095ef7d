/*
 * The least that a tracer with CUPTI does: it asks for records and throws them away. What gputrace adds to a program is
 * held against what this adds. The program loads it by CUDA_INJECTION64_PATH.
 *
 *     TRACING_FLOOR=kernel    records of kernels alone (the default)
 *     TRACING_FLOOR=calls     records of kernels, copies, sets and calls of the runtime
 *
 * Buffers are ordinary memory, 1 MiB of malloc() each as gputrace's chunks are, freed when they come back. CUPTI is
 * searched for as gputrace does, so that both have the same.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/cupti_path.h"

#define BUFFER_BYTES ((size_t)1 << 20)

#define FUNCTIONS(X)                  \
    X(cuptiActivityRegisterCallbacks) \
    X(cuptiActivityEnable)            \
    X(cuptiActivityDisable)           \
    X(cuptiActivityFlushAll)

static struct {
#define FUNCTION(name) __typeof__(&(name)) name;
    FUNCTIONS(FUNCTION)
#undef FUNCTION
    unsigned kinds;
    uint64_t recorded, held; /* bytes: of records that came, of buffers that CUPTI has; atomically */
} tool;

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, /* the kernels alone */
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,
};

/* Called by the driver, by its name; the other two by the program that measures. */
__attribute__((visibility("default"))) int InitializeInjection(void);
/* Records from here on, or does not. */
__attribute__((visibility("default"))) void tracing_floor_switch(int on);
/* Bytes of buffers that CUPTI has now. */
__attribute__((visibility("default"))) uint64_t tracing_floor_held(void);
/* Bytes of records made till now: proof that there were any. All buffers are taken back for it. */
__attribute__((visibility("default"))) uint64_t tracing_floor_bytes(void);

static int load(void *unused, const char *path)
{
    (void)unused;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int missing = !library;
#define FUNCTION(name)                                         \
    {                                                          \
        void *symbol = library ? dlsym(library, #name) : NULL; \
        missing |= !symbol;                                    \
        memcpy(&tool.name, &symbol, sizeof(symbol));           \
    }
    FUNCTIONS(FUNCTION)
#undef FUNCTION
    return !missing;
}

static void requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *buffer = malloc(BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    __atomic_add_fetch(&tool.held, *size, __ATOMIC_RELAXED);
    *records_max = 0; /* as many as fit */
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream;
    __atomic_sub_fetch(&tool.held, size, __ATOMIC_RELAXED);
    __atomic_add_fetch(&tool.recorded, valid, __ATOMIC_RELAXED);
    free(buffer);
}

static void complain(const char *what)
{
    fprintf(stderr, "tracing_floor: %s: nothing is recorded\n", what);
}

void tracing_floor_switch(int on)
{
    for (unsigned i = 0; i < tool.kinds; i++)
        if ((on ? tool.cuptiActivityEnable : tool.cuptiActivityDisable)(kinds[i]) != CUPTI_SUCCESS)
            complain("CUPTI does not switch a kind of records");
}

uint64_t tracing_floor_held(void)
{
    return __atomic_load_n(&tool.held, __ATOMIC_RELAXED);
}

uint64_t tracing_floor_bytes(void)
{
    if (tool.kinds)
        tool.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    return __atomic_load_n(&tool.recorded, __ATOMIC_RELAXED);
}

int InitializeInjection(void)
{
    const char *which = getenv("TRACING_FLOOR");
    if (!cupti_path_each(NULL, load, NULL)) {
        complain("there is no CUPTI");
    } else if (tool.cuptiActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS) {
        complain("CUPTI takes no buffers");
    } else {
        tool.kinds = which && strcmp(which, "calls") == 0 ? sizeof(kinds) / sizeof(kinds[0]) : 1;
        tracing_floor_switch(1);
    }
    return 1;
}
