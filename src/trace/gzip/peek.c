#include "trace/gzip/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#define STREAM_BYTES 4096 /* that are looked at */
#define TRIES 200         /* to unpack the first byte of what has come through a pipe, at intervals of */
#define INTERVAL_US 10000

/* Takes FD, and closes it. */
static size_t unpack(int fd, char *bytes, size_t size)
{
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return 0;
    }
    int got = gzread(file, bytes, (unsigned)size);
    gzclose(file);
    return got > 0 ? (size_t)got : 0;
}

/* A pipe with what waits in FD, a pipe or socket, which keeps it. -1: there is nothing, or FD is neither. */
static int duplicate(int fd)
{
    int ends[2];
    char bytes[STREAM_BYTES];
    ssize_t got;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    while ((got = tee(fd, ends[1], sizeof(bytes), 0)) < 0 && errno == EINTR)
        ;
    if (got < 0 && (got = recv(fd, bytes, sizeof(bytes), MSG_PEEK)) > 0)
        got = write(ends[1], bytes, (size_t)got);
    close(ends[1]);
    if (got > 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* The first bytes of a stream may be a part of gzip's header alone. */
static size_t peek_stream(int fd, char *bytes, size_t size)
{
    size_t length = 0;
    for (int tries = 0; length == 0 && tries < TRIES; tries++) {
        int copy = duplicate(fd);
        if (copy < 0)
            return 0;
        length = unpack(copy, bytes, size);
        if (length == 0)
            usleep(INTERVAL_US);
    }
    return length;
}

/* FD's offset stays as it is. */
static size_t peek_file(int fd, char *bytes, size_t size)
{
    off_t offset = lseek(fd, 0, SEEK_CUR);
    int copy = offset < 0 ? -1 : dup(fd);
    size_t length = copy < 0 ? 0 : unpack(copy, bytes, size);
    if (copy >= 0)
        lseek(fd, offset, SEEK_SET);
    return length;
}

static bool may_be_opened(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && (S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode));
}

/* The FIFO that was peeked into last. Opened again, it would wait for another writer, and have lost what was in it. */
static struct {
    char path[PATH_MAX];
    int fd; /* -1: none */
} kept = {.fd = -1};

static void keep(const char *path, int fd)
{
    if (kept.fd >= 0)
        close(kept.fd);
    kept.fd = fd;
    snprintf(kept.path, sizeof(kept.path), "%s", path);
}

int peek_take_fifo(const char *path)
{
    if (kept.fd < 0 || strcmp(kept.path, path) != 0)
        return -1;
    int fd = kept.fd;
    kept.fd = -1;
    return fd;
}

size_t peek(const char *path, char *bytes, size_t size)
{
    struct stat facts = {0};
    bool is_stdin = strcmp(path, "-") == 0;
    if (!is_stdin && !may_be_opened(path))
        return 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    if (fd >= 0)
        fstat(fd, &facts);
    if (S_ISREG(facts.st_mode))
        length = peek_file(fd, bytes, size);
    else if (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode))
        length = peek_stream(fd, bytes, size);
    if (!is_stdin && S_ISFIFO(facts.st_mode))
        keep(path, fd);
    else if (fd >= 0 && !is_stdin)
        close(fd);
    return length;
}
