/*
 * Stands for libiberty's header where the library is missing: C++ symbols keep their mangled names.
 */
#ifndef GPUTRACE_PACKAGING_WITHOUT_DEMANGLE_H
#define GPUTRACE_PACKAGING_WITHOUT_DEMANGLE_H

#include <stddef.h>

enum { DMGL_PARAMS = 1, DMGL_TYPES = 2, DMGL_NO_RECURSE_LIMIT = 4 };

static inline int cplus_demangle_v3_callback(const char *symbol, int options,
                                             void (*append)(const char *text, size_t length, void *data), void *data)
{
    (void)symbol, (void)options, (void)append, (void)data;
    return 0;
}

#endif
