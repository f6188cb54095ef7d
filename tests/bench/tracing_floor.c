/*
 * The least that a tracer with CUPTI does: it asks for records and throws them away. What gputrace adds to a program is
 * held against what this adds. The program loads it by CUDA_INJECTION64_PATH.
 *
 *     TRACING_FLOOR=kernel    records of kernels alone (the default)
 *     TRACING_FLOOR=calls     records of kernels, copies, sets and calls of the runtime
 *     TRACING_FLOOR=gputrace  all records that gputrace asks for by default, by the code by which it asks
 *
 * Buffers are ordinary memory, 1 MiB of malloc() each as gputrace's chunks are, freed when they come back. CUPTI is
 * loaded as gputrace does it, so that both have the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"
#include "agent/spool/recorder.h"
#include "common/settings.h"

/* The kinds need these for unified memory alone, which is not measured. */
uint64_t registry_add(unsigned client, unsigned kind, gputrace_any_fn *call, void *data)
{
    (void)client, (void)kind, (void)call, (void)data;
    return 0;
}

void recorder_warn(const char *format, ...)
{
    (void)format;
}

#define BUFFER_BYTES ((size_t)1 << 20)

static struct {
    const struct cupti *cupti; /* NULL: nothing is recorded */
    bool as_gputrace;
    unsigned kinds;          /* else so many of those below */
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
    if (tool.as_gputrace)
        activity_kinds_switch(TRACE_DEFAULT, true, on);
    for (unsigned i = 0; i < tool.kinds; i++)
        if ((on ? tool.cupti->cuptiActivityEnable : tool.cupti->cuptiActivityDisable)(kinds[i]) != CUPTI_SUCCESS)
            complain("CUPTI does not switch a kind of records");
}

uint64_t tracing_floor_held(void)
{
    return __atomic_load_n(&tool.held, __ATOMIC_RELAXED);
}

uint64_t tracing_floor_bytes(void)
{
    if (tool.cupti)
        tool.cupti->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    return __atomic_load_n(&tool.recorded, __ATOMIC_RELAXED);
}

static void choose(const char *which)
{
    tool.as_gputrace = strcmp(which, "gputrace") == 0;
    if (tool.as_gputrace)
        activity_kinds_init(tool.cupti, TRACE_DEFAULT);
    else
        tool.kinds = strcmp(which, "calls") == 0 ? sizeof(kinds) / sizeof(kinds[0]) : 1;
}

int InitializeInjection(void)
{
    const char *which = getenv("TRACING_FLOOR");
    char why[512];
    tool.cupti = cupti_load(NULL, why, sizeof(why));
    if (!tool.cupti) {
        complain(why);
    } else if (tool.cupti->cuptiActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS) {
        complain("CUPTI takes no buffers");
        tool.cupti = NULL;
    } else {
        choose(which ? which : "");
        tracing_floor_switch(1);
    }
    return 1;
}
