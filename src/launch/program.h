/*
 * Finding a program as a shell does.
 */
#ifndef GPUTRACE_LAUNCH_PROGRAM_H
#define GPUTRACE_LAUNCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds NAME, by PATH when it has no slash, and writes where it is into PATH (ROOM bytes), always with a slash.
 * Returns 0; or after error() EXIT_NOT_FOUND or EXIT_NOT_RUN of launch.h.
 */
int program_find(const char *name, char *path, size_t room);

/* The last part of a path: what the program is called. Points into PATH. */
const char *program_name(const char *path);

/*
 * What sort of file a program is: whether a library can be loaded into it, whether it is for a GPU.
 */

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
