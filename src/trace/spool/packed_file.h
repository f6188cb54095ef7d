/*
 * What the launcher has drained of a spool: the file of the same name with SPOOL_PACKED_SUFFIX, its chunks as further
 * parts of the spool. Nothing in it is trusted, as with the spool.
 */
#ifndef GPUTRACE_TRACE_SPOOL_PACKED_FILE_H
#define GPUTRACE_TRACE_SPOOL_PACKED_FILE_H

#include <stddef.h>
#include <stdint.h>

struct spool_file;

/* Adds the parts of the packed file of the spool at PATH, if there is one, to FILE. Returns 0, or -1 after error(). */
int packed_file_add(struct spool_file *file, const char *path);

/* Adds the parts from FROM to END of the file FD, which is PATH and what file->packed names. Returns 0, or -1 after
 * error(). */
int packed_parts_add(struct spool_file *file, int fd, const char *path, uint64_t from, uint64_t end);

/* The name of the packed file of SPOOL, whose name ends with SPOOL_SUFFIX. Returns 0, or -1: it does not, or ROOM is
 * too little. */
int packed_file_name(const char *spool, char *name, size_t room);

#endif
