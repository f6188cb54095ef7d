/*
 * Room on a disk for what is recorded. The program may write to the same disk: a twentieth of it, but no more than
 * 128 MiB, is left free by the process that records and by the launcher that packs alike.
 */
#ifndef GPUTRACE_COMMON_DISK_ROOM_H
#define GPUTRACE_COMMON_DISK_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the file FD may grow by BYTES. True also where nothing is known of its disk. */
bool disk_room(int fd, uint64_t bytes);

#endif
