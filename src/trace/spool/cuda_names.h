/*
 * Names from CUDA's and CUPTI's own headers (cbid.mk). API calls by CUPTI's callback ids: without the version and
 * without the per-thread-stream suffixes, so that every variant of a call has the name that programs write,
 * "cudaLaunchKernel". Errors: the runtime (cudaError_t) and the driver (CUresult) number theirs separately. Copies and
 * memory: the words that traces use, "HtoD", "Pinned"; "Unknown" for unknown numbers.
 */
#ifndef GPUTRACE_TRACE_SPOOL_CUDA_NAMES_H
#define GPUTRACE_TRACE_SPOOL_CUDA_NAMES_H

#include <stdint.h>

/* Sorts of GPU work, a bit each. */
enum launch_sorts {
    LAUNCH_KERNELS = 1,
    LAUNCH_COPIES = 2,
    LAUNCH_SETS = 4,
    LAUNCH_GRAPHS = 8,
    LAUNCH_CUDA_EVENTS = 16,
    LAUNCH_ANYTHING = 31,
};

/* DOMAIN is of enum event_api_domain. NULL for an id that the headers do not have. */
const char *api_name(unsigned domain, uint32_t cbid);

/* The sorts of GPU work that a call starts, by its name: enum launch_sorts. */
unsigned api_sorts(unsigned domain, uint32_t cbid);

/* Ids that have a name are below this. */
#define API_CBID_LIMIT 4096

/* "cudaErrorMemoryAllocation". NULL: the headers have no error of this number; 0, success, is not an error. */
const char *runtime_error_name(int64_t number);

/* "CUDA_ERROR_OUT_OF_MEMORY", likewise. */
const char *driver_error_name(int64_t number);

const char *copy_kind_name(unsigned kind);
const char *memory_kind_name(unsigned kind);

#endif
