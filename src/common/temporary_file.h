/*
 * A file without a name, for what memory shall not hold: it is gone when it is closed, however the process ends.
 */
#ifndef GPUTRACE_COMMON_TEMPORARY_FILE_H
#define GPUTRACE_COMMON_TEMPORARY_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* A new, empty one on the disk of DIRECTORY. Gives its descriptor, or -1. */
int unnamed_file(const char *directory);

/* Makes BYTES of room at FROM, which the disk has promised from then on: a page of a mapped file that it could not take
 * would be a SIGBUS. Gives 0, or -1. */
int temporary_file_grow(int fd, uint64_t from, uint64_t bytes);

/*
 * Room on a disk for what is recorded. The program may write to the same disk: a twentieth of it, but no more than
 * 128 MiB, is left free by the process that records and by the launcher that packs alike.
 */

/* Whether the file FD may grow by BYTES. True also where nothing is known of its disk. */
bool disk_room(int fd, uint64_t bytes);

#endif
