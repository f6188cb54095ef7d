#include "common/unnamed_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

int unnamed_file_grow(int fd, uint64_t from, uint64_t bytes)
{
    return fallocate(fd, 0, (off_t)from, (off_t)bytes) == 0 ? 0 : -1;
}
