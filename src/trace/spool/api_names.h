/*
 * Names of API calls by CUPTI's callback ids, from CUPTI's own headers (cbid.mk): without the version and without the
 * per-thread-stream suffixes, so that every variant of a call has the name that programs write, "cudaLaunchKernel".
 */
#ifndef GPUTRACE_TRACE_SPOOL_API_NAMES_H
#define GPUTRACE_TRACE_SPOOL_API_NAMES_H

#include <stdint.h>

#include "trace/spool/event_record.h"

/* Sorts of GPU work, a bit each. */
enum launch_sorts {
    LAUNCH_KERNELS = 1,
    LAUNCH_COPIES = 2,
    LAUNCH_SETS = 4,
    LAUNCH_GRAPHS = 8,
    LAUNCH_CUDA_EVENTS = 16,
    LAUNCH_ANYTHING = 31,
};

/* NULL for an id that the headers do not have. */
const char *api_name(enum event_api_domain domain, uint32_t cbid);

/* The sorts of GPU work that a call starts, by its name: enum launch_sorts. */
unsigned api_sorts(enum event_api_domain domain, uint32_t cbid);

/* Ids that have a name are below this. */
#define API_CBID_LIMIT 4096

#endif
