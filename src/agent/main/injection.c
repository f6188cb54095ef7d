/*
 * The exported functions of libgputrace.so: what CUDA's driver, NVTX and programs call by name. Each starts the
 * library if that has not happened, and passes the call on.
 */
#include <stddef.h>

#include "agent/dispatch/registry.h"
#include "agent/main/capture.h"
#include "agent/main/library.h"
#include "agent/main/plugins.h"
#include "agent/nvtx/nvtx.h"
#include "agent/ranges/device_ranges.h"
#include "agent/spool/writer.h"
#include "common/clock.h"

#define EXPORTED __attribute__((visibility("default")))

/* Called by the CUDA driver while it initialises (CUDA_INJECTION64_PATH). */
EXPORTED int InitializeInjection(void);
int InitializeInjection(void)
{
    library_start_cuda();
    return 1;
}

/* Called by NVTX's header, once for each module of the program that uses it (NVTX_INJECTION64_PATH). */
EXPORTED int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table)
{
    return library_start() ? nvtx_attach(export_table) : 0;
}

/* Called by the headers of NVTX's extensions, once for each module of the program. */
EXPORTED int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);
int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    return library_start() ? nvtx_extension_attach(module) : 0;
}

/* Called by gputrace.h. Each returns 1, or 0 if this process is not recorded. */
EXPORTED int gputrace_start(void);
int gputrace_start(void)
{
    if (!library_start())
        return 0;
    capture_ask(true);
    return 1;
}

EXPORTED int gputrace_stop(void);
int gputrace_stop(void)
{
    if (!library_start())
        return 0;
    capture_ask(false);
    return 1;
}

/* Whether this process is being recorded right now. */
EXPORTED int gputrace_active(void);
int gputrace_active(void)
{
    return library_start() && capture_is_on();
}

/* The program's next work in STREAM uses BYTES at AT, as MODE (enum gputrace_access_mode) says. It is published to the
 * subscribers of memory_access. Returns 1 if there are any, else 0. */
EXPORTED int gputrace_access(const void *at, size_t bytes, int mode, void *stream);
int gputrace_access(const void *at, size_t bytes, int mode, void *stream)
{
    if (!library_start() || !registry_memory_access_wanted())
        return 0;
    uint64_t now = clock_now();
    struct gputrace_memory_access access = {
        .call = {.start = now, .end = now, .device = GPUTRACE_NO_DEVICE, .thread = writer_thread()},
        .address = (uint64_t)(uintptr_t)at,
        .bytes = bytes,
        .stream = stream,
        .mode = (uint32_t)mode,
    };
    current_context_find(&access.call); /* a default stream is that of the current context */
    registry_memory_access_publish(&access);
    return 1;
}

/* A range in STREAM, from where the work before the start is done to where that before the end is. Returns its number,
 * 0 when it is not recorded. */
EXPORTED uint64_t gputrace_device_range_start(const char *message, void *stream);
uint64_t gputrace_device_range_start(const char *message, void *stream)
{
    return library_start() ? device_range_start(message, stream) : 0;
}

EXPORTED void gputrace_device_range_end(uint64_t range, void *stream);
void gputrace_device_range_end(uint64_t range, void *stream)
{
    if (range != 0 && library_start())
        device_range_end(range, stream);
}

/* Called by callbacks.h: the program's host, or NULL when VERSION is not ours or this process is not recorded. */
EXPORTED const struct gputrace_host *gputrace_program_host(uint32_t version);
const struct gputrace_host *gputrace_program_host(uint32_t version)
{
    return library_start() ? plugins_program_host(version) : NULL;
}
