/*
 * The file of processes that have ended (common/spool.h): a run may have many thousands of them, each with little to
 * keep. Nothing in it is trusted.
 */
#ifndef GPUTRACE_TRACE_SPOOL_ENDED_FILE_H
#define GPUTRACE_TRACE_SPOOL_ENDED_FILE_H

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

#endif
