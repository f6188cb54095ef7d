/*
 * The doors of libgputrace.so: everything that the program's process can call.
 */
#include "injected/collect/nvtx.h"
#include "injected/entry/capture.h"
#include "injected/entry/library.h"

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

/* Called by gputrace.h. Each gives 1 when it was heard, 0 when this process is not recorded. */
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
