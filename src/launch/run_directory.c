/*
 * Makes, locks, inspects and removes run directories, and finds those that killed launchers left behind. Only files
 * with our names are removed. A thread listens on an abstract socket for processes whose sandbox hides the spool
 * directory, makes their file and sends its descriptor back.
 */
#include "launch/run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/threads.h"
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
    flock(directory->lock, LOCK_EX); /* waits: a gputrace that lists leftovers takes the lock for a moment */
    /* A copy-on-write file system needs space to write a page of the spool again, and a full disk then kills the writer
     * by SIGBUS. This makes btrfs write new files in place; other file systems ignore the flag. */
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

DIR *run_directory_files(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = again >= 0 ? fdopendir(again) : NULL;
    if (!files && again >= 0)
        close(again);
    return files;
}

static bool has_ours(int folder)
{
    bool found = false;
    DIR *files = run_directory_files(folder);
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
    if (has_ours(directory->lock))
        return 0;
    run_directory_release(directory);
    return error("'%s' has no records of gputrace: 'gputrace recover' lists directories that do", path);
}

void run_directory_remove(struct run_directory *directory)
{
    int folder = directory->lock; /* the directory that was made, even if its name now leads to another one */
    if (folder < 0)
        folder = open(directory->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = folder >= 0 ? run_directory_files(folder) : NULL;
    for (struct dirent *file; files && (file = readdir(files));)
        if (is_ours(file->d_name))
            unlinkat(folder, file->d_name, 0);
    if (files)
        closedir(files);
    directory->lock = folder;
    run_directory_release(directory);
    if (rmdir(directory->path) != 0 && errno != ENOENT)
        warning("'%s' stays: %s", directory->path, strerror(errno));
}

/* Directories and spools are empty for a moment before they are locked. If one is older than this and still empty, its
 * process died in between. */
#define JUST_MADE_S 10

static bool just_made(const struct stat *status)
{
    return time(NULL) - status->st_mtime < JUST_MADE_S;
}

unsigned run_directory_writers(const struct run_directory *directory)
{
    unsigned count = 0;
    DIR *files = opendir(directory->path);
    for (struct dirent *file; files && (file = readdir(files));) {
        struct stat status;
        int fd = text_ends_with(file->d_name, SPOOL_SUFFIX)
                     ? openat(dirfd(files), file->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                     : -1;
        bool is_to_be_locked = fd >= 0 && fstat(fd, &status) == 0 && status.st_size == 0 && just_made(&status);
        count += is_to_be_locked || (fd >= 0 && spool_is_written(fd));
        if (fd >= 0)
            close(fd);
    }
    if (files)
        closedir(files);
    return count;
}

/* Opens NAME in PARENT if it is a run directory of this user. Returns its descriptor, or -1. */
static int open_own(int parent, const char *name, struct stat *status)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(name) != strlen(PREFIX RANDOM))
        return -1;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && fstat(folder, status) == 0 && status->st_uid == geteuid())
        return folder;
    if (folder >= 0)
        close(folder);
    return -1;
}

