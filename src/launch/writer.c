#include "launch/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/vfs.h>

#include "common/spool_lock.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* Where a mapping keeps the file itself open, which not all file systems on top of others do. */
static bool leases_are_exact(int fd)
{
    struct statfs of;
    if (fstatfs(fd, &of) != 0)
        return false;
    switch ((unsigned)of.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC: return true;
    default: return false;
    }
}

/*
 * The kernel gives a lease for reading on a file that nobody has open for writing, and a mapping counts as open, in any
 * PID namespace. If somebody opened the file in this moment we would get a signal: of the sort that is ignored. The
 * lock of the spool (common/spool_lock.h) is not enough here, where a spool is removed: a process goes on writing
 * without it when its header became memory of its own, and a file system may have no locks.
 */
bool writer_is_gone(int fd, const struct spool_header *header)
{
    int lease = fcntl(fd, F_SETSIG, SIGURG) == 0 ? fcntl(fd, F_SETLEASE, F_RDLCK) : -1;
    if (lease == 0)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    else if (errno == EAGAIN)
        return false;
    if (lease == 0 && leases_are_exact(fd))
        return true;
    return header->state == SPOOL_FINISHED && !spool_lock_is_held(fd) && header->pid != 0 &&
           kill((pid_t)header->pid, 0) != 0 && errno == ESRCH;
}
