/*
 * Listens on an abstract socket for processes whose sandbox hides the spool directory, makes their file and sends its
 * descriptor back.
 */
#include "launch/spool_server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/threads.h"
#include "common/spool.h"

#define BACKLOG 128
/* A connection that sends nothing may hold up the others for so long. */
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

/* A file for the spool of PID: its descriptor and, in IMAGE, its number; -1 with errno set. */
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

/* Notes a process that is not recorded, as it would have done itself. */
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

/* Sends REPLY, and FD with it unless that is -1. */
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
    (void)sent; /* the process waits no longer, or is gone */
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
        return; /* somebody else's */
    int fd = -1;
    if (request.failure)
        note_unrecorded(server, &request);
    else if ((fd = make_file(server, request.pid, &reply.image)) < 0)
        reply.failure = errno;
    else
        spool_lock_take(fd); /* passed on with the descriptor: from now on the process counts as a writer */
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
            usleep(LIMIT_US); /* until there is space */
        } else if (errno != EINTR && errno != ECONNABORTED) {
            break;
        }
    }
    return NULL;
}

/* --- begin and end --- */

/* Random names, which cannot be guessed. */
static int name_server(struct spool_server *server)
{
    uint64_t random[3];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -1;
    snprintf(server->name, sizeof(server->name), "gputrace-%016" PRIx64, random[0]);
    snprintf(server->token, sizeof(server->token), "%016" PRIx64 "%016" PRIx64, random[1], random[2]);
    snprintf(server->address, sizeof(server->address), "%s:%s", server->name, server->token);
    return 0;
}

static int open_all(struct spool_server *server, const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (name_server(server) != 0)
        return -1;
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
