/*
 * Whether every user could replace a library before it is loaded: the file or a directory above it is world-writable. A
 * directory with the sticky bit, such as /tmp, is safe for files of root and of this user.
 */
#ifndef GPUTRACE_COMMON_WORLD_WRITABLE_H
#define GPUTRACE_COMMON_WORLD_WRITABLE_H

#include <limits.h>
#include <stdbool.h>

/*
 * PATH leads to a file, by symbolic links or not. True: others can change what is there; WHERE then holds the file or
 * directory in question. False also for a file that does not exist, which cannot be loaded. Nothing is allocated or
 * printed.
 */
bool world_writable(const char *path, char where[PATH_MAX]);

#endif
