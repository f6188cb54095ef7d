/*
 * Opens the temporary file, passes the buffer's bytes through the compression of the format, and renames the file at
 * the end. Parts that several threads write are temporary files that are appended in order.
 */
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/memory.h"
#include "common/text.h"
#include "trace/pftrace/packets.h"
#include "trace/sqlite/database.h"

/* --- the formats of files --- */

static const struct file_format formats[] = {
#define FORMAT(ending, what, ...) {ending, __VA_ARGS__},
    FILE_FORMATS(FORMAT)
#undef FORMAT
};
#define FORMATS (sizeof(formats) / sizeof(*formats))

static const struct file_format other = {"", FILE_EVENTS, PACKING_NONE, &chrome_json};
static const struct file_format other_gzip = {".gz", FILE_EVENTS, PACKING_MEMBERS, &chrome_json};

const struct file_format *file_format_of(const char *path)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (text_ends_with(path, formats[i].ending))
            return &formats[i];
    return text_ends_with(path, other_gzip.ending) ? &other_gzip : &other;
}

bool file_format_is_known(const char *name)
{
    const struct file_format *format = file_format_of(name);
    return format != &other && format != &other_gzip && strlen(name) > strlen(format->ending);
}

const char *file_format_words(char text[FILE_FORMAT_WORDS], bool events_only)
{
    size_t wanted = 0, put = 0, length = 0;
    for (size_t i = 0; i < FORMATS; i++)
        wanted += !events_only || formats[i].content == FILE_EVENTS;
    for (size_t i = 0; i < FORMATS; i++) {
        if (events_only && formats[i].content != FILE_EVENTS)
            continue;
        put++;
        length += (size_t)snprintf(text + length, FILE_FORMAT_WORDS - length, "%s%s", formats[i].ending,
                                   put + 1 < wanted ? ", "
                                   : put < wanted   ? " or "
                                                    : "");
    }
    return text;
}

/* --- a file --- */

/* The name of the temporary file that is being written; NULL: none. */
static const char *volatile unfinished;

static int write_packed(struct output *output)
{
    return buffer_drain_fd(BUFFER_FD(output->fd), output->packed.data, output->packed.length);
}

/* Writes one block of the buffer as independent members. */
static int members_drain(void *context, const char *data, size_t size)
{
    struct output *output = context;
    output->packed.length = 0;
    return gzip_members(output->gzip, &output->packed, data, size) != 0 ? -1 : write_packed(output);
}

/* Writes the complete sections of `held`. ALL: the last section is complete, too. */
static int write_sections(struct output *output, bool all)
{
    struct buffer *held = &output->held;
    size_t done;
    output->packed.length = 0;
    if (pftrace_compress(output->gzip, &output->packed, held->data, held->length, all, &done) != 0 ||
        write_packed(output) != 0)
        return -1;
    held->length -= done;
    if (held->length > 0)
        memmove(held->data, held->data + done, held->length);
    return 0;
}

static int sections_drain(void *context, const char *data, size_t size)
{
    struct output *output = context;
    buffer_bytes(&output->held, data, size);
    errno = output->held.failure;
    return output->held.failure ? -1 : write_sections(output, false);
}

/* SQLite opens the file by its name, which must still be our file. */
static int set_up_database(struct output *output, const char *path)
{
    if (!output->temporary)
        return error("cannot write '%s': a database must be a regular file", path);
    struct stat ours, opened;
    output->database = database_open(output->temporary);
    buffer_init_memory(&output->buffer);
    if (!output->database)
        return -1;
    if (fstat(output->fd, &ours) != 0 || lstat(output->temporary, &opened) != 0 || ours.st_ino != opened.st_ino ||
        ours.st_dev != opened.st_dev)
        return error("cannot write '%s': it became another file", output->temporary);
    return 0;
}

