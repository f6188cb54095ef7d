/*
 * Compresses with libdeflate. Each member has its own size in an extra field of its header, so that readers find the
 * next one without unpacking. Reads plain files and other programs' gzip files through zlib, and the members of our own
 * files through libdeflate. Bytes of a pipe that were read to find its format stay readable.
 */
#include "trace/gzip/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libdeflate.h>
#include <zlib.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/memory.h"

/* Levels of libdeflate, chosen by a PyTorch trace. Members: level 6 gives 12.2 : 1 at 259 MB/s (zlib's 5: 11.4 : 1 at
 * 193 MB/s; members of 64 KiB, which bgzip could index, 10.5 : 1). */
enum {
    GZIP_LEVEL = 6,
    STREAM_LEVEL = 5,
    UNPACKED_USUAL = 6, /* first guess of the ratio of a stream */
    GZIP_OS_UNIX = 3,
};

struct gzip {
    enum gzip_form form;
    struct libdeflate_compressor *compressor;
};

struct gzip *gzip_new(enum gzip_form form)
{
    struct gzip *gzip = calloc(1, sizeof(*gzip));
    if (gzip && (gzip->compressor = libdeflate_alloc_compressor(form == GZIP_MEMBERS ? GZIP_LEVEL : STREAM_LEVEL))) {
        gzip->form = form;
        return gzip;
    }
    free(gzip);
    error_no_memory("compression");
    return NULL;
}

void gzip_free(struct gzip *gzip)
{
    if (gzip)
        libdeflate_free_compressor(gzip->compressor);
    free(gzip);
}

enum gzip_form gzip_form(const struct gzip *gzip)
{
    return gzip->form;
}

/* Returns space for MOST bytes in OUT, or NULL with errno set. */
static uint8_t *reserve(struct buffer *out, size_t most)
{
    char *space = buffer_reserve(out, most);
    if (!space)
        errno = out->failure;
    return (uint8_t *)space;
}

/* A header: deflate, with an extra field only; time, level and system; the field: its size, its name, and 4 bytes for
 * the size of the member, which follow. */
static const uint8_t usual_head[MEMBER_SIZE_AT] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, GZIP_OS_UNIX, 8, 0, 'G', 'T', 4, 0};
enum { HEAD_BEGIN_SIZE = 4, HEAD_FIELD_AT = 10 };

static void write_u32(uint8_t *at, size_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

size_t member_size(const uint8_t *head)
{
    if (memcmp(head, usual_head, HEAD_BEGIN_SIZE) != 0 ||
        memcmp(head + HEAD_FIELD_AT, usual_head + HEAD_FIELD_AT, sizeof(usual_head) - HEAD_FIELD_AT) != 0)
        return 0;
    const uint8_t *at = head + MEMBER_SIZE_AT;
    size_t size = at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
    return size > MEMBER_HEAD_SIZE + MEMBER_TAIL_SIZE && size <= MEMBER_SIZE_MOST ? size : 0;
}

static int one_member(struct gzip *gzip, struct buffer *out, const char *data, size_t size)
{
    size_t most = libdeflate_deflate_compress_bound(gzip->compressor, size);
    uint8_t *space = reserve(out, MEMBER_HEAD_SIZE + most + MEMBER_TAIL_SIZE);
    if (!space)
        return -1;
    size_t packed = libdeflate_deflate_compress(gzip->compressor, data, size, space + MEMBER_HEAD_SIZE, most);
    size_t made = MEMBER_HEAD_SIZE + packed + MEMBER_TAIL_SIZE;
    memcpy(space, usual_head, sizeof(usual_head));
    write_u32(space + MEMBER_SIZE_AT, made);
    write_u32(space + made - 8, libdeflate_crc32(0, data, size));
    write_u32(space + made - 4, size);
    buffer_advance(out, made);
    return 0;
}

int gzip_members(struct gzip *gzip, struct buffer *out, const char *data, size_t size)
{
    for (; size > MEMBER_TEXT_MOST; data += MEMBER_TEXT_MOST, size -= MEMBER_TEXT_MOST)
        if (one_member(gzip, out, data, MEMBER_TEXT_MOST) != 0)
            return -1;
    return one_member(gzip, out, data, size);
}

int gzip_stream(struct gzip *gzip, struct buffer *out, const char *data, size_t size)
{
    size_t most = libdeflate_zlib_compress_bound(gzip->compressor, size);
    uint8_t *space = reserve(out, most);
    if (!space)
        return -1;
    buffer_advance(out, libdeflate_zlib_compress(gzip->compressor, data, size, space, most));
    return 0;
}

int gzip_unpack_stream(struct buffer *out, const uint8_t *data, size_t size, size_t most)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    enum libdeflate_result result = LIBDEFLATE_INSUFFICIENT_SPACE;
    size_t used = 0, length = 0;
    out->length = 0;
    errno = ENOMEM;
    if (!decompressor)
        return -1;
    for (size_t space = UNPACKED_USUAL * (size + 64); result == LIBDEFLATE_INSUFFICIENT_SPACE; space *= 2) {
        space = space < most ? space : most;
        char *at = buffer_reserve(out, space);
        if (!at)
            break;
        result = libdeflate_zlib_decompress_ex(decompressor, data, size, at, space, &used, &length);
        if (space == most)
            break;
    }
    libdeflate_free_decompressor(decompressor);
    bool whole = result == LIBDEFLATE_SUCCESS && used == size && length < most;
    if (whole)
        buffer_advance(out, length);
    errno = out->failure ? out->failure : EBADMSG;
    return whole ? 0 : -1;
}

