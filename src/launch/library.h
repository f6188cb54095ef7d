/*
 * Where libgputrace.so is, seen from this program's own file.
 */
#ifndef GPUTRACE_LAUNCH_LIBRARY_H
#define GPUTRACE_LAUNCH_LIBRARY_H

#include <stddef.h>

#define LIBRARY_FILE "libgputrace.so.0" /* its SONAME */

/* Writes the library's absolute path: beside this program, or in the directory that `make install` puts it into.
 * Returns 0, or -1 when it is in neither; nothing is printed. */
int library_find(char *path, size_t room);

/* Whether PATH may be loaded into a program: nobody but root and this user can put other code there. Returns 0, or -1
 * after error(). */
int library_check(const char *path);

#endif
