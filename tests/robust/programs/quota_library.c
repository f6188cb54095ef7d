/*
 * Preloaded: a quota. The files under QUOTA_DIRECTORY, and those in its directories, may take QUOTA_BYTES of the disk
 * together, whatever process they belong to; what would take more fails with EDQUOT, as a quota of the system does, and
 * a write that fits in part is done in part. Where there is QUOTA_SUFFIX it is for files with names that end so.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

static const char *limited; /* the directory; NULL: none */
static const char *suffix;  /* NULL: whatever its name is */
static long long allowed;

__attribute__((constructor)) static void read_settings(void)
{
    const char *bytes = getenv("QUOTA_BYTES");
    limited = getenv("QUOTA_DIRECTORY");
    suffix = getenv("QUOTA_SUFFIX");
    allowed = bytes ? atoll(bytes) : 0;
}

static bool is_meant(const char *name)
{
    size_t length = strlen(name), end = suffix ? strlen(suffix) : 0;
    return end == 0 || (length >= end && strcmp(name + length - end, suffix) == 0);
}

static long long used_in(const char *path, int depth)
{
    DIR *directory = opendir(path);
    long long sum = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char name[PATH_MAX];
        struct stat status;
        int length = snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || length >= (int)sizeof(name) || lstat(name, &status) != 0)
            continue;
        if (S_ISREG(status.st_mode) && is_meant(name))
            sum += (long long)status.st_blocks * 512;
        else if (S_ISDIR(status.st_mode) && depth > 0)
            sum += used_in(name, depth - 1);
    }
    if (directory)
        closedir(directory);
    return sum;
}

static bool is_limited(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = limited ? readlink(link, path, sizeof(path) - 1) : -1;
    size_t part = limited ? strlen(limited) : 0;
    if (length <= (ssize_t)part || strncmp(path, limited, part) != 0 || path[part] != '/')
        return false;
    path[length] = '\0';
    return is_meant(path);
}

/* How many of BYTES at OFFSET may be written: all where the file has blocks for them already. */
static size_t permitted(int fd, off_t offset, size_t bytes)
{
    int saved = errno;
    struct stat status;
    long long end = (long long)offset + (long long)bytes, left;
    bool free_of_it = !is_limited(fd) || fstat(fd, &status) != 0 || end <= (long long)status.st_size;
    left = free_of_it ? 0 : allowed - used_in(limited, 1);
    errno = saved;
    if (free_of_it)
        return bytes;
    if (left > 0 && offset < status.st_size)
        left += (long long)(status.st_size - offset);
    return left <= 0 ? 0 : (unsigned long long)left < bytes ? (size_t)left : bytes;
}

static ssize_t exceeded(void)
{
    errno = EDQUOT;
    return -1;
}

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    if (permitted(fd, offset, (size_t)bytes) < (size_t)bytes)
        return EDQUOT;
    return REAL(posix_fallocate)(fd, offset, bytes);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    if (mode == 0 && permitted(fd, offset, (size_t)bytes) < (size_t)bytes)
        return (int)exceeded();
    return REAL(fallocate)(fd, mode, offset, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    size_t some = permitted(fd, offset, bytes);
    return some == 0 && bytes > 0 ? exceeded() : REAL(pwrite)(fd, data, some, offset);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    off_t offset = is_limited(fd) ? lseek(fd, 0, SEEK_CUR) : -1;
    size_t some = offset < 0 ? bytes : permitted(fd, offset, bytes);
    return some == 0 && bytes > 0 ? exceeded() : REAL(write)(fd, data, some);
}
