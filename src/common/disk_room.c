#include "common/disk_room.h"

#include <sys/statvfs.h>

#define LEFT_FREE_MAX ((uint64_t)128 << 20)
#define LEFT_FREE_PART 20u

bool disk_room(int fd, uint64_t bytes)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0)
        return true;
    uint64_t left = (uint64_t)disk.f_blocks * disk.f_frsize / LEFT_FREE_PART;
    left = left < LEFT_FREE_MAX ? left : LEFT_FREE_MAX;
    return (uint64_t)disk.f_bavail * disk.f_frsize >= left + bytes;
}
