#include "tool/launch/run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "wire/spool.h"

#define PREFIX "gputrace-"
#define RANDOM "XXXXXX"

const char *run_directory_parent(const char *given)
{
    const char *temporary = getenv("TMPDIR");
    return given ? given : temporary && *temporary ? temporary : "/tmp";
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
    directory->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory->lock >= 0)
        flock(directory->lock, LOCK_EX | LOCK_NB); /* where it cannot be had, leftovers are told too eagerly */
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
    size_t length = strlen(name), suffix = strlen(SPOOL_SUFFIX);
    return strcmp(name, SPOOL_SESSION_FILE) == 0 ||
           (length > suffix && strcmp(name + length - suffix, SPOOL_SUFFIX) == 0);
}

void run_directory_remove(struct run_directory *directory)
{
    DIR *files = opendir(directory->path);
    for (struct dirent *file; files && (file = readdir(files));)
        if (is_ours(file->d_name))
            unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
    run_directory_release(directory);
    if (rmdir(directory->path) != 0 && errno != ENOENT)
        warning("'%s' stays: %s", directory->path, strerror(errno));
}

/* Spool files are named after the process that writes them. A process that only waits to be reaped has no exe. */
static bool writer_lives(const char *file)
{
    char *end, path[64], exe[8];
    long pid = strtol(file, &end, 10);
    if (pid <= 0 || *end != '-' || !is_ours(file))
        return false;
    snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
    return readlink(path, exe, sizeof(exe)) > 0;
}

unsigned run_directory_writers(const struct run_directory *directory)
{
    unsigned count = 0;
    DIR *files = opendir(directory->path);
    for (struct dirent *file; files && (file = readdir(files));)
        count += writer_lives(file->d_name);
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
