/* Finds the program to run and the library to load into it, and reads in their files what matters before the run. */
#ifndef GPUTRACE_LAUNCH_PROGRAM_H
#define GPUTRACE_LAUNCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Finds NAME as a shell does and writes where it is into PATH (SPACE bytes), always with a slash. Returns 0; or after
 * error() EXIT_NOT_FOUND or EXIT_NOT_RUN of launch.h. */
int program_find(const char *name, char *path, size_t space);

/* Warns if sh is to run the file though its name ends as that of another language's script. */
void program_warn_if_unmarked(const char *path);

/* The last part of a path: the name of the program. Points into PATH. */
const char *program_name(const char *path);

/* Whether the program runs with more rights than this process. */
bool program_gains_rights(const char *path);

/* Whether the program of ARGV starts the ranks of a job itself, as torchrun and mpirun do. */
bool job_program_starts_ranks(char *const *argv);

/* Whether the file is an executable without a dynamic loader. */
bool program_is_static(const char *path);

/* Whether the file is such an executable and contains NVTX's header: loading a library into it can crash it. */
bool program_is_static_with_nvtx(const char *path);

/* Whether the file is for musl, a C library into which ours, which is for glibc, cannot be loaded. */
bool program_is_for_musl(const char *path);

/* Whether nvcc put code for GPUs into the file. */
bool program_has_kernels(const char *path);

/* Whether PATH is a 64-bit ELF file. */
bool elf_is(const char *path);

/* Copies the text that the shared library PATH exports as the char array SYMBOL into TEXT, without loading it. Returns
 * false when it exports none, or a longer one than SPACE. */
bool elf_exported_text(const char *path, const char *symbol, char *text, size_t space);

#define LIBRARY_FILE "libgputrace.so.0" /* its SONAME */

/* Writes the absolute path of libgputrace.so: beside this program, or in the directory that `make install` puts it
 * into. Returns 0, or -1 when it is in neither. Prints nothing. */
int library_find(char *path, size_t space);

/* Whether PATH may be loaded into a program: only root and this user can change that file. Returns 0, or -1 after
 * error(). */
int library_check(const char *path);

#endif
