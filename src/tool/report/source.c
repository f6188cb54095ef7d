#include "tool/report/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/log.h"

#define GZIP_BUFFER_BYTES (64 * 1024)

static int open_file(const char *path)
{
    struct stat facts;
    if (strcmp(path, "-") == 0) {
        int copy = dup(STDIN_FILENO);
        return copy < 0 ? error("cannot read standard input: %s", strerror(errno)) : copy;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error("cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        close(fd);
        return error("'%s' is a directory without a spool: expected a trace file (.json or .json.gz) or a spool", path);
    }
    return fd;
}

int source_open(struct source *source, const char *path)
{
    *source = (struct source){.path = strcmp(path, "-") == 0 ? "standard input" : path};
    int fd = open_file(path);
    if (fd < 0)
        return -1;
    source->file = gzdopen(fd, "rb");
    if (!source->file) {
        close(fd);
        return error_no_memory("reading a trace");
    }
    gzbuffer(source->file, GZIP_BUFFER_BYTES);
    return 0;
}

void source_close(struct source *source)
{
    if (source->file)
        gzclose_r(source->file);
    *source = (struct source){0};
}

static void note_failure(struct source *source, struct source_failure *failure)
{
    int number = errno, code = Z_OK;
    const char *message = gzerror(source->file, &code);
    failure->failed = true;
    failure->number = code == Z_ERRNO ? number : 0;
    snprintf(failure->message, sizeof(failure->message), "%s", message);
}

size_t source_read(struct source *source, char *data, size_t size, struct source_failure *failure)
{
    size_t length = 0;
    while (length < size) {
        int code = Z_OK;
        int got = gzread(source->file, data + length, (unsigned)(size - length));
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
    return error("'%s' is damaged or cut off: gzip says '%s'; expected a whole .json.gz", source->path,
                 failure->message);
}
