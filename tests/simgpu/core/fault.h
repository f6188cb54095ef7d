/*
 * A kernel that reads where nothing is takes its context with it: nothing that is asked of the context is done any
 * more, and every call that needs it fails with the same error, until the context is destroyed.
 */
#ifndef SIMGPU_CORE_FAULT_H
#define SIMGPU_CORE_FAULT_H

#include <stdbool.h>

#include <cuda.h>

/* Does the driver's function NAME fail, because it needs this thread's context and that is lost? */
bool fault_stops(const char *name);
/* What it gives, whose own result is RESULT: it may have waited for what was lost meanwhile. */
CUresult fault_result(const char *name, CUresult result);

#endif