/* --- the first bytes of a file --- */

#define STREAM_BYTES 4096 /* bytes of a stream that are copied to find its format */
#define TRIES 200         /* attempts to unpack the first byte of a stream */
#define INTERVAL_US 10000 /* between two attempts */

/* Reads the first bytes of FD, unpacked, and closes FD. Returns their number. */
static size_t unpack_first(int fd, char *bytes, size_t size)
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

/* Returns a pipe with a copy of the bytes that wait in FD, a pipe or socket; -1 if none do, or FD is neither. */
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

/* Repeats: the first bytes of a stream may be only a part of gzip's header. */
static size_t peek_stream(int fd, char *bytes, size_t size)
{
    size_t length = 0;
    for (int tries = 0; length == 0 && tries < TRIES; tries++) {
        int copy = duplicate(fd);
        if (copy < 0)
            return 0;
        length = unpack_first(copy, bytes, size);
        if (length == 0)
            usleep(INTERVAL_US);
    }
    return length;
}

/* The FIFO that peek() opened last. Opening it again would wait for another writer, and lose its bytes. */
static struct {
    char path[PATH_MAX];
    int fd; /* -1: none */
} kept = {.fd = -1};

/* Returns the descriptor of that FIFO, which the caller then owns, or -1 if PATH is another file. */
static int take_fifo(const char *path)
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
    if (!is_stdin && (stat(path, &facts) != 0 || !(S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode))))
        return 0;
    int fd = is_stdin ? STDIN_FILENO : take_fifo(path); /* a FIFO may have no writer any more */
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    if (fd < 0)
        return 0;
    fstat(fd, &facts);
    if (S_ISREG(facts.st_mode)) { /* the file's offset must not change */
        off_t offset = lseek(fd, 0, SEEK_CUR);
        int copy = offset < 0 ? -1 : dup(fd);
        length = copy < 0 ? 0 : unpack_first(copy, bytes, size);
        if (copy >= 0)
            lseek(fd, offset, SEEK_SET);
    } else if (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)) {
        length = peek_stream(fd, bytes, size);
    }
    if (!is_stdin && S_ISFIFO(facts.st_mode)) {
        if (kept.fd >= 0)
            close(kept.fd);
        kept.fd = fd;
        snprintf(kept.path, sizeof(kept.path), "%s", path);
    } else if (!is_stdin) {
        close(fd);
    }
    return length;
}

/* --- members of our own files --- */

/*
 * Our members have their size in the header, so libdeflate unpacks each of them at once, in less than half of zlib's
 * time. The text is used only if the member fills exactly that size and gzip's checksum is right. From the first member
 * that fails this on, zlib reads the rest like any gzip file and reports errors. So the text does not depend on the
 * sizes in headers.
 */
struct member_reader {
    struct libdeflate_decompressor *decompressor;
    uint64_t next;       /* offset in the file of the member after the one in `text` */
    size_t used, length; /* bytes of `text`: those that were read, and all */
    uint8_t packed[MEMBER_SIZE_MOST];
    char text[MEMBER_TEXT_MOST];
};

/* Unpacks the next member to `text`. Returns false if there is no member of ours, or a damaged one. */
static bool unpack_next(int fd, struct member_reader *members)
{
    uint8_t *packed = members->packed;
    size_t size = file_read_at(fd, packed, MEMBER_HEAD_SIZE, members->next) ? member_size(packed) : 0, unpacked = 0;
    if (size == 0 || !file_read_at(fd, packed, size, members->next) ||
        libdeflate_gzip_decompress_ex(members->decompressor, packed, size, members->text, MEMBER_TEXT_MOST, &unpacked,
                                      &members->length) != LIBDEFLATE_SUCCESS ||
        unpacked != size)
        return false;
    members->next += size;
    members->used = 0;
    return true;
}

static void members_free(struct member_reader *members)
{
    if (members)
        libdeflate_free_decompressor(members->decompressor);
    free(members);
}

