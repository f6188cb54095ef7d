/*
 * The spools of a directory, by name: files, and entries in the file of ended processes (common/spool.h). Nothing in
 * that file is trusted.
 */
#ifndef GPUTRACE_TRACE_SPOOL_SPOOL_DIRECTORY_H
#define GPUTRACE_TRACE_SPOOL_SPOOL_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

/* Space for the head of an entry and the header after it. */
#define ENDED_HEAD_MAX ((size_t)8192)

/* Writes the head of an entry to HEAD, aligned to 8: the spool's NAME, its HEADER, and the number of bytes of packed
 * chunks that will follow. Returns the head's size, a multiple of SPOOL_ALIGN, or 0 if the name is too long. */
size_t ended_head_pack(uint8_t head[ENDED_HEAD_MAX], const char *name, const struct spool_header *header,
                       uint64_t chunks);

/* An entry of the file of ended processes. */
struct ended_entry {
    struct spool_ended head; /* its name ends with a NUL */
    uint64_t chunks, end;    /* offsets of its chunks, and of the next entry */
};
/* Reads the entry at OFFSET of the file FD, which has SIZE bytes. Returns 0, or -1 if there is no whole entry. */
int ended_entry_read(struct ended_entry *entry, int fd, uint64_t offset, uint64_t size);
/* Reads the header of the entry at OFFSET. Returns 0, or -1 if it is damaged. */
int ended_header_read(struct spool_header *header, const struct ended_entry *entry, int fd, uint64_t offset);

struct spool_place {
    char *path;
    uint64_t ended; /* offset of the entry in the file of ended processes + 1; 0: the spool is a file */
};

struct spool_directory {
    struct spool_place *places; /* sorted by pid, then by image, then entries before files, in their order. The
                                   launcher's files follow all others */
    size_t count, capacity;
    char *ended_path;  /* the file of ended processes, which may not exist */
    size_t unrecorded; /* processes that could not create a spool */
};

/* Whether PATH is a directory of a run: it has spools, or notes about processes or the session. */
bool spool_directory_is(const char *path);
/* Lists the spools of PATH. Returns 0, or -1 after error(). Call spool_directory_release() in either case. */
int spool_directory_read(struct spool_directory *directory, const char *path);
void spool_directory_release(struct spool_directory *directory);

#endif
