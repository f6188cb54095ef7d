/*
 * Versions of the CUDA driver and of the CUDA runtime that the process has loaded.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUDA_VERSIONS_H
#define GPUTRACE_AGENT_CUPTI_CUDA_VERSIONS_H

#include <stdint.h>

/* Each as 1000 * major + 10 * minor; 0 when it cannot be known, as of a runtime that is linked statically. */
void cuda_versions_read(int32_t *driver, int32_t *runtime);

#endif
