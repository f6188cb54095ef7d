/*
 * Whole reads and writes of files, unlinked temporary files, memory on huge pages, and a check who can replace a file:
 * the path is followed from the file up to the root, with symbolic links resolved.
 */
#include "common/memory.h"

#include <link.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define HUGE_PAGE ((size_t)2 * 1024 * 1024)

void *huge_page_alloc(size_t size)
{
    void *memory = NULL;
    if (size < HUGE_PAGE)
        return malloc(size);
    if (posix_memalign(&memory, HUGE_PAGE, size) != 0)
        return NULL;
    madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* small pages do as well */
    return memory;
}

bool file_read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = 0;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool file_write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        done += (size_t)written;
    }
    return true;
}

const char *temporary_directory(void)
{
    const char *directory = getenv("TMPDIR");
    return directory && *directory ? directory : "/tmp";
}

/* Some file systems have no O_TMPFILE. */
int temporary_file_open(const char *directory)
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

bool disk_has_space(int fd, uint64_t bytes)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0)
        return true;
    uint64_t left = (uint64_t)disk.f_blocks * disk.f_frsize / LEFT_FREE_PART;
    left = left < LEFT_FREE_MAX ? left : LEFT_FREE_MAX;
    return (uint64_t)disk.f_bavail * disk.f_frsize >= left + bytes;
}

/* --- libraries --- */

static int count_changes(struct dl_phdr_info *info, size_t size, void *changes)
{
    (void)size;
    *(uint64_t *)changes = info->dlpi_adds + info->dlpi_subs;
    return 1; /* the numbers are equal for all libraries */
}

uint64_t library_changes(void)
{
    uint64_t changes = 0;
    dl_iterate_phdr(count_changes, &changes);
    return changes;
}

struct wanted {
    const char *name;
    char *path;
};

static int compare_name(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct wanted *wanted = context;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!slash || strncmp(slash + 1, wanted->name, strlen(wanted->name)) != 0 || strlen(info->dlpi_name) >= PATH_MAX)
        return 0;
    strcpy(wanted->path, info->dlpi_name);
    return 1;
}

bool library_is_loaded(const char *name, char path[PATH_MAX])
{
    struct wanted wanted = {name, path};
    return dl_iterate_phdr(compare_name, &wanted) != 0;
}

/* --- who can replace a library --- */

/* Returns whether other users can replace CHILD, the entry of DIRECTORY on the way to the file. */
static bool can_replace(const struct stat *directory, const struct stat *child)
{
    if (!(directory->st_mode & S_IWOTH))
        return false;
    return !(directory->st_mode & S_ISVTX) || (child->st_uid != 0 && child->st_uid != geteuid());
}

static bool stands_open(char where[PATH_MAX])
{
    struct stat child, directory;
    if (stat(where, &child) != 0)
        return false;
    if (!S_ISDIR(child.st_mode) && (child.st_mode & S_IWOTH))
        return true;
    for (char *slash; (slash = strrchr(where, '/')) && where[1]; child = directory) {
        slash[slash == where] = '\0';
        if (stat(where, &directory) == 0 && can_replace(&directory, &child))
            return true;
    }
    return false;
}

bool world_writable(const char *path, char where[PATH_MAX])
{
    /* Check the path as it is written, because a link in it may be replaced; then check the file to which it leads. */
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + (slash == path) : 1;
    if (length >= PATH_MAX)
        return false;
    memcpy(where, slash ? path : ".", length);
    where[length] = '\0';
    struct stat directory, link;
    if (stat(where, &directory) == 0 && lstat(path, &link) == 0 && can_replace(&directory, &link))
        return true;
    return realpath(path, where) && stands_open(where);
}
