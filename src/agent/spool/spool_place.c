/*
 * Creates the spool file in the run's directory, or asks the launcher for it through a socket where a sandbox hides the
 * directory. Its descriptor has a high number and is checked before use, because programs close descriptors that they
 * do not know.
 */
#include "agent/spool/spool_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/spool.h"
#include "common/threads.h"

#define HIGH 512
/* The number in a process with threads: before the kernel enlarges a table shared by threads beyond 64 descriptors, it
 * waits ten milliseconds for all processors. */
#define HIGH_WITH_THREADS 48

/* Descriptors below this are closed one by one if the kernel has no close_range(). */
#define TABLE_MAX 65536

/* Descriptors of devices are only looked for below this number: they are opened early. */
#define DEVICES_BELOW 1024

/* Moves FD to a number so high that the program will not get it for a file of its own. Returns the number, FD itself if
 * it cannot be moved. */
static int moved_high(int fd)
{
    struct rlimit limit;
    rlim_t wanted = thread_is_alone() ? HIGH : HIGH_WITH_THREADS;
    bool fits = getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 2 * wanted;
    int from = (int)(fits ? wanted : limit.rlim_cur / 2);
    int high = fcntl(fd, F_DUPFD_CLOEXEC, from);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* Takes over FD, a file created under PATH, perhaps by another process where PATH has another meaning. Returns 0, or -1
 * with errno set and FD closed. */
static int descriptor_adopt(struct descriptor *descriptor, int fd, const char *path)
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

/* Whether FD is a descriptor of the file. Fills in *STATUS. */
static bool reads_status(const struct descriptor *descriptor, int fd, struct stat *status)
{
    return fd >= 0 && fstat(fd, status) == 0 && status->st_dev == descriptor->device &&
           status->st_ino == descriptor->inode;
}

bool descriptor_is_ours(const struct descriptor *descriptor)
{
    struct stat status;
    return reads_status(descriptor, descriptor->fd, &status);
}

bool descriptor_is_removed(const struct descriptor *descriptor)
{
    struct stat status;
    return reads_status(descriptor, descriptor->fd, &status) && status.st_nlink == 0;
}

int descriptor_use(struct descriptor *descriptor)
{
    if (descriptor_is_ours(descriptor))
        return descriptor->fd;
    descriptor->fd = -1;
    int fd = open(descriptor->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    struct stat status;
    if (!reads_status(descriptor, fd, &status)) {
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

/* Linux before 5.9, and older sandboxes, have no close_range(): there the thread gets a copy of the table and closes
 * everything in it. The program's file locks belong to its table, and stay. */
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

bool descriptor_any_device(const char *prefix)
{
    struct stat status;
    char name[32], path[PATH_MAX];
    for (int fd = 0; fd < DEVICES_BELOW; fd++) {
        if (fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode))
            continue;
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, path, sizeof(path));
        if (length >= (ssize_t)strlen(prefix) && memcmp(path, prefix, strlen(prefix)) == 0)
            return true;
    }
    return false;
}

/* --- the launcher --- */

/* How long the program may wait for a launcher that does not answer. */
#define LIMIT_S 1

static struct {
    const char *server; /* NULL if there is no launcher to ask */
    uint32_t image;     /* image number of the file that the launcher created; SPOOL_NO_IMAGE: none */
} place = {.image = SPOOL_NO_IMAGE};

void spool_place_set_server(const char *server)
{
    place.server = server && *server ? server : NULL;
}

/* --- asking the launcher --- */

/* Connects to the launcher and fills in the token of REQUEST. Returns the socket, or -1 with errno set. */
static int connect_server(struct spool_request *request)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *colon = place.server ? strchr(place.server, ':') : NULL;
    size_t length = colon ? (size_t)(colon - place.server) : 0;
    if (length == 0 || length >= SPOOL_SERVER_NAME_MAX || strlen(colon + 1) >= sizeof(request->token)) {
        errno = ENOTCONN;
        return -1;
    }
    memcpy(address.sun_path + 1, place.server, length);
    memcpy(request->token, colon + 1, strlen(colon + 1));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct timeval limit = {.tv_sec = LIMIT_S};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    if (connect(fd, (struct sockaddr *)&address, size) == 0)
        return fd;
    int failure = errno;
    close(fd);
    errno = failure;
    return -1;
}

/* Sends REQUEST and receives the reply. Returns 0, with the received descriptor or -1 in *FD, or -1 with errno set. */
static int ask(struct spool_request *request, struct spool_reply *reply, int *fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {reply, sizeof(*reply)};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    int server = connect_server(request);
    if (server < 0)
        return -1;
    ssize_t got =
        send(server, request, sizeof(*request), MSG_NOSIGNAL) < 0 ? -1 : recvmsg(server, &message, MSG_CMSG_CLOEXEC);
    int failure = got < 0 ? errno : EPROTO;
    close(server);
    *fd = -1;
    for (struct cmsghdr *head = got < 0 ? NULL : CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
            memcpy(fd, CMSG_DATA(head), sizeof(*fd));
    if (got == (ssize_t)sizeof(*reply))
        return 0;
    if (*fd >= 0)
        close(*fd);
    errno = failure;
    return -1;
}

static int make_by_launcher(const char *directory, struct descriptor *descriptor)
{
    struct spool_request request = {.pid = (uint32_t)getpid(), .image = SPOOL_NO_IMAGE};
    struct spool_reply reply = {0};
    char path[PATH_MAX];
    int fd = -1, own = errno;
    if (ask(&request, &reply, &fd) != 0 || reply.failure || fd < 0) {
        errno = errno == ECONNREFUSED ? ECONNREFUSED : own;
        return -1;
    }
    place.image = reply.image;
    snprintf(path, sizeof(path), "%s/%u-%u" SPOOL_SUFFIX, directory, request.pid, reply.image);
    return descriptor_adopt(descriptor, fd, path);
}

/* --- the file --- */

/* Creates the file under the first free name: a pid runs several images, and pids are reused. */
static int make_in(const char *directory, struct descriptor *descriptor)
{
    for (unsigned image = 0; image < 10000; image++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof(path), "%s/%d-%u" SPOOL_SUFFIX, directory, (int)getpid(), image);
        if (length < 0 || (size_t)length >= sizeof(path)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (descriptor_create(descriptor, path) == 0)
            return 0;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

int spool_place_make(const char *directory, struct descriptor *descriptor)
{
    place.image = SPOOL_NO_IMAGE;
    if (make_in(directory, descriptor) == 0)
        return 0;
    /* The launcher may help if the directory cannot be reached or written to. */
    static const int helpful[] = {EACCES, EPERM, EROFS, ENOENT, ENOTDIR, ELOOP};
    for (size_t i = 0; i < sizeof(helpful) / sizeof(*helpful); i++)
        if (errno == helpful[i])
            return make_by_launcher(directory, descriptor);
    return -1;
}

void spool_place_remove(struct descriptor *descriptor)
{
    int saved = errno;
    /* The launcher itself removes a file that it created, when the process is reported as not recorded. */
    unlink(descriptor->path);
    descriptor_close(descriptor);
    errno = saved;
}

void spool_place_note_unrecorded(const char *directory, int failure)
{
    struct spool_request request = {.pid = (uint32_t)getpid(), .image = place.image, .failure = failure};
    struct spool_reply reply;
    char path[PATH_MAX];
    int fd, length = snprintf(path, sizeof(path), "%s/%d-0" SPOOL_UNRECORDED_SUFFIX, directory, (int)getpid());
    bool made = length > 0 && (size_t)length < sizeof(path) && symlink(spool_failure_words(failure), path) == 0;
    if (!made && failure != ECONNREFUSED && ask(&request, &reply, &fd) == 0 && fd >= 0)
        close(fd);
    errno = failure;
}
