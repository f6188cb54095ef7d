/*
 * The libcuda that the process has loaded, and functions of it that the library calls itself. It links with no CUDA: a
 * program without it is traced too.
 */
#ifndef GPUTRACE_AGENT_CUPTI_DRIVER_LIBRARY_H
#define GPUTRACE_AGENT_CUPTI_DRIVER_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fills FUNCTIONS, a struct of COUNT pointers to functions and nothing else, with those of NAMES in the same order.
 * Names are as libcuda exports them: cuda.h lets some stand for newer versions. False: no libcuda is loaded, or one
 * that does not have them all. Takes the dynamic loader's lock.
 */
bool driver_library_find(void *functions, const char *const names[], size_t count);

/* --- cuda versions --- */

/*
 * Versions of the CUDA driver and of the CUDA runtime that the process has loaded.
 */

/* Each as 1000 * major + 10 * minor; 0 when it cannot be known, as of a runtime that is linked statically. */
void cuda_versions_read(int32_t *driver, int32_t *runtime);

#endif
