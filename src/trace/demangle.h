/*
 * Readable names of C++ symbols.
 *
 * A symbol may be long, and a short one may stand for a name without end: each level of `P<T, T>` doubles it. So only
 * as much of a name is made as is asked for.
 */
#ifndef GPUTRACE_TRACE_DEMANGLE_H
#define GPUTRACE_TRACE_DEMANGLE_H

#include <stddef.h>

/* Writes the first SPACE bytes of SYMBOL's readable name into OUT. Returns the length of the name, which is more than
 * SPACE where it was cut; 0: SYMBOL is not a mangled C++ name, or there is no memory for a long one. */
size_t demangle(const char *symbol, size_t length, char *out, size_t space);

#endif
