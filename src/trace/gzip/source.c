#include "trace/gzip/source.h"

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

#include "common/log.h"
#include "trace/gzip/unpacking.h"

#define GZIP_BUFFER_BYTES (64 * 1024)
#define GZIP_READ_MOST ((size_t)1 << 30) /* zlib gives an int of bytes at once */

static int open_file(const char *path)
{
    struct stat facts;
    if (strcmp(path, "-") == 0) {
        int copy = dup(STDIN_FILENO);
        return copy < 0 ? error("cannot read standard input: %s", strerror(errno)) : copy;
    }
    int fd = peek_take_fifo(path);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error("cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        close(fd);
        return error("'%s' is a directory without a spool: expected a trace file or a spool", path);
    }
    return fd;
}

/* Whatever the file is from OFFSET on; that of a pipe is -1. False: it cannot be read, and is closed. */
static bool read_plainly(struct source *source, off_t offset)
{
    if (offset < 0 || lseek(source->fd, offset, SEEK_SET) == offset)
        source->file = gzdopen(source->fd, "rb");
    if (!source->file)
        close(source->fd);
    else
        gzbuffer(source->file, GZIP_BUFFER_BYTES);
    return source->file != NULL;
}

int source_open(struct source *source, const char *path, unsigned workers)
{
    *source = (struct source){0};
    int fd = open_file(path);
    if (fd < 0)
        return -1;
    off_t offset = lseek(fd, 0, SEEK_CUR); /* stdin may have one */
    source->fd = fd;
    source->unpacking = offset >= 0 ? unpacking_begin(fd, (uint64_t)offset, workers) : NULL;
    if (!source->unpacking && !read_plainly(source, offset))
        return error_no_memory("reading a trace");
    source->path = strcmp(path, "-") == 0 ? "standard input" : path;
    return 0;
}

void source_close(struct source *source)
{
    if (source->unpacking) {
        unpacking_end(source->unpacking);
        close(source->fd);
    }
    if (source->file)
        gzclose_r(source->file);
    *source = (struct source){0};
}

/* zlib puts its own name of the file before its words: "<fd:4>: ". */
static const char *words_of(const char *message)
{
    const char *after = strncmp(message, "<fd:", 4) == 0 ? strstr(message, ">: ") : NULL;
    return after ? after + 3 : message;
}

static void note_failure(struct source *source, struct source_failure *failure)
{
    int number = errno, code = Z_OK;
    const char *message = words_of(gzerror(source->file, &code));
    failure->failed = true;
    failure->cut_off = code == Z_BUF_ERROR;
    failure->number = code == Z_ERRNO ? number : 0;
    snprintf(failure->message, sizeof(failure->message), "%s", message);
}

/* What stands at OFFSET, behind members, is passed over by gzip unless a member begins there. */
static bool is_no_member(int fd, uint64_t offset)
{
    unsigned char begin[2];
    ssize_t got = pread(fd, begin, sizeof(begin), (off_t)offset);
    return got >= 0 && (got < 2 || begin[0] != 0x1f || begin[1] != 0x8b);
}

static void go_on_plainly(struct source *source, struct source_failure *failure)
{
    uint64_t offset = unpacking_end(source->unpacking);
    source->unpacking = NULL;
    if (is_no_member(source->fd, offset))
        close(source->fd);
    else if (!read_plainly(source, (off_t)offset))
        *failure = (struct source_failure){.failed = true, .number = ENOMEM};
}

static size_t read_unpacked(struct source *source, char *data, size_t size, struct source_failure *failure)
{
    size_t length = 0;
    while (length < size) {
        if (source->left == 0 && !unpacking_next(source->unpacking, &source->text, &source->left)) {
            go_on_plainly(source, failure);
            break;
        }
        size_t part = source->left < size - length ? source->left : size - length;
        if (part > 0)
            memcpy(data + length, source->text, part);
        source->text += part;
        source->left -= part;
        length += part;
    }
    return length;
}

size_t source_read(struct source *source, char *data, size_t size, struct source_failure *failure)
{
    size_t length = source->unpacking ? read_unpacked(source, data, size, failure) : 0;
    while (source->file && length < size) {
        int code = Z_OK;
        size_t part = size - length < GZIP_READ_MOST ? size - length : GZIP_READ_MOST;
        int got = gzread(source->file, data + length, (unsigned)part);
        length += got > 0 ? (size_t)got : 0;
        if (got < 0 || (got == 0 && (gzerror(source->file, &code), code == Z_BUF_ERROR)))
            note_failure(source, failure);
        if (got <= 0)
            break;
    }
    return length;
}

int source_error(const struct source *source, const struct source_failure *failure)
{
    if (failure->number)
        return error("cannot read '%s': %s", source->path, strerror(failure->number));
    return error("'%s' is damaged or cut off: gzip says '%s'; expected a whole .gz file", source->path,
                 failure->message);
}

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
