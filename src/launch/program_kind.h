/*
 * What sort of file a program is: whether a library can be loaded into it, whether it is for a GPU.
 */
#ifndef GPUTRACE_LAUNCH_PROGRAM_KIND_H
#define GPUTRACE_LAUNCH_PROGRAM_KIND_H

#include <stdbool.h>

/* Whether the file runs with rights that this process has not: it has no regard for who asks to look into it. */
bool program_gains_rights(const char *path);

/* Whether the file is an executable without a dynamic loader. */
bool program_is_static(const char *path);

/* Whether the file is such an executable and has NVTX's header in it: loading a library into it can crash it. */
bool program_is_static_with_nvtx(const char *path);

/* Whether the file is for musl, a C library into which ours, which is for glibc, cannot be loaded. */
bool program_is_for_musl(const char *path);

/* Whether nvcc put code for GPUs into the file. */
bool program_has_kernels(const char *path);

#endif
