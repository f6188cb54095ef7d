/* Finds the program to run, and the libraries that are loaded into it: our own, plugins, and preloaded libraries. */
#ifndef GPUTRACE_LAUNCH_PROGRAM_H
#define GPUTRACE_LAUNCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Finds NAME as a shell does and writes its path, which always has a slash, into PATH (SPACE bytes). Returns 0, or
 * EXIT_NOT_FOUND or EXIT_NOT_RUN of launch.h after error(). */
int program_find(const char *name, char *path, size_t space);

/* Returns whether a shell would find the program NAME, which may have a slash. */
bool program_is_there(const char *name);

/* Warns if PATH has the ending of a script (such as .py) but no #! line, so that sh would run it. */
void program_warn_if_unmarked(const char *path);

/* Returns the last component of PATH, the program's name. The result points into PATH. */
const char *program_name(const char *path);

/* Returns whether the program would run with more rights than this process, as with set-user-ID. */
bool program_gains_rights(const char *path);

/* Returns whether the program of ARGV starts the ranks of a job itself, as torchrun and mpirun do. */
bool job_program_starts_ranks(char *const *argv);

#define LIBRARY_FILE "libgputrace.so.0" /* its SONAME */

/* Writes the absolute path of libgputrace.so, which lies beside this program or in the directory of `make install`,
 * into PATH. Returns 0, or -1 if it is in neither place. Prints nothing. */
int library_find(char *path, size_t space);

/* Checks that PATH may be loaded into a program. Returns 0, or -1 after error() if everybody can write to the file or
 * to a directory above it. */
int library_check(const char *path);

/* --- plugins --- */

/*
 * Adds the plugin of VALUE ("FILE,key=value,…") to LIST, a const char ** with the text of settings.plugins: a line
 * for each plugin, or NULL. The text is allocated and replaced here, and never freed.
 *
 * A FILE with a slash is a path. A name without a slash is searched for, as NAME.so and as NAME, in gputrace/ and
 * samples/plugins/ beside libgputrace.so, where plugins are installed and built, and in the current directory.
 * Returns 0, or -1 after error(), which lists the places that were searched.
 */
int plugin_list_add(void *list, const char *value);

/* --- libraries that are preloaded: for `--mpi`, and for PyTorch's operators --- */

#define MPI_LIBRARY_FILE "libgputrace-mpi.so.0" /* its SONAME */

/* Writes the path of MPI_LIBRARY_FILE, which lies beside LIBRARY, the agent, in the form for LD_PRELOAD. Returns 0, or
 * -1 after error() if the file does not exist or its path cannot be in LD_PRELOAD. */
int preload_find_mpi(const char *library, char *path, size_t space);

#define TORCH_LIBRARY_FILE "libgputrace-torch.so.0"

/* Writes the path of TORCH_LIBRARY_FILE, which lies beside LIBRARY, the agent, or "" after warning() if it cannot be
 * preloaded. */
void preload_find_torch(const char *library, char *path, size_t space);

/* Adds PATH to this process's LD_PRELOAD, before other libraries: a library that wraps MPI calls PMPI_* and would hide
 * the calls from a library behind it. Libraries of sanitizers, which must come first, stay before PATH. Returns 0, or
 * -1 with errno set. */
int preload_add(const char *path);

#endif
