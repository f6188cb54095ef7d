/*
 * Reads plain files, gzip files of others through zlib, and gzip files of ours with several threads, since their
 * members say where the next begins. What was read of a pipe to find its format is kept.
 */
#include "trace/gzip/source.h"

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

#include "common/log.h"
#include "common/memory.h"
#include "common/threads.h"
#include "trace/gzip/gzip.h"

/* --- the first bytes of a file --- */

#define STREAM_BYTES 4096 /* of a stream that are looked at */
#define TRIES 200         /* to unpack the first byte of a stream, at intervals of */
#define INTERVAL_US 10000

/* Closes FD. */
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

/* Returns a pipe with a copy of what waits in FD, a pipe or socket; -1: nothing does, or FD is neither. */
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

/* The first bytes of a stream may be only a part of gzip's header. */
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

/* Leaves FD's offset as it is. */
static size_t peek_file(int fd, char *bytes, size_t size)
{
    off_t offset = lseek(fd, 0, SEEK_CUR);
    int copy = offset < 0 ? -1 : dup(fd);
    size_t length = copy < 0 ? 0 : unpack_first(copy, bytes, size);
    if (copy >= 0)
        lseek(fd, offset, SEEK_SET);
    return length;
}

/* The FIFO that peek() opened last. If it were opened again it would wait for another writer and have lost its bytes.
 */
static struct {
    char path[PATH_MAX];
    int fd; /* -1: none */
} kept = {.fd = -1};

/* The descriptor of that FIFO, the caller's from now on; -1 when PATH is not that FIFO. */
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
    int fd = is_stdin ? STDIN_FILENO : take_fifo(path); /* which nobody may write to any more */
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    if (fd < 0)
        return 0;
    fstat(fd, &facts);
    if (S_ISREG(facts.st_mode))
        length = peek_file(fd, bytes, size);
    else if (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode))
        length = peek_stream(fd, bytes, size);
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

/* --- members, unpacked by threads --- */

enum {
    THREADS_MOST = 8, /* more would wait for the reader of the text */
    WORKERS_LEAST = 3,
};

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { FILE_LEAST = 0 };
#else
enum { FILE_LEAST = 128 << 10 }; /* smaller ones are read before threads have begun */
#endif

struct slot {
    uint64_t offset;        /* of the member in the file */
    size_t size, length;    /* of the member, of its text */
    uint8_t *packed, *text; /* MEMBER_TEXT_MOST bytes of text */
    size_t packed_space;
};

struct unpacking {
    int fd;
    uint64_t next; /* offset of the member that is begun next */
    uint64_t end;  /* offset behind the last member that was given */
    unsigned slot_count;
    struct slot *slots;
    struct libdeflate_decompressor *decompressors[THREADS_MOST];
    struct ordered_run *run;
};

/* The size of the member of ours at OFFSET; 0: there is none. */
static size_t find_member(int fd, uint64_t offset)
{
    uint8_t head[MEMBER_HEAD_SIZE];
    return file_read_at(fd, head, sizeof(head), offset) ? member_size(head) : 0;
}

static bool read_packed(int fd, struct slot *slot)
{
    if (slot->packed_space < slot->size) {
        free(slot->packed);
        slot->packed = malloc(slot->size);
        slot->packed_space = slot->packed ? slot->size : 0;
    }
    return slot->packed && file_read_at(fd, slot->packed, slot->size, slot->offset);
}

/* libdeflate itself compares the checksum and the length. */
static bool unpack(int fd, struct slot *slot, struct libdeflate_decompressor *decompressor)
{
    size_t used = 0;
    if (!slot->text && !(slot->text = malloc(MEMBER_TEXT_MOST)))
        return false;
    return read_packed(fd, slot) &&
           libdeflate_gzip_decompress_ex(decompressor, slot->packed, slot->size, slot->text, MEMBER_TEXT_MOST, &used,
                                         &slot->length) == LIBDEFLATE_SUCCESS &&
           used == slot->size;
}

static int begin_member(void *context, size_t number, unsigned at)
{
    struct unpacking *unpacking = context;
    struct slot *slot = &unpacking->slots[at];
    (void)number;
    slot->offset = unpacking->next;
    slot->size = find_member(unpacking->fd, slot->offset);
    unpacking->next += slot->size;
    return slot->size > 0 ? 0 : 1;
}