/* Returns whether NAME is a run directory of this user that no launcher holds. BYTES: their size on the disk. */
static bool left_over(int parent, const char *name, uint64_t *bytes)
{
    struct stat status;
    int folder = open_own(parent, name, &status);
    if (folder < 0)
        return false;
    bool free = flock(folder, LOCK_EX | LOCK_NB) == 0 &&
                (has_ours(folder) || !just_made(&status)); /* another rank may have just made it */
    *bytes = 0;
    DIR *files = free ? run_directory_files(folder) : NULL;
    for (struct dirent *file; files && (file = readdir(files));)
        if (fstatat(folder, file->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
            *bytes += (uint64_t)status.st_blocks * 512;
    if (files)
        closedir(files);
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

void run_directory_spools(const char *parent, void (*each)(void *, int), void *context)
{
    DIR *names = opendir(parent);
    for (struct dirent *entry; names && (entry = readdir(names));) {
        struct stat status;
        int folder = open_own(dirfd(names), entry->d_name, &status);
        DIR *files = folder >= 0 ? run_directory_files(folder) : NULL;
        if (folder >= 0)
            close(folder);
        for (struct dirent *file; files && (file = readdir(files));) {
            int fd = text_ends_with(file->d_name, SPOOL_SUFFIX)
                         ? openat(dirfd(files), file->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                         : -1;
            if (fd >= 0 && spool_is_written(fd))
                each(context, fd);
            if (fd >= 0)
                close(fd);
        }
        if (files)
            closedir(files);
    }
    if (names)
        closedir(names);
}

/* --- spool files for processes that cannot make them --- */

#define BACKLOG 128
/* A connection that sends nothing delays the others for at most this time. */
#define LIMIT_US 100000
#define IMAGES_MAX 10000

struct spool_server {
    pthread_t thread;
    int socket;
    int directory;
    bool stop;
    unsigned unnoted; /* processes that are not recorded and could not be noted */
    char name[SPOOL_SERVER_NAME_MAX];
    char token[SPOOL_SERVER_TOKEN_MAX];
    char address[SPOOL_SERVER_NAME_MAX + SPOOL_SERVER_TOKEN_MAX];
};

/* --- one request --- */

/* Makes the file for a spool of PID. Returns its descriptor and sets IMAGE to its number, or -1 with errno set. */
static int make_file(const struct spool_server *server, uint32_t pid, uint32_t *image)
{
    for (*image = 0; *image < IMAGES_MAX; ++*image) {
        char name[64];
        snprintf(name, sizeof(name), "%" PRIu32 "-%" PRIu32 SPOOL_SUFFIX, pid, *image);
        int fd = openat(server->directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Makes the symbolic link that notes a process that is not recorded; a process outside a sandbox makes it itself. */
static void note_unrecorded(struct spool_server *server, const struct spool_request *request)
{
    char name[64];
    snprintf(name, sizeof(name), "%" PRIu32 "-%" PRIu32 SPOOL_SUFFIX, request->pid, request->image);
    if (request->image != SPOOL_NO_IMAGE)
        unlinkat(server->directory, name, 0);
    snprintf(name, sizeof(name), "%" PRIu32 "-0" SPOOL_UNRECORDED_SUFFIX, request->pid);
    if (symlinkat(spool_failure_words(request->failure), server->directory, name) != 0 && errno != EEXIST)
        server->unnoted++;
}

/* Sends REPLY and, unless it is -1, the descriptor FD. */
static void answer(int client, struct spool_reply *reply, int fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec data = {reply, sizeof(*reply)};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        control.head =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    }
    ssize_t sent = sendmsg(client, &message, MSG_NOSIGNAL);
    (void)sent; /* it fails if the process no longer waits or has ended */
}

static void serve_one(struct spool_server *server, int client)
{
    struct spool_request request;
    struct spool_reply reply = {.image = SPOOL_NO_IMAGE};
    struct timeval limit = {.tv_usec = LIMIT_US};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (recv(client, &request, sizeof(request), 0) != (ssize_t)sizeof(request) ||
        memcmp(request.token, server->token, sizeof(server->token)) != 0)
        return; /* not a process of this run */
    int fd = -1;
    if (request.failure)
        note_unrecorded(server, &request);
    else if ((fd = make_file(server, request.pid, &reply.image)) < 0)
        reply.failure = errno;
    else
        spool_lock_take(fd); /* the lock goes with the descriptor, so the process counts as a writer from now on */
    answer(client, &reply, fd);
    if (fd >= 0)
        close(fd);
}

static void *serve(void *context)
{
    struct spool_server *server = context;
    prctl(PR_SET_NAME, "gputrace-spools", 0, 0, 0);
    while (!__atomic_load_n(&server->stop, __ATOMIC_ACQUIRE)) {
        int client = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0) {
            serve_one(server, client);
            close(client);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            usleep(LIMIT_US); /* until descriptors or memory are free again */
        } else if (errno != EINTR && errno != ECONNABORTED) {
            break;
        }
    }
    return NULL;
}

/* --- begin and end --- */

static int open_all(struct spool_server *server, const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint64_t random[3]; /* for a name and a token that cannot be guessed */
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -1;
    snprintf(server->name, sizeof(server->name), "gputrace-%016" PRIx64, random[0]);
    snprintf(server->token, sizeof(server->token), "%016" PRIx64 "%016" PRIx64, random[1], random[2]);
    snprintf(server->address, sizeof(server->address), "%s:%s", server->name, server->token);
    server->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    server->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (server->directory < 0 || server->socket < 0)
        return -1;
    memcpy(address.sun_path + 1, server->name, strlen(server->name));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(server->name));
    if (bind(server->socket, (struct sockaddr *)&address, size) != 0)
        return -1;
    return listen(server->socket, BACKLOG);
}

static void release(struct spool_server *server)
{
    if (server->socket >= 0)
        close(server->socket);
    if (server->directory >= 0)
        close(server->directory);
    free(server);
}

struct spool_server *spool_server_start(const char *directory)
{
    struct spool_server *server = calloc(1, sizeof(*server));
    if (!server)
        return NULL;
    server->socket = server->directory = -1;
    if (open_all(server, directory) == 0 && threads_start(&server->thread, 1, serve, server) == 1)
        return server;
    int failure = errno;
    release(server);
    errno = failure;
    return NULL;
}

const char *spool_server_address(const struct spool_server *server)
{
    return server->address;
}

unsigned spool_server_stop(struct spool_server *server)
{
    if (!server)
        return 0;
    __atomic_store_n(&server->stop, true, __ATOMIC_RELEASE);
    shutdown(server->socket, SHUT_RDWR); /* wakes accept4() */
    pthread_join(server->thread, NULL);
    unsigned unnoted = server->unnoted;
    release(server);
    return unnoted;
}
