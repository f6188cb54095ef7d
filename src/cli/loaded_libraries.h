/*
 * Finds what is loaded into the program besides libgputrace.so: plugins, of `--plugin FILE[,key=value…]`, and libraries
 * that are preloaded.
 */
#ifndef GPUTRACE_CLI_LOADED_LIBRARIES_H
#define GPUTRACE_CLI_LOADED_LIBRARIES_H

#include <stddef.h>

/*
 * Adds a plugin to *LIST (settings.plugins: "PATH,key=value,…", one on each line; NULL: none yet), which is allocated
 * and replaced here, and never freed.
 *
 * A FILE with a slash is taken as it is. A name without one is searched, as NAME.so and as NAME, in gputrace/ and
 * samples/plugins/ beside libgputrace.so, where plugins are installed and built, and in this directory.
 * Returns 0, or -1 after error(), which lists the places that were searched.
 */
int plugin_list_add(const char **list, const char *value);

/* --- libraries that are preloaded --- */

/*
 * These are libgputrace-mpi.so for `--mpi`, and libgputrace-torch.so for PyTorch's
 * operators.
 */

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