/* Returns NULL if no member of ours begins at OFFSET (-1 for a pipe), or without memory. */
static struct member_reader *members_open(int fd, off_t offset)
{
    uint8_t head[MEMBER_HEAD_SIZE];
    if (offset < 0 || !file_read_at(fd, head, sizeof(head), (uint64_t)offset) || member_size(head) == 0)
        return NULL;
    struct member_reader *members = malloc(sizeof(*members));
    if (!members)
        return NULL;
    members->decompressor = libdeflate_alloc_decompressor();
    members->next = (uint64_t)offset;
    members->used = members->length = 0;
    if (members->decompressor)
        return members;
    members_free(members);
    return NULL;
}

/* --- a file from start to end --- */

#define GZIP_BUFFER_BYTES (64 * 1024)
#define GZIP_READ_MOST ((size_t)1 << 30) /* bytes per call: gzread() returns an int */

static int open_file(const char *path)
{
    struct stat facts;
    if (strcmp(path, "-") == 0) {
        int copy = dup(STDIN_FILENO);
        return copy < 0 ? error("cannot read standard input: %s", strerror(errno)) : copy;
    }
    int fd = take_fifo(path);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error("cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        close(fd);
        return error(
            "'%s' is a directory without a spool: expected one trace; 'gputrace report' and 'gputrace merge' read all "
            "traces in a directory",
            path);
    }
    return fd;
}

/* Lets zlib read the rest from OFFSET (-1 for a pipe), gzip or not. Returns false, with the file closed, on failure. */
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

int source_open(struct source *source, const char *path)
{
    *source = (struct source){0};
    int fd = open_file(path);
    if (fd < 0)
        return -1;
    off_t offset = lseek(fd, 0, SEEK_CUR); /* stdin may have one */
    source->fd = fd;
    source->members = members_open(fd, offset);
    if (!source->members && !read_plainly(source, offset))
        return error_no_memory("reading a trace");
    source->path = strcmp(path, "-") == 0 ? "standard input" : path;
    return 0;
}

void source_close(struct source *source)
{
    if (source->members)
        close(source->fd);
    members_free(source->members);
    if (source->file)
        gzclose_r(source->file);
    *source = (struct source){0};
}

static size_t read_members(struct source *source, char *data, size_t size, struct source_failure *failure)
{
    struct member_reader *members = source->members;
    size_t length = 0;
    while (length < size) {
        if (members->used == members->length && !unpack_next(source->fd, members)) {
            off_t offset = (off_t)source->members->next;
            unsigned char begin[2];
            ssize_t got = pread(source->fd, begin, sizeof(begin), offset);
            members_free(source->members);
            source->members = NULL;
            /* Bytes behind the last member are ignored, as gzip does, unless a member begins there. */
            if (got >= 0 && (got < 2 || begin[0] != 0x1f || begin[1] != 0x8b))
                close(source->fd);
            else if (!read_plainly(source, offset))
                *failure = (struct source_failure){.failed = true, .number = ENOMEM};
            break;
        }
        size_t left = members->length - members->used, part = left < size - length ? left : size - length;
        memcpy(data + length, members->text + members->used, part);
        members->used += part;
        length += part;
    }
    return length;
}

size_t source_read(struct source *source, char *data, size_t size, struct source_failure *failure)
{
    size_t length = source->members ? read_members(source, data, size, failure) : 0;
    while (source->file && length < size) {
        int code = Z_OK;
        size_t part = size - length < GZIP_READ_MOST ? size - length : GZIP_READ_MOST;
        int got = gzread(source->file, data + length, (unsigned)part);
        length += got > 0 ? (size_t)got : 0;
        if (got < 0 || (got == 0 && (gzerror(source->file, &code), code == Z_BUF_ERROR))) {
            int number = errno;
            const char *message = gzerror(source->file, &code);
            /* Skips zlib's name of the file. */
            const char *after = strncmp(message, "<fd:", 4) == 0 ? strstr(message, ">: ") : NULL;
            failure->failed = true;
            failure->cut_off = code == Z_BUF_ERROR;
            failure->number = code == Z_ERRNO ? number : 0;
            snprintf(failure->message, sizeof(failure->message), "%s", after ? after + 3 : message);
        }
        if (got <= 0)
            break;
    }
    return length;
}

uint64_t source_packed(const struct source *source)
{
    z_off_t offset = source->file ? gzoffset(source->file) : 0;
    return source->members ? source->members->next : offset > 0 ? (uint64_t)offset : 0;
}

int source_error(const struct source *source, const struct source_failure *failure)
{
    if (failure->number)
        return error("cannot read '%s': %s", source->path, strerror(failure->number));
    return error("'%s' is damaged or cut off: gzip says '%s'; expected a whole .gz file", source->path,
                 failure->message);
}
