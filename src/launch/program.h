/*
 * Finding a program as a shell does.
 */
#ifndef GPUTRACE_LAUNCH_PROGRAM_H
#define GPUTRACE_LAUNCH_PROGRAM_H

#include <stddef.h>

/*
 * Finds NAME, by PATH when it has no slash, and writes where it is into PATH (ROOM bytes), always with a slash.
 * Gives 0; or after error() EXIT_NOT_FOUND or EXIT_NOT_RUN of launch.h.
 */
int program_find(const char *name, char *path, size_t room);

/* The last part of a path: what the program is called. Points into PATH. */
const char *program_name(const char *path);

#endif
