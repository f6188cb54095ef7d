/*
 * NVTX's own headers: its types and numbers.
 */
#ifndef GPUTRACE_AGENT_NVTX_NVTX_HEADERS_H
#define GPUTRACE_AGENT_NVTX_NVTX_HEADERS_H

#include <nvtx3/nvToolsExt.h>

/* NVTX's extensions without the functions that their headers give to programs: types and numbers only. */
#pragma push_macro("NVTX_DECLSPEC")
#pragma push_macro("NVTX_NO_IMPL")
#undef NVTX_DECLSPEC
#undef NVTX_NO_IMPL
#define NVTX_DECLSPEC
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtMemCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#pragma pop_macro("NVTX_NO_IMPL")
#pragma pop_macro("NVTX_DECLSPEC")

#endif
