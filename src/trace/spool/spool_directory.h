/*
 * The spools of a directory, by name: files of their own, and entries in the file of processes that have ended.
 */
#ifndef GPUTRACE_TRACE_SPOOL_SPOOL_DIRECTORY_H
#define GPUTRACE_TRACE_SPOOL_SPOOL_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool_place {
    char *path;
    uint64_t ended; /* where its entry is in the file of processes that have ended, + 1; 0: it is a file */
};

struct spool_directory {
    struct spool_place *places; /* sorted by pid, then by image, then as they ended: those that are files come last.
                                   What the launcher wrote comes after all of them */
    size_t count, capacity;
    char *ended_path;  /* the file of processes that have ended, if there is one */
    size_t unrecorded; /* processes that could not make one */
};

/* Whether PATH is a directory of a run: it has spools, or says what there was of processes and of the session. */
bool spool_directory_is(const char *path);
/* Returns 0, or -1 after error(). Release it in either case. */
int spool_directory_read(struct spool_directory *directory, const char *path);
void spool_directory_release(struct spool_directory *directory);

#endif
