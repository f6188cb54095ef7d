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

#define NEED_NOTHING (void)0

/* A call that puts VALUE where its parameter OUT points to. NEED: what else it asks for. */
#define DRIVER_ANSWER_BODY(need, out, value) \
    {                                        \
        NEED_VALUE(p->out);                  \
        need;                                \
        *p->out = value;                     \
        return CUDA_SUCCESS;                 \
    }
#define DRIVER_ANSWER(name, need, out, value) DRIVER_API(name) DRIVER_ANSWER_BODY(need, out, value)
#define DRIVER_STREAM_ANSWER(name, need, out, value) DRIVER_STREAM_API(name) DRIVER_ANSWER_BODY(need, out, value)

#endif
