#include "core/fault.h"

#include <string.h>

#include "core/context.h"

/* How the names of functions begin that do not need a context, or end it. */
static const char *const needless[] = {
    "cuInit",   "cuDriver",     "cuDevice",        "cuGet",      "cuCtxGetCurrent", "cuCtxCreate",    "cuCtxPush",
    "cuCtxPop", "cuCtxDestroy", "cuCtxSetCurrent", "cuProfiler", "cuCtxGetId",      "cuCtxGetDevice", "cuCtxGetFlags",
};

bool fault_stops(const char *name)
{
    CUcontext context = context_current();
    if (!context || !atomic_load(&context->lost))
        return false;
    for (size_t i = 0; i < sizeof(needless) / sizeof(needless[0]); i++)
        if (strncmp(name, needless[i], strlen(needless[i])) == 0)
            return false;
    return true;
}

/* A launch has returned before its kernel begins, however slow this simulator is. */
CUresult fault_result(const char *name, CUresult result)
{
    bool launch = strncmp(name, "cuLaunch", strlen("cuLaunch")) == 0;
    return result == CUDA_SUCCESS && !launch && fault_stops(name) ? CUDA_ERROR_ILLEGAL_ADDRESS : result;
}
