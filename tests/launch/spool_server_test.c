#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/run_directory.h"
#include "common/spool.h"

static char directory[256];
static struct spool_server *server;

UNIT_FIXTURE(begin)
{
    snprintf(directory, sizeof(directory), "%s", unit_directory());
    server = spool_server_start(directory);
    return server ? 0 : -1;
}

UNIT_FIXTURE(end)
{
    unit_remove(directory);
    return 0;
}

static struct spool_request request_of(uint32_t pid, uint32_t image, int failure)
{
    struct spool_request request = {.pid = pid, .image = image, .failure = failure};
    snprintf(request.token, sizeof(request.token), "%s", strchr(spool_server_address(server), ':') + 1);
    return request;
}

/* The bytes of the reply, 0 when the server hangs up; FD is the descriptor that came with it, or -1. */
static ssize_t ask(const struct spool_request *request, struct spool_reply *reply, int *fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = spool_server_address(server);
    size_t length = strcspn(name, ":");
    memcpy(address.sun_path + 1, name, length);
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    assert_int_equal(connect(client, (struct sockaddr *)&address, size), 0);
    assert_int_equal(send(client, request, sizeof(*request), 0), sizeof(*request));
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {reply, sizeof(*reply)};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(client, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *part = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *fd = -1;
    if (part)
        memcpy(fd, CMSG_DATA(part), sizeof(*fd));
    close(client);
    return got;
}

static int file(const char *name, struct stat *status)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return lstat(path, status);
}

UNIT_TEST_WITH(a_process_gets_a_file_of_its_own, begin, end)
{
    struct stat got, there;
    for (uint32_t image = 0; image < 3; image++) {
        struct spool_request request = request_of(17, SPOOL_NO_IMAGE, 0);
        struct spool_reply reply;
        char name[64];
        int fd;
        assert_int_equal(ask(&request, &reply, &fd), sizeof(reply));
        assert_int_equal(reply.failure, 0);
        assert_int_equal(reply.image, image);
        snprintf(name, sizeof(name), "17-%u.spool", image);
        assert_int_equal(fstat(fd, &got), 0);
        assert_int_equal(file(name, &there), 0);
        assert_int_equal(got.st_ino, there.st_ino);
        assert_int_equal(there.st_mode & 0777, 0600);
        assert_int_equal(write(fd, "x", 1), 1);
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", directory, name);
        int again = open(path, O_RDONLY);
        assert_true(spool_lock_is_held(again));
        close(fd);
        /* The server closes its own once it has sent it. */
        for (unsigned tries = 0; tries < 1000 && spool_lock_is_held(again); tries++)
            usleep(1000);
        assert_false(spool_lock_is_held(again));
        close(again);
    }
    assert_int_equal(spool_server_stop(server), 0);
}

UNIT_TEST_WITH(who_does_not_know_the_token_gets_nothing, begin, end)
{
    struct spool_request request = request_of(17, SPOOL_NO_IMAGE, 0);
    struct spool_reply reply;
    struct stat status;
    int fd;
    request.token[0] ^= 1;
    assert_true(ask(&request, &reply, &fd) <= 0);
    assert_int_not_equal(file("17-0.spool", &status), 0);
    request.failure = EACCES;
    assert_true(ask(&request, &reply, &fd) <= 0);
    assert_int_not_equal(file("17-0.unrecorded", &status), 0);
    assert_int_equal(spool_server_stop(server), 0);
}

UNIT_TEST_WITH(a_report_leaves_a_note_in_place_of_the_file, begin, end)
{
    struct spool_request request = request_of(17, SPOOL_NO_IMAGE, 0);
    struct spool_reply reply;
    struct stat status;
    int fd;
    assert_int_equal(ask(&request, &reply, &fd), sizeof(reply));
    close(fd);
    request = request_of(17, reply.image, ENOSPC);
    assert_int_equal(ask(&request, &reply, &fd), sizeof(reply));
    assert_int_equal(fd, -1);
    assert_int_not_equal(file("17-0.spool", &status), 0);
    assert_int_equal(file("17-0.unrecorded", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(spool_server_stop(server), 0);
}

UNIT_TEST_WITH(a_report_without_a_directory_is_counted, begin, end)
{
    struct spool_request request = request_of(17, SPOOL_NO_IMAGE, 0);
    struct spool_reply reply;
    int fd;
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(ask(&request, &reply, &fd), sizeof(reply));
    assert_int_equal(reply.failure, ENOENT);
    assert_int_equal(fd, -1);
    request.failure = EACCES;
    assert_int_equal(ask(&request, &reply, &fd), sizeof(reply));
    assert_int_equal(spool_server_stop(server), 1);
}

UNIT_MAIN(NULL, NULL)
