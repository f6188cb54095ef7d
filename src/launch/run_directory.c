/*
 * Makes, locks, inspects and removes run directories, and finds those that killed launchers left behind. Only files
 * with our names are removed.
 */
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
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"
#include "common/memory.h"
#include "common/spool.h"

#define PREFIX "gputrace-"
#define RANDOM "XXXXXX"

const char *run_directory_parent(const char *given)
{
    return given ? given : temporary_directory();
}

int run_directory_make(struct run_directory *directory, const char *parent)
{
    *directory = (struct run_directory){.lock = -1};
    char absolute[PATH_MAX];
    struct stat status;
    int flags;
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
    if (stat(absolute, &status) == 0 && (status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX))
        warning("everybody can replace what is in '%s', also what is recorded there: chmod +t %s, or choose another "
                "place with --spool-dir",
                absolute, shell_word(absolute));
    if (directory->lock < 0)
        return 0;
    flock(directory->lock, LOCK_EX); /* without it, running runs are listed as leftovers; who lists has it briefly */
    /* A file system that does not write in place may have no space when a page of the spool is written again, which
     * kills the writer. btrfs can be asked to write new files in place; others ignore this. */
    if (ioctl(directory->lock, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        ioctl(directory->lock, FS_IOC_SETFLAGS, &flags);
    }
    return 0;
}

void run_directory_release(struct run_directory *directory)
{
    if (directory->lock >= 0)
        close(directory->lock);
    directory->lock = -1;
}

static bool is_ours(const char *name)
{
    return strcmp(name, SPOOL_SESSION_FILE) == 0 || strcmp(name, SPOOL_NESTED_FILE) == 0 ||
           text_ends_with(name, SPOOL_SUFFIX) || text_ends_with(name, SPOOL_PACKED_SUFFIX) ||
           text_ends_with(name, SPOOL_CPU_SUFFIX) || text_ends_with(name, SPOOL_UNRECORDED_SUFFIX);
}

/* Calls EACH for every file of the open directory FOLDER. */
static void each_file(int folder, void (*each)(void *context, int folder, const char *name), void *context)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *file; files && (file = readdir(files));)
        each(context, folder, file->d_name);
    if (files)
        closedir(files);
    else if (again >= 0)
        close(again);
}

static void look_for_ours(void *context, int folder, const char *name)
{
    bool *found = context;
    (void)folder;
    *found |= is_ours(name);
}

static bool has_ours(int folder)
{
    bool found = false;
    each_file(folder, look_for_ours, &found);
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
    if (has_ours(directory->lock))
        return 0;
    run_directory_release(directory);
    return error("'%s' has no records of gputrace: 'gputrace recover' lists directories that do", path);
}

static void remove_ours(void *context, int folder, const char *name)
{
    (void)context;
    if (is_ours(name))
        unlinkat(folder, name, 0);
}

void run_directory_remove(struct run_directory *directory)
{
    int folder = directory->lock; /* the directory that was made, even if another one has its name now */
    if (folder < 0)
        folder = open(directory->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0)
        each_file(folder, remove_ours, NULL);
    directory->lock = folder;
    run_directory_release(directory);
    if (rmdir(directory->path) != 0 && errno != ENOENT)
        warning("'%s' stays: %s", directory->path, strerror(errno));
}

/* Directories and spools are made empty and locked next. One that is older than this and still empty was left by a
 * process that died in between. */
#define JUST_MADE_S 10

static bool just_made(const struct stat *status)
{
    return time(NULL) - status->st_mtime < JUST_MADE_S;
}

static void count_writer(void *context, int folder, const char *name)
{
    unsigned *count = context;
    struct stat status;
    int fd = text_ends_with(name, SPOOL_SUFFIX)
                 ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                 : -1;
    bool is_to_be_locked = fd >= 0 && fstat(fd, &status) == 0 && status.st_size == 0 && just_made(&status);
    *count += is_to_be_locked || (fd >= 0 && spool_lock_is_held(fd));
    if (fd >= 0)
        close(fd);
}

unsigned run_directory_writers(const struct run_directory *directory)
{
    unsigned count = 0;
    int folder = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        each_file(folder, count_writer, &count);
        close(folder);
    }
    return count;
}

static void add_bytes(void *context, int folder, const char *name)
{
    uint64_t *bytes = context;
    struct stat file;
    if (fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode))
        *bytes += (uint64_t)file.st_blocks * 512;
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
    bool free = fstat(folder, &status) == 0 && status.st_uid == geteuid() && flock(folder, LOCK_EX | LOCK_NB) == 0 &&
                (has_ours(folder) || !just_made(&status)); /* ranks of a job start at once */
    *bytes = 0;
    if (free)
        each_file(folder, add_bytes, bytes);
    close(folder);
    return free;
}

struct leftovers run_directory_leftovers(const char *parent, void (*each)(void *, const char *, uint64_t),
                                         void *context)
{
    struct leftovers found = {0};
    DIR *names = opendir(parent);
    for (struct dirent *entry; names && (entry = readdir(names));) {
        char path[PATH_MAX];
        uint64_t bytes;
        if (!left_over(dirfd(names), entry->d_name, &bytes))
            continue;
        snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
        if (found.count++ == 0)
            memcpy(found.first, path, sizeof(path));
        found.bytes += bytes;
        if (each)
            each(context, path, bytes);
    }
    if (names)
        closedir(names);
    return found;
}
