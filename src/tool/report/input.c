#include "tool/report/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/log.h"

#define WINDOW_BYTES ((size_t)1024 * 1024)
#define GZIP_BUFFER_BYTES (256 * 1024)

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
        return error("'%s' is a directory: expected a trace file (.json or .json.gz)", path);
    }
    return fd;
}

int input_open(struct input *input, const char *path)
{
    *input = (struct input){.path = strcmp(path, "-") == 0 ? "standard input" : path};
    int fd = open_file(path);
    if (fd < 0)
        return -1;
    input->file = gzdopen(fd, "rb");
    if (!input->file) {
        close(fd);
        return error_no_memory("reading a trace");
    }
    gzbuffer(input->file, GZIP_BUFFER_BYTES);
    return 0;
}

void input_close(struct input *input)
{
    if (input->file)
        gzclose_r(input->file);
    free(input->data);
    *input = (struct input){0};
}

/* Room for at least as much again as is left in the window. */
static int make_room(struct input *input)
{
    size_t left = input_left(input);
    if (left > 0)
        memmove(input->data, input_text(input), left);
    input->start = 0;
    input->length = left;
    if (input->capacity - left >= left && input->capacity - left >= WINDOW_BYTES / 2)
        return 0;
    if (left >= INPUT_WINDOW_LIMIT)
        return input_error(input, 0, "a value of more than %zu MiB: expected events, each far smaller",
                           INPUT_WINDOW_LIMIT >> 20);
    size_t capacity = input->capacity ? input->capacity * 2 : WINDOW_BYTES;
    char *data = realloc(input->data, capacity);
    if (!data)
        return error_no_memory("a window of the trace");
    input->data = data;
    input->capacity = capacity;
    return 0;
}

bool input_more(struct input *input, int *status)
{
    if (input->ended || *status < 0)
        return false;
    if ((*status = make_room(input)) < 0)
        return false;
    int got = gzread(input->file, input->data + input->length, (unsigned)(input->capacity - input->length));
    int code = Z_OK;
    const char *message = gzerror(input->file, &code);
    if (got < 0 || (got == 0 && code == Z_BUF_ERROR)) {
        if (code == Z_ERRNO)
            *status = error("cannot read '%s': %s", input->path, strerror(errno));
        else
            *status =
                error("'%s' is damaged or cut off: gzip says '%s'; expected a whole .json.gz", input->path, message);
        return false;
    }
    input->ended = got == 0;
    input->length += (size_t)got;
    return got > 0;
}

static uint64_t count_lines(const char *text, size_t size)
{
    uint64_t count = 0;
    const char *end = text + size;
    for (const char *line = text; size > 0 && (line = memchr(line, '\n', (size_t)(end - line))); line++)
        count++;
    return count;
}

void input_advance(struct input *input, size_t size)
{
    input->lines += count_lines(input_text(input), size);
    input->offset += size;
    input->start += size;
}

int input_error(const struct input *input, size_t ahead, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return error("'%s', line %" PRIu64 " (byte %" PRIu64 "): %s", input->path,
                 input->lines + count_lines(input_text(input), ahead) + 1, input->offset + ahead, message);
}
