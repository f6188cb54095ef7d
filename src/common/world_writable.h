/*
 * Who could put other code in place of a library before it is loaded: everybody, where the file or a directory above it
 * may be written by everybody. A directory with the sticky bit, /tmp, is safe for what belongs to root or to this user.
 */
#ifndef GPUTRACE_COMMON_WORLD_WRITABLE_H
#define GPUTRACE_COMMON_WORLD_WRITABLE_H

#include <limits.h>
#include <stdbool.h>

/*
 * PATH leads to a file, by symbolic links or not. True: others can change what is there; WHERE then holds the file or
 * directory in question. False also for what is not there, which cannot be loaded. Nothing is allocated or printed.
 */
bool world_writable(const char *path, char where[PATH_MAX]);

#endif
