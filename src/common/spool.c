#include "common/spool.h"

#include <fcntl.h>
#include <unistd.h>

/* Locks of open files, not of processes: these would go with the first descriptor that the program closes. */
int spool_lock_take(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

bool spool_lock_is_held(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
