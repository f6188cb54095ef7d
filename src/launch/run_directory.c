#include "launch/run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/spool.h"

#define PREFIX "gputrace-"
#define RANDOM "XXXXXX"

const char *run_directory_parent(const char *given)
{
    const char *temporary = getenv("TMPDIR");
    return given ? given : temporary && *temporary ? temporary : "/tmp";
}

static void warn_of_others(const char *parent)
{
    struct stat status;
    if (stat(parent, &status) == 0 && (status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX))
        warning("everybody can replace what is in '%s', also what is recorded there: chmod +t '%s', or choose another "
                "place with --spool-dir",
                parent, parent);
}

/* A file system that does not write in place may have no space when a page of the spool is written again, which kills
 * the writer. btrfs can be asked to write new files in place; others ignore this. */
static void ask_to_write_in_place(int directory)
{
    int flags;
    if (ioctl(directory, FS_IOC_GETFLAGS, &flags) != 0)
        return;
    flags |= FS_NOCOW_FL;
    ioctl(directory, FS_IOC_SETFLAGS, &flags);
}

int run_directory_make(struct run_directory *directory, const char *parent)
{
    *directory = (struct run_directory){.lock = -1};
    char absolute[PATH_MAX];
    if (!realpath(parent, absolute))
        return error("cannot make a spool directory in '%s': %s", parent, strerror(errno));
    char *path = directory->path;
    int size = snprintf(path, sizeof(directory->path), "%s/" PREFIX RANDOM, absolute);
    if (size < 0 || (size_t)size >= sizeof(directory->path)) {
        *path = '\0';
        return error("cannot make a spool directory in '%s': the path is too long", parent);
    }
    if (!mkdtemp(path)) {
        *path = '\0';
        return error("cannot make a spool directory in '%s': %s (--spool-dir chooses another place)", parent,
                     strerror(errno));
    }
    directory->lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    warn_of_others(absolute);
    if (directory->lock >= 0) {
        flock(directory->lock, LOCK_EX | LOCK_NB); /* without it, running runs are listed as leftovers */
        ask_to_write_in_place(directory->lock);
    }
    return 0;
}

void run_directory_release(struct run_directory *directory)
{
    if (directory->lock >= 0)
        close(directory->lock);
    directory->lock = -1;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), size = strlen(suffix);
    return length > size && strcmp(name + length - size, suffix) == 0;
}

static bool is_ours(const char *name)
{
    return strcmp(name, SPOOL_SESSION_FILE) == 0 || ends_with(name, SPOOL_SUFFIX) ||
           ends_with(name, SPOOL_PACKED_SUFFIX) || ends_with(name, SPOOL_UNRECORDED_SUFFIX);
}

/* The directory that was made, even if another one has its name now. */
static DIR *open_files(const struct run_directory *directory)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int folder = directory->lock >= 0 ? openat(directory->lock, ".", flags) : open(directory->path, flags);
    DIR *files = folder >= 0 ? fdopendir(folder) : NULL;
    if (!files && folder >= 0)
        close(folder);
    return files;
}

/* Whether there is anything in it that a run makes. */
static bool has_ours(const struct run_directory *directory)
{
    bool found = false;
    DIR *files = open_files(directory);
    for (struct dirent *file; files && !found && (file = readdir(files));)
        found = is_ours(file->d_name);
    if (files)
        closedir(files);
    return found;
}

int run_directory_open(struct run_directory *directory, const char *path, bool *held, bool *safe)
{
    struct stat status;
    *directory = (struct run_directory){.lock = -1};
    if (!realpath(path, directory->path))
        return error("cannot open '%s': %s", path, strerror(errno));
    directory->lock = open(directory->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory->lock < 0 || fstat(directory->lock, &status) != 0) {
        int failure = errno;
        run_directory_release(directory);
        return error("cannot open '%s': %s", path, strerror(failure));
    }
    *held = flock(directory->lock, LOCK_EX | LOCK_NB) != 0;
    *safe = status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (has_ours(directory))
        return 0;
    run_directory_release(directory);
    return error("'%s' has no records of gputrace: 'gputrace recover' lists directories that do", path);
}

void run_directory_remove(struct run_directory *directory)
{
    DIR *files = open_files(directory);
    for (struct dirent *file; files && (file = readdir(files));)
        if (is_ours(file->d_name))
            unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
    run_directory_release(directory);
    if (rmdir(directory->path) != 0 && errno != ENOENT)
        warning("'%s' stays: %s", directory->path, strerror(errno));
}

static bool writer_lives(int directory, const char *file)
{
    if (!ends_with(file, SPOOL_SUFFIX))
        return false;
    int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool lives = fd >= 0 && spool_lock_is_held(fd);
    if (fd >= 0)
        close(fd);
    return lives;
}

unsigned run_directory_writers(const struct run_directory *directory)
{
    unsigned count = 0;
    DIR *files = opendir(directory->path);
    for (struct dirent *file; files && (file = readdir(files));)
        count += writer_lives(dirfd(files), file->d_name);
    if (files)
        closedir(files);
    return count;
}

static uint64_t bytes_below(int folder)
{
    uint64_t bytes = 0;
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = again < 0 ? NULL : fdopendir(again);
    struct stat file;
    for (struct dirent *entry; files && (entry = readdir(files));)
        if (fstatat(folder, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode))
            bytes += (uint64_t)file.st_blocks * 512;
    if (files)
        closedir(files);
    else if (again >= 0)
        close(again);
    return bytes;
}

/* True for a directory of this user that no launcher holds; BYTES is what its files take on the disk. */
static bool left_over(int parent, const char *name, uint64_t *bytes)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(name) != strlen(PREFIX RANDOM))
        return false;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return false;
    struct stat status;
    bool free = fstat(folder, &status) == 0 && status.st_uid == geteuid() && flock(folder, LOCK_EX | LOCK_NB) == 0;
    *bytes = free ? bytes_below(folder) : 0;
    close(folder);
    return free;
}

void run_directory_leftovers(const char *parent, void (*each)(void *, const char *, uint64_t), void *context)
{
    DIR *names = opendir(parent);
    for (struct dirent *entry; names && (entry = readdir(names));) {
        char path[PATH_MAX];
        uint64_t bytes;
        if (!left_over(dirfd(names), entry->d_name, &bytes))
            continue;
        snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
        each(context, path, bytes);
    }
    if (names)
        closedir(names);
}
