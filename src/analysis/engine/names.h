/* Names of kernels in the form that --names selects. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_NAMES_H
#define GPUTRACE_ANALYSIS_ENGINE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct trace;
struct event_fields;

/*
 * Writes the short form of a demangled C++ function name, without return type, template arguments and parameters,
 * NUL-terminated, to SHORT_NAME, which has space for LENGTH + 1 bytes:
 *
 *     void at::native::elementwise_kernel<128, 2, F>(int, F)  ->  at::native::elementwise_kernel
 *
 * A name that is not a function with a parameter list, or that is not understood, is copied whole. Returns the bytes
 * written without the NUL.
 */
size_t name_shorten(const char *name, size_t length, char *short_name);

/* The pretty and the short form of a kernel's name, for --kernel: a kernel_name_form(). */
bool name_form(struct buffer *out, unsigned number, const char *name, size_t length);

/* Changes the name of a kernel to the one that --names=short or mangled shows. Pretty names are made at the end
 * (pretty_names.h). Returns 0, or -1: no memory. */
int name_change(struct trace *trace, struct event_fields *event);

/* Whether a range, operator or frame of this name is PyTorch's DataLoader, which fetches the next batch. */
bool name_is_data_loader(const char *name);
/* Whether a range of this name is a compilation of XLA, whose other ranges run a module. */
bool name_is_compiling(const char *name);

#endif
