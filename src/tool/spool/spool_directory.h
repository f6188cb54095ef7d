/*
 * The spool files of a directory, by name.
 */
#ifndef GPUTRACE_TOOL_SPOOL_SPOOL_DIRECTORY_H
#define GPUTRACE_TOOL_SPOOL_SPOOL_DIRECTORY_H

#include <stddef.h>

struct spool_directory {
    char **paths; /* sorted by pid, then by image */
    size_t count;
    size_t unrecorded; /* processes that could not make one */
};

/* Gives 0, or -1 after error(). Release it in either case. */
int spool_directory_read(struct spool_directory *directory, const char *path);
void spool_directory_release(struct spool_directory *directory);

#endif
