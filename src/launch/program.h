/* Finds the program to run, and what is loaded into it: our library, plugins and libraries that are preloaded. */
#ifndef GPUTRACE_LAUNCH_PROGRAM_H
#define GPUTRACE_LAUNCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Finds NAME as a shell does and writes where it is into PATH (SPACE bytes), always with a slash. Returns 0; or after
 * error() EXIT_NOT_FOUND or EXIT_NOT_RUN of launch.h. */
int program_find(const char *name, char *path, size_t space);

/* Whether a shell would find NAME, which may have a slash. */
bool program_is_there(const char *name);

/* Warns if sh is to run the file though its name ends as that of another language's script. */
void program_warn_if_unmarked(const char *path);

/* The last part of a path: the name of the program. Points into PATH. */
const char *program_name(const char *path);

/* Whether the program runs with more rights than this process. */
bool program_gains_rights(const char *path);

/* Whether the program of ARGV starts the ranks of a job itself, as torchrun and mpirun do. */
bool job_program_starts_ranks(char *const *argv);

#define LIBRARY_FILE "libgputrace.so.0" /* its SONAME */

/* Writes the absolute path of libgputrace.so: beside this program, or in the directory that `make install` puts it
 * into. Returns 0, or -1 when it is in neither. Prints nothing. */
int library_find(char *path, size_t space);

/* Whether PATH may be loaded into a program: only root and this user can change that file. Returns 0, or -1 after
 * error(). */
int library_check(const char *path);

/* --- plugins --- */

/*
 * Adds a plugin to LIST, the text of settings.plugins ("PATH,key=value,…", one on each line; NULL: none yet), which is
 * allocated and replaced here, and never freed.
 *
 * A FILE with a slash is taken as it is. A name without one is searched, as NAME.so and as NAME, in gputrace/ and
 * samples/plugins/ beside libgputrace.so, where plugins are installed and built, and in this directory.
 * Returns 0, or -1 after error(), which lists the places that were searched.
 */
int plugin_list_add(void *list, const char *value);

/* --- libraries that are preloaded: for `--mpi`, and for PyTorch's operators --- */

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
