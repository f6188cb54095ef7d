/* What all entry points of CUPTI ask first. */
#ifndef SIMGPU_CUPTI_NEED_H
#define SIMGPU_CUPTI_NEED_H

#include <cupti.h>

#define CUPTI_EXPORT __attribute__((visibility("default")))

#define NEED(condition, otherwise) \
    do {                           \
        if (!(condition))          \
            return otherwise;      \
    } while (0)
#define NEED_PARAMETER(condition) NEED(condition, CUPTI_ERROR_INVALID_PARAMETER)

#endif
