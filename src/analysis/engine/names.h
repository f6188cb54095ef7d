/* Names of kernels in the form that --names selects. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_NAMES_H
#define GPUTRACE_ANALYSIS_ENGINE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct trace;
struct event_fields;

/*
 * Writes the short form of a demangled C++ function name, without return type, template arguments and parameters, to
 * SHORT_NAME, which has space for LENGTH + 1 bytes:
 *
 *     void at::native::elementwise_kernel<128, 2, F>(int, F)  ->  at::native::elementwise_kernel
 *
 * A name without a parameter list, or that cannot be parsed, is copied whole. The result ends with a NUL; returns its
 * length without the NUL.
 */
size_t name_shorten(const char *name, size_t length, char *short_name);

/* Writes the pretty (NUMBER 0) or the short (1) form of a kernel's name to OUT, for --kernel: a kernel_name_form().
 * Returns false for other numbers. */
bool name_form(struct buffer *out, unsigned number, const char *name, size_t length);

/* Sets the name of the kernel EVENT to the form that --names=short or --names=mangled shows. Pretty names are made at
 * the end (pretty_names.h). Returns 0, or -1: no memory. */
int name_change(struct trace *trace, struct event_fields *event);

/* Whether a range, operator or frame of this name is PyTorch's DataLoader fetching the next batch. */
bool name_is_data_loader(const char *name);
/* Whether a range of this name is a compilation by XLA; XLA's "XlaModule:" ranges run a module instead. */
bool name_is_compiling(const char *name);

#endif