static int set_up_sink(struct output *output, const char *path)
{
    enum file_packing packing = file_format_of(path)->packing;
    if (packing == PACKING_DATABASE && output->is_part)
        return error("cannot write '%s': a database is not written in parts", path);
    if (packing == PACKING_DATABASE)
        return set_up_database(output, path);
    bool members = packing == PACKING_MEMBERS;
    if (packing == PACKING_NONE) {
        buffer_init(&output->buffer, buffer_drain_fd, BUFFER_FD(output->fd));
        return 0;
    }
    buffer_init(&output->buffer, members ? members_drain : sections_drain, output);
    buffer_init_memory(&output->packed);
    buffer_init_memory(&output->held);
    output->gzip = gzip_new(members ? GZIP_MEMBERS : GZIP_STREAMS);
    return output->gzip ? 0 : -1;
}

/* Writes everything that went through the buffer. Returns 0, or errno of the first failure. */
static int finish_sink(struct output *output)
{
    int failure = buffer_finish(&output->buffer);
    if (failure == 0 && output->held.length > 0 && write_sections(output, true) != 0)
        failure = errno;
    return failure;
}

#define NAMES_MAX 100 /* the most names of temporary files that are tried */

/* Returns the type in st_mode of the file PATH, without following links; 0 if there is none. */
static mode_t type_of(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

/* Opens a temporary file. Never uses an existing name, which may be a link or the file of an earlier process with this
 * pid. */
static int open_temporary(struct output *output, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int most = NAME_MAX - 32 /* for the suffix */, kept = (int)(name - path) + (int)strnlen(name, (size_t)most);
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        free(output->temporary);
        if (asprintf(&output->temporary, "%.*s.%ld-%u.tmp", kept, path, (long)getpid(), i) < 0) {
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
    int result = error("cannot write '%s': %m", path);
    free(output->temporary); /* not ours, so it is not removed */
    output->temporary = NULL;
    return result;
}

static int open_file(struct output *output, const char *path)
{
    errno = 0;
    mode_t type = type_of(path);
    if (errno == ENAMETOOLONG)
        return error("cannot write '%s': %m", path);
    if (type == S_IFLNK)
        return error("cannot write '%s': it is a symbolic link; name the file that it leads to", path);
    if (type == 0 || type == S_IFREG)
        return open_temporary(output, path);
    /* A device, a pipe or a socket cannot be replaced by renaming. The type is checked again, as somebody may have put
     * a link to a file there since type_of(). */
    struct stat status;
    output->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    if (output->fd < 0 || fstat(output->fd, &status) != 0)
        return error("cannot write '%s': %m", path);
    return S_ISREG(status.st_mode) ? error("cannot write '%s': it became another file", path) : 0;
}

static void release(struct output *output)
{
    database_free(output->database);
    gzip_free(output->gzip);
    buffer_release(&output->packed);
    buffer_release(&output->held);
    buffer_release(&output->buffer);
    if (output->fd >= 0)
        close(output->fd);
    if (output->temporary == unfinished)
        unfinished = NULL;
    free(output->temporary);
    free(output->path);
    *output = (struct output){.fd = -1};
}

int output_try(const char *path)
{
    struct output output = {.fd = -1};
    int result = open_file(&output, path);
    output_discard(&output);
    return result;
}

int output_open(struct output *output, const char *path)
{
    *output = (struct output){.fd = -1, .path = strdup(path)};
    int result = output->path ? open_file(output, path) : error_no_memory("a file name");
    result = result ?: set_up_sink(output, path);
    if (result != 0)
        output_discard(output);
    return result;
}

void output_open_stream(struct output *output, int (*drain)(void *context, const char *data, size_t size),
                        void *context)
{
    *output = (struct output){.fd = -1, .is_stream = true};
    buffer_init(&output->buffer, drain, context);
}

int output_open_part(struct output *part, const struct output *whole)
{
    *part = (struct output){.fd = -1, .is_part = true, .path = strdup(whole->path)};
    if (!part->path)
        return error_no_memory("a file name");
    char *name = strdup(part->path), *end = name ? strrchr(name, '/') : NULL;
    if (end)
        end[end == name] = '\0';
    int fd = name ? temporary_file_open(end ? name : ".") : -1;
    free(name);
    part->fd = fd >= 0 ? fd : temporary_file_open(temporary_directory());
    int result = part->fd >= 0 ? set_up_sink(part, part->path) : error("cannot make a temporary file: %m");
    if (result != 0)
        output_discard(part);
    return result;
}

static int cannot_write(const struct output *output, int failure)
{
    if ((output->is_stream || output->database) && failure == ECANCELED)
        return -1;
    errno = failure;
    return error("cannot write '%s': %m", output->path ? output->path : "a stream");
}

int output_put(struct output *output, const struct output_block *block)
{
    const struct buffer *bytes = output->gzip ? &block->packed : &block->text;
    int failure = finish_sink(output);
    if (failure == 0)
        failure = bytes->failure;
    if (failure == 0 && bytes->length > 0 &&
        (output->is_stream ? output->buffer.drain(output->buffer.context, bytes->data, bytes->length)
                           : buffer_drain_fd(BUFFER_FD(output->fd), bytes->data, bytes->length)) != 0)
        failure = errno;
    output->buffer.total += block->text.length;
    return failure ? cannot_write(output, failure) : 0;
}

int output_end_part(struct output *part)
{
    int failure = finish_sink(part);
    if (failure == 0 && lseek(part->fd, 0, SEEK_SET) != 0)
        failure = errno;
    return failure ? cannot_write(part, failure) : 0;
}

#define COPIED_BYTES ((size_t)1 << 20)

static int copy_file(int from, int to)
{
    ssize_t size = -1;
    char *bytes = malloc(COPIED_BYTES);
    if (!bytes)
        errno = ENOMEM;
    while (bytes && (size = read(from, bytes, COPIED_BYTES)) > 0)
        if (buffer_drain_fd(BUFFER_FD(to), bytes, (size_t)size) != 0) {
            size = -1;
            break;
        }
    free(bytes);
    return size == 0 ? 0 : -1;
}

int output_put_part(struct output *output, struct output *part)
{
    int failure = finish_sink(output);
    if (failure == 0 && copy_file(part->fd, output->fd) != 0)
        failure = errno;
    output->buffer.total += part->buffer.total;
    return failure ? cannot_write(output, failure) : 0;
}

static int write_rest(struct output *output)
{
    int failure = finish_sink(output);
    bool empty = output->buffer.total == 0; /* a .gz file has at least one member */
    if (failure == 0 && empty && output->buffer.drain == members_drain && members_drain(output, "", 0) != 0)
        failure = errno;
    return failure ? cannot_write(output, failure) : 0;
}

static int put_in_place(struct output *output)
{
    int fd = output->fd;
    output->fd = -1;
    if (close(fd) != 0)
        return cannot_write(output, errno);
    mode_t type = type_of(output->path);
    if (output->temporary && type != 0 && type != S_IFREG)
        return error("cannot write '%s': it became something that is not a regular file", output->path);
    if (output->temporary && output->place)
        return output->place(output->place_context, output->temporary);
    if (output->temporary && rename(output->temporary, output->path) != 0)
        return error("cannot rename '%s' to '%s': %m", output->temporary, output->path);
    return 0;
}

int output_commit(struct output *output, uint64_t *bytes)
{
    struct stat status = {0};
    if (output->is_stream) {
        int result = write_rest(output);
        *bytes = output->buffer.total;
        release(output);
        return result;
    }
    if (write_rest(output) != 0 || (output->database && database_finish(output->database) != 0) ||
        fstat(output->fd, &status) != 0 || put_in_place(output) != 0) {
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

void output_block_init(struct output_block *block)
{
    buffer_init_memory(&block->text);
    buffer_init_memory(&block->packed);
}

void output_block_release(struct output_block *block)
{
    buffer_release(&block->text);
    buffer_release(&block->packed);
}

void output_block_clear(struct output_block *block)
{
    block->text.length = block->packed.length = 0;
}

void output_block_pack(struct output_block *block, struct gzip *gzip)
{
    const struct buffer *text = &block->text;
    size_t done;
    int result = 0;
    if (gzip && text->length > 0 && !text->failure)
        result = gzip_form(gzip) == GZIP_MEMBERS
                     ? gzip_members(gzip, &block->packed, text->data, text->length)
                     : pftrace_compress(gzip, &block->packed, text->data, text->length, true, &done);
    if (result != 0)
        block->packed.failure = errno;
    if (text->failure)
        block->packed.failure = text->failure;
}
