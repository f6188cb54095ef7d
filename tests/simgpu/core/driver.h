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

#endif
