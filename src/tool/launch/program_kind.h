/*
 * What sort of file a program is, as far as it decides whether a library can be loaded into it.
 */
#ifndef GPUTRACE_TOOL_LAUNCH_PROGRAM_KIND_H
#define GPUTRACE_TOOL_LAUNCH_PROGRAM_KIND_H

#include <stdbool.h>

/* Whether the file runs with rights that this process has not: it has no regard for who asks to look into it. */
bool program_gains_rights(const char *path);

/* Whether the file is an executable without a dynamic loader. */
bool program_is_static(const char *path);

#endif
