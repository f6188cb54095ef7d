/*
 * The least that a tracer of NCCL does: NVTX functions and a profiler plugin that do nothing. What gputrace adds to a
 * collective operation is held against what these add (tests/bench/small_collectives). A program loads it as
 * NVTX_INJECTION64_PATH or NCCL_PROFILER_PLUGIN says. The plugin asks NCCL for the events that gputrace asks for.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>

#include "agent/nccl/profiler.h"

#define EXPORTED __attribute__((visibility("default")))

/* --- NVTX: the functions that NCCL calls --- */

static nvtxDomainHandle_t make_domain(const char *name)
{
    (void)name;
    return (nvtxDomainHandle_t)1;
}

static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain, (void)text;
    return (nvtxStringHandle_t)1;
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    (void)domain, (void)event;
    return 0;
}

static int pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    return 0;
}

EXPORTED int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table)
{
    unsigned size = 0;
    NvtxFunctionTable table = NULL;
    const NvtxExportTableCallbacks *callbacks = export_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
        size <= NVTX_CBID_CORE2_DomainCreateA)
        return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)make_domain;
    *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}

/* --- the plugin --- */

static char an_event;

static int init_v4(void **context, int *mask, const char *name, uint64_t communicator, int nodes, int ranks, int rank,
                   void *log)
{
    (void)name, (void)communicator, (void)nodes, (void)ranks, (void)rank, (void)log;
    *context = &an_event;
    *mask = NCCL_EVENTS_WANTED;
    return NCCL_SUCCESS;
}

static int init_v5(void **context, uint64_t communicator, int *mask, const char *name, int nodes, int ranks, int rank,
                   void *log)
{
    return init_v4(context, mask, name, communicator, nodes, ranks, rank, log);
}

static int start(void *context, void **event, void *begun)
{
    (void)begun;
    *event = context;
    return NCCL_SUCCESS;
}

static int stop(void *event)
{
    (void)event;
    return NCCL_SUCCESS;
}

static int note_state(void *event, int state, void *arguments)
{
    (void)event, (void)state, (void)arguments;
    return NCCL_SUCCESS;
}

static int finalize(void *context)
{
    (void)context;
    return NCCL_SUCCESS;
}

const struct nccl_profiler_v4 ncclProfiler_v4 = {"floor", init_v4, start, stop, note_state, finalize};
const struct nccl_profiler_v5 ncclProfiler_v5 = {"floor", init_v5, start, stop, note_state, finalize};
const struct nccl_profiler_v5 ncclProfiler_v6 = {"floor", init_v5, start, stop, note_state, finalize};
