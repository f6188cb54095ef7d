#include "tool/write/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/log.h"

enum {
    GZIP_WINDOW = 15 + 16, /* the largest window, and gzip's own header */
    GZIP_LEVEL = 3,        /* traces compress tenfold at any level; higher ones cost more time than they save */
    GZIP_MEMORY = 9,
};

/* Of the file that is being written; NULL: none is. */
static const char *volatile unfinished;

struct compressor {
    z_stream stream;
    int fd;
    unsigned char out[64 * 1024];
};

static int compress_block(struct compressor *compressor, const char *data, size_t size, int flush)
{
    compressor->stream.next_in = (unsigned char *)(uintptr_t)data;
    compressor->stream.avail_in = (uInt)size;
    do {
        compressor->stream.next_out = compressor->out;
        compressor->stream.avail_out = sizeof(compressor->out);
        if (deflate(&compressor->stream, flush) == Z_STREAM_ERROR) {
            errno = EIO;
            return -1;
        }
        size_t made = sizeof(compressor->out) - compressor->stream.avail_out;
        if (sink_drain_fd(SINK_FD(compressor->fd), (const char *)compressor->out, made) != 0)
            return -1;
    } while (compressor->stream.avail_out == 0);
    return 0;
}

static int compress_drain(void *context, const char *data, size_t size)
{
    const size_t most = 1u << 30; /* zlib counts in 32 bits */
    for (; size > most; data += most, size -= most)
        if (compress_block(context, data, most, Z_NO_FLUSH) != 0)
            return -1;
    return compress_block(context, data, size, Z_NO_FLUSH);
}

static bool wants_gzip(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

static int set_up_sink(struct output *output, const char *path)
{
    if (!wants_gzip(path)) {
        sink_init(&output->sink, sink_drain_fd, SINK_FD(output->fd));
        return 0;
    }
    output->compressor = calloc(1, sizeof(*output->compressor));
    if (!output->compressor)
        return error_no_memory("compression");
    output->compressor->fd = output->fd;
    sink_init(&output->sink, compress_drain, output->compressor);
    if (deflateInit2(&output->compressor->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        free(output->compressor);
        output->compressor = NULL;
        return error_no_memory("compression");
    }
    return 0;
}

#define NAMES_MAX 100 /* of temporary files that are tried */

/* A device, a pipe or a socket (/dev/stdout, >(…)) cannot be replaced by renaming. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Between the look and the opening somebody may have put a link to a file there. */
static int open_special(struct output *output, const char *path)
{
    struct stat status;
    output->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (output->fd < 0 || fstat(output->fd, &status) != 0)
        return error("cannot write '%s': %m", path);
    return S_ISREG(status.st_mode) ? error("cannot write '%s': it became another file", path) : 0;
}

/* A name that is taken is never used, be it a link or what an earlier process of this number left. */
static int open_temporary(struct output *output, const char *path)
{
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        free(output->temporary);
        if (asprintf(&output->temporary, "%s.%ld-%u.tmp", path, (long)getpid(), i) < 0) {
            output->temporary = NULL;
            return error_no_memory("a file name");
        }
        output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (output->fd >= 0) {
            unfinished = output->temporary;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    int result = error("cannot write '%s': %m", output->temporary);
    free(output->temporary); /* not ours to remove */
    output->temporary = NULL;
    return result;
}

static int open_file(struct output *output, const char *path)
{
    return is_special(path) ? open_special(output, path) : open_temporary(output, path);
}

static void release(struct output *output)
{
    if (output->compressor) {
        deflateEnd(&output->compressor->stream);
        free(output->compressor);
    }
    sink_release(&output->sink);
    if (output->fd >= 0)
        close(output->fd);
    unfinished = NULL;
    free(output->temporary);
    free(output->path);
    *output = (struct output){.fd = -1};
}

int output_open(struct output *output, const char *path)
{
    *output = (struct output){.fd = -1, .path = strdup(path)};
    int result = output->path ? open_file(output, path) : error_no_memory("a file name");
    if (result == 0)
        result = set_up_sink(output, path);
    if (result != 0)
        output_discard(output);
    return result;
}

static int write_rest(struct output *output)
{
    int failure = sink_finish(&output->sink);
    if (failure == 0 && output->compressor && compress_block(output->compressor, NULL, 0, Z_FINISH) != 0)
        failure = errno;
    if (failure != 0) {
        errno = failure;
        return error("cannot write '%s': %m", output->temporary ? output->temporary : output->path);
    }
    return 0;
}

static int put_in_place(struct output *output)
{
    int fd = output->fd;
    output->fd = -1;
    if (close(fd) != 0)
        return error("cannot write '%s': %m", output->temporary ? output->temporary : output->path);
    if (output->temporary && rename(output->temporary, output->path) != 0)
        return error("cannot rename '%s' to '%s': %m", output->temporary, output->path);
    return 0;
}

int output_commit(struct output *output, uint64_t *bytes)
{
    struct stat status = {0};
    if (write_rest(output) != 0 || fstat(output->fd, &status) != 0 || put_in_place(output) != 0) {
        output_discard(output);
        return -1;
    }
    *bytes = (uint64_t)status.st_size;
    release(output);
    return 0;
}

void output_abandon(void)
{
    if (unfinished)
        unlink(unfinished);
}

void output_discard(struct output *output)
{
    if (output->temporary)
        unlink(output->temporary);
    release(output);
}
