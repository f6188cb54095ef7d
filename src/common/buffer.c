/*
 * Buffers grow in memory, or are drained when they are full. Numbers are written without printf(), which is too slow
 * for traces of millions of events.
 */
#include "common/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/text.h"

#define BLOCK_BYTES (256 * 1024)

void buffer_init_memory(struct buffer *buffer)
{
    *buffer = (struct buffer){0};
}

void buffer_init(struct buffer *buffer, int (*drain)(void *, const char *, size_t), void *context)
{
    *buffer = (struct buffer){.drain = drain, .context = context};
}

void buffer_release(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}

int buffer_drain_fd(void *context, const char *data, size_t size)
{
    int fd = (int)(intptr_t)context;
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static void hand_on(struct buffer *buffer)
{
    if (buffer->length > 0 && !buffer->failure && buffer->drain(buffer->context, buffer->data, buffer->length) != 0)
        buffer->failure = errno ? errno : EIO;
    buffer->total += buffer->length;
    buffer->length = 0;
}

int buffer_finish(struct buffer *buffer)
{
    if (buffer->drain)
        hand_on(buffer);
    return buffer->failure;
}

char *buffer_grow(struct buffer *buffer, size_t size)
{
    if (buffer->drain)
        hand_on(buffer);
    if (buffer->failure)
        return NULL;
    size_t wanted = buffer->length + size;
    if (wanted > buffer->capacity || !buffer->data) {
        size_t capacity = buffer->capacity ? buffer->capacity * 2 : buffer->drain ? BLOCK_BYTES : 256;
        if (capacity < wanted)
            capacity = wanted;
        char *data = realloc(buffer->data, capacity);
        if (!data) {
            buffer->failure = ENOMEM;
            return NULL;
        }
        buffer->data = data;
        buffer->capacity = capacity;
    }
    return buffer->data + buffer->length;
}

void buffer_u64(struct buffer *buffer, uint64_t value)
{
    char *space = buffer_reserve(buffer, NUMBER_SPACE);
    if (space)
        buffer->length += (size_t)(number_u64(space, value) - space);
}

void buffer_i64(struct buffer *buffer, int64_t value)
{
    char *space = buffer_reserve(buffer, NUMBER_SPACE);
    if (space)
        buffer->length += (size_t)(number_i64(space, value) - space);
}

void buffer_vformat(struct buffer *buffer, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *space = length < 0 ? NULL : buffer_reserve(buffer, (size_t)length + 1);
    if (space) {
        vsnprintf(space, (size_t)length + 1, format, again);
        buffer_advance(buffer, (size_t)length);
    }
    va_end(again);
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buffer_vformat(buffer, format, args);
    va_end(args);
}

const char *buffer_valid_text(struct buffer *scratch, const char *text, size_t *length)
{
    size_t valid = 0, size;
    while (valid < *length && ((signed char)text[valid] >= 0 || utf8_size(text + valid, *length - valid) > 0))
        valid += (signed char)text[valid] >= 0 ? 1 : utf8_size(text + valid, *length - valid);
    if (valid == *length)
        return text;
    scratch->length = 0;
    for (size_t at = 0; at < *length; at += size ? size : 1) {
        size = utf8_size(text + at, *length - at);
        if (size > 0)
            buffer_bytes(scratch, text + at, size);
        else
            buffer_text(scratch, UTF8_REPLACEMENT);
    }
    *length = scratch->length;
    return scratch->data ? scratch->data : "";
}
