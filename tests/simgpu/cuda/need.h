/* What entry points ask for before they begin. */
#ifndef SIMGPU_CUDA_NEED_H
#define SIMGPU_CUDA_NEED_H

#include "core/context.h"

#define NEED(condition, otherwise) \
    do {                           \
        if (!(condition))          \
            return otherwise;      \
    } while (0)
#define NEED_VALUE(condition) NEED(condition, CUDA_ERROR_INVALID_VALUE)
#define NEED_HANDLE(condition) NEED(condition, CUDA_ERROR_INVALID_HANDLE)

/* Declares NAME as the current context. */
#define NEED_CONTEXT(name)              \
    CUcontext name = context_current(); \
    NEED(name && !name->destroyed, CUDA_ERROR_INVALID_CONTEXT)
/* Declares NAME as device ORDINAL. */
#define NEED_DEVICE(name, ordinal)             \
    struct device *name = device_get(ordinal); \
    NEED(name, CUDA_ERROR_INVALID_DEVICE)

#endif