static int make_text(void *context, size_t number, unsigned at, unsigned worker)
{
    struct unpacking *unpacking = context;
    struct libdeflate_decompressor **decompressor = &unpacking->decompressors[worker];
    (void)number;
    if (!*decompressor)
        *decompressor = libdeflate_alloc_decompressor();
    return *decompressor && unpack(unpacking->fd, &unpacking->slots[at], *decompressor) ? 0 : -1;
}

static bool is_worth_it(int fd, uint64_t offset)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || (uint64_t)facts.st_size < offset + FILE_LEAST)
        return false;
    size_t first = find_member(fd, offset);
    return first > 0 && find_member(fd, offset + first) > 0;
}

struct unpacking *unpacking_begin(int fd, uint64_t offset, unsigned workers)
{
    workers = ordered_loop_workers(workers, 2 * THREADS_MOST);
    struct unpacking *unpacking =
        workers >= WORKERS_LEAST && is_worth_it(fd, offset) ? calloc(1, sizeof(*unpacking)) : NULL;
    if (!unpacking)
        return NULL;
    struct ordered_loop loop = {.count = ORDERED_LOOP_UNKNOWN,
                                .workers = (workers + 1) / 2,
                                .begin = begin_member,
                                .make = make_text,
                                .context = unpacking};
    unpacking->fd = fd;
    unpacking->next = unpacking->end = offset;
    unpacking->slot_count = ordered_loop_slots(loop.workers);
    unpacking->slots = calloc(unpacking->slot_count, sizeof(*unpacking->slots));
    unpacking->run = unpacking->slots ? ordered_run_begin(&loop) : NULL;
    if (unpacking->run)
        return unpacking;
    unpacking_end(unpacking);
    return NULL;
}

bool unpacking_next(struct unpacking *unpacking, const char **text, size_t *size)
{
    unsigned at;
    if (ordered_run_next(unpacking->run, &at) != 0)
        return false;
    const struct slot *slot = &unpacking->slots[at];
    *text = (const char *)slot->text;
    *size = slot->length;
    unpacking->end = slot->offset + slot->size;
    return true;
}

uint64_t unpacking_end(struct unpacking *unpacking)
{
    uint64_t end = unpacking->end;
    if (unpacking->run)
        ordered_run_end(unpacking->run);
    for (unsigned i = 0; i < THREADS_MOST; i++)
        libdeflate_free_decompressor(unpacking->decompressors[i]);
    for (unsigned i = 0; unpacking->slots && i < unpacking->slot_count; i++) {
        free(unpacking->slots[i].packed);
        free(unpacking->slots[i].text);
    }
    free(unpacking->slots);
    free(unpacking);
    return end;
}

/* --- a file from start to end --- */

#define GZIP_BUFFER_BYTES (64 * 1024)
#define GZIP_READ_MOST ((size_t)1 << 30) /* zlib returns an int of bytes */

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

/* Reads on from OFFSET (-1 of a pipe), gzip or not, in this thread. False: the file cannot be read, and is closed. */
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

static void note_failure(struct source *source, struct source_failure *failure)
{
    int number = errno, code = Z_OK;
    const char *message = gzerror(source->file, &code);
    const char *after = strncmp(message, "<fd:", 4) == 0 ? strstr(message, ">: ") : NULL; /* zlib's name of the file */
    failure->failed = true;
    failure->cut_off = code == Z_BUF_ERROR;
    failure->number = code == Z_ERRNO ? number : 0;
    snprintf(failure->message, sizeof(failure->message), "%s", after ? after + 3 : message);
}

static void go_on_plainly(struct source *source, struct source_failure *failure)
{
    uint64_t offset = unpacking_end(source->unpacking);
    unsigned char begin[2];
    ssize_t got = pread(source->fd, begin, sizeof(begin), (off_t)offset);
    source->unpacking = NULL;
    /* gzip ignores what stands behind members, unless a member begins there. */
    if (got >= 0 && (got < 2 || begin[0] != 0x1f || begin[1] != 0x8b))
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

uint64_t source_packed(const struct source *source)
{
    z_off_t offset = source->file ? gzoffset(source->file) : 0;
    return source->unpacking ? source->unpacking->end : offset > 0 ? (uint64_t)offset : 0;
}

int source_error(const struct source *source, const struct source_failure *failure)
{
    if (failure->number)
        return error("cannot read '%s': %s", source->path, strerror(failure->number));
    return error("'%s' is damaged or cut off: gzip says '%s'; expected a whole .gz file", source->path,
                 failure->message);
}
