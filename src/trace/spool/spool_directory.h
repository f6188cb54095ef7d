/*
 * The spools of a directory, by name: files of their own, and entries in the file of processes that have ended
 * (common/spool.h). Nothing in that file is trusted.
 */
#ifndef GPUTRACE_TRACE_SPOOL_SPOOL_DIRECTORY_H
#define GPUTRACE_TRACE_SPOOL_SPOOL_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

/* Space for the head of an entry and the header after it. */
#define ENDED_HEAD_MAX ((size_t)8192)

/* Puts the head of an entry into HEAD, aligned to 8: the spool's NAME, its HEADER, and how many bytes of packed chunks
 * are to follow. Returns its bytes, a multiple of SPOOL_ALIGN; 0: the name is too long. */
size_t ended_head_pack(uint8_t head[ENDED_HEAD_MAX], const char *name, const struct spool_header *header,
                       uint64_t chunks);

/* The entry at OFFSET of the file FD, whose size is SIZE. */
struct ended_entry {
    struct spool_ended head; /* its name ends with a NUL */
    uint64_t chunks, end;    /* where its chunks begin, and where the next entry does */
};
/* Returns 0, or -1: there is no whole entry. */
int ended_entry_read(struct ended_entry *entry, int fd, uint64_t offset, uint64_t size);
/* Returns 0, or -1: it is damaged. */
int ended_header_read(struct spool_header *header, const struct ended_entry *entry, int fd, uint64_t offset);

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
