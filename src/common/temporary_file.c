#include "common/temporary_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Some file systems know no files without names. */
int unnamed_file(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    int length = fd >= 0 ? -1 : snprintf(path, sizeof(path), "%s/.index.XXXXXX", directory);
    if (length > 0 && (size_t)length < sizeof(path)) {
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    return fd;
}

int temporary_file_grow(int fd, uint64_t from, uint64_t bytes)
{
    return fallocate(fd, 0, (off_t)from, (off_t)bytes) == 0 ? 0 : -1;
}

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
