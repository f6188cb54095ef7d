#include "agent/spool/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIGH 512
/* In a process with threads: before a table that threads share gets more than 64 descriptors the kernel waits for all
 * processors, ten milliseconds. */
#define HIGH_WITH_THREADS 48

/* How far a table is looked through where the kernel does not empty it by itself. */
#define TABLE_MAX 65536

/* Descriptors of devices are looked for below: they are opened early. */
#define DEVICES_BELOW 1024

/* The same file under a number that the program is not going to get for a file of its own. */
static int moved_high(int fd)
{
    struct rlimit limit;
    rlim_t wanted = __libc_single_threaded ? HIGH : HIGH_WITH_THREADS;
    bool fits = getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 2 * wanted;
    int from = (int)(fits ? wanted : limit.rlim_cur / 2);
    int high = fcntl(fd, F_DUPFD_CLOEXEC, from);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

int descriptor_create(struct descriptor *descriptor, const char *path)
{
    size_t length = strlen(path);
    if (length >= sizeof(descriptor->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -1 : descriptor_adopt(descriptor, fd, path);
}

int descriptor_adopt(struct descriptor *descriptor, int fd, const char *path)
{
    struct stat status;
    size_t length = strlen(path);
    if (length >= sizeof(descriptor->path) || fstat(fd, &status) != 0) {
        close(fd);
        errno = EBADF;
        return -1;
    }
    descriptor->fd = moved_high(fd);
    descriptor->device = status.st_dev;
    descriptor->inode = status.st_ino;
    memcpy(descriptor->path, path, length + 1);
    return 0;
}

static bool look_at(const struct descriptor *descriptor, int fd, struct stat *status)
{
    return fd >= 0 && fstat(fd, status) == 0 && status->st_dev == descriptor->device &&
           status->st_ino == descriptor->inode;
}

static bool is_ours(const struct descriptor *descriptor, int fd)
{
    struct stat status;
    return look_at(descriptor, fd, &status);
}

bool descriptor_is_ours(const struct descriptor *descriptor)
{
    return is_ours(descriptor, descriptor->fd);
}

bool descriptor_is_removed(const struct descriptor *descriptor)
{
    struct stat status;
    return look_at(descriptor, descriptor->fd, &status) && status.st_nlink == 0;
}

int descriptor_use(struct descriptor *descriptor)
{
    if (descriptor_is_ours(descriptor))
        return descriptor->fd;
    descriptor->fd = -1;
    int fd = open(descriptor->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (!is_ours(descriptor, fd)) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return descriptor->fd = moved_high(fd);
}

void descriptor_close(struct descriptor *descriptor)
{
    if (descriptor_is_ours(descriptor))
        close(descriptor->fd);
    descriptor->fd = -1;
}

/* Linux before 5.9, and sandboxes older than that, have no close_range(); a copy is then emptied one by one. Locks that
 * the program has on its files are its table's, and stay. */
int descriptor_own_table(void)
{
    if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0)
        return 0;
    if (unshare(CLONE_FILES) != 0)
        return -1;
    for (int fd = 0; fd < TABLE_MAX; fd++)
        close(fd);
    return 0;
}

static bool is_device(int fd, const char *prefix)
{
    struct stat status;
    char name[32], path[PATH_MAX];
    if (fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode))
        return false;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof(path));
    return length >= (ssize_t)strlen(prefix) && memcmp(path, prefix, strlen(prefix)) == 0;
}

bool descriptor_any_device(const char *prefix)
{
    bool any = false;
    for (int fd = 0; fd < DEVICES_BELOW && !any; fd++)
        any = is_device(fd, prefix);
    return any;
}
