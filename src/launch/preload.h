/*
 * Libraries that are preloaded into the program: libgputrace-mpi.so for `--mpi`, and libgputrace-torch.so for PyTorch's
 * operators.
 */
#ifndef GPUTRACE_LAUNCH_PRELOAD_H
#define GPUTRACE_LAUNCH_PRELOAD_H

#include <stddef.h>

#define MPI_LIBRARY_FILE "libgputrace-mpi.so.0" /* its SONAME */

/* Writes the path of that library, which lies beside LIBRARY, the agent, in the form for LD_PRELOAD. Returns 0, or -1
 * after error(): it is not there, or its path cannot be in LD_PRELOAD. */
int preload_find_mpi(const char *library, char *path, size_t space);

#define TORCH_LIBRARY_FILE "libgputrace-torch.so.0"

/* Writes the path of that library; PATH becomes "" after warning() if it is not there. */
void preload_find_torch(const char *library, char *path, size_t space);

/* Adds PATH to this process's LD_PRELOAD, before what is there: a library that wraps MPI calls PMPI_* and would hide
 * the calls from one behind it. Libraries of sanitizers, which must come first, stay there. Returns 0, or -1 with errno
 * set. */
int preload_add(const char *path);

#endif
