/*
 * The short form of a demangled C++ function name: without return type, template arguments and parameters.
 *
 *     void at::native::elementwise_kernel<128, 2, F>(int, F)  ->  at::native::elementwise_kernel
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_H
#define GPUTRACE_ANALYSIS_NAMES_H

#include <stddef.h>

/* Writes the short form of NAME, NUL-terminated, to SHORT, which has room for LENGTH + 1 bytes. A name that is no
 * function with a parameter list, or not understood, is copied whole. Gives the bytes written without the NUL. */
size_t name_shorten(const char *name, size_t length, char *short_name);

#endif
