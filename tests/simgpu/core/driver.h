/* Whether the driver is initialised, and what its initialisation does: it loads the tool that CUDA_INJECTION64_PATH
 * names. */
#ifndef SIMGPU_CORE_DRIVER_H
#define SIMGPU_CORE_DRIVER_H

#include <stdbool.h>

#include <cuda.h>

/* Once per process; later calls give the same result. Not usable in a fork's child whose parent had initialised it. */
CUresult driver_init(void);
/* Can it be called? Also by the tool, while it is being initialised. */
bool driver_ready(void);
/* Is it initialised, with the tool? */
bool driver_started(void);
/* Is this a child of fork whose parent had a driver? Its threads are not here. */
bool driver_forked(void);

/*
 * A kernel that reads where nothing is takes its context with it: nothing that is asked of the context is done any
 * more, and every call that needs it fails with the same error, until the context is destroyed.
 */
/* Does the driver's function NAME fail, because it needs this thread's context and that is lost? */
bool fault_stops(const char *name);
/* What it gives, whose own result is RESULT: it may have waited for what was lost meanwhile. */
CUresult fault_result(const char *name, CUresult result);

#endif
