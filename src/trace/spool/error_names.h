/*
 * Names of CUDA's errors, from CUDA's own headers (cbid.mk). The runtime (cudaError_t) and the driver (CUresult) number
 * theirs separately.
 */
#ifndef GPUTRACE_TRACE_SPOOL_ERROR_NAMES_H
#define GPUTRACE_TRACE_SPOOL_ERROR_NAMES_H

#include <stdint.h>

/* "cudaErrorMemoryAllocation". NULL: the headers have no error of this number; 0, success, is not an error. */
const char *runtime_error_name(int64_t number);

/* "CUDA_ERROR_OUT_OF_MEMORY", likewise. */
const char *driver_error_name(int64_t number);

#endif
