/*
 * A buffered byte output to a file descriptor, or to memory.
 *
 * Errors are sticky, like stdio's: after a write or an allocation has failed, everything else is dropped, and
 * buffer_finish() returns errno of the first failure. So writers check once, at the end.
 */
#ifndef GPUTRACE_COMMON_BUFFER_H
#define GPUTRACE_COMMON_BUFFER_H

#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>

struct buffer {
    char *data;      /* bytes not written yet */
    size_t length;   /* bytes of data in use */
    size_t capacity; /* bytes of data allocated */
    uint64_t total;  /* bytes written so far */
    int failure;     /* errno of the first failure; 0: none */
    /* Writes SIZE bytes. Returns 0, or -1 with errno set. NULL for a buffer in memory, which grows instead. */
    int (*drain)(void *context, const char *data, size_t size);
    void *context;
};

/* Initialises a buffer in memory: data[0..length) is the result. Release it with buffer_release(). */
void buffer_init_memory(struct buffer *buffer);

/* Initialises a buffer that passes blocks of about 256 KiB to DRAIN. Release it with buffer_release(). */
void buffer_init(struct buffer *buffer, int (*drain)(void *context, const char *data, size_t size), void *context);

/* The usual drain: CONTEXT is a file descriptor cast to a pointer (BUFFER_FD). */
int buffer_drain_fd(void *context, const char *data, size_t size);
#define BUFFER_FD(fd) ((void *)(intptr_t)(fd))

/* Drains the buffered bytes. Returns 0, or the errno of the first failure. */
int buffer_finish(struct buffer *buffer);
void buffer_release(struct buffer *buffer);

/* Slow path of buffer_reserve. */
char *buffer_grow(struct buffer *buffer, size_t size);

/* Returns space for SIZE more bytes, which buffer_advance() claims, or NULL after a failure. */
static inline char *buffer_reserve(struct buffer *buffer, size_t size)
{
    if (buffer->data && buffer->capacity - buffer->length >= size)
        return buffer->data + buffer->length;
    return buffer_grow(buffer, size);
}

static inline void buffer_advance(struct buffer *buffer, size_t size)
{
    buffer->length += size;
}

static inline void buffer_bytes(struct buffer *buffer, const void *bytes, size_t size)
{
    char *space = buffer_reserve(buffer, size);
    if (space) {
        memcpy(space, bytes, size);
        buffer->length += size;
    }
}

static inline void buffer_text(struct buffer *buffer, const char *text)
{
    buffer_bytes(buffer, text, strlen(text));
}

static inline void buffer_char(struct buffer *buffer, char c)
{
    buffer_bytes(buffer, &c, 1);
}

void buffer_u64(struct buffer *buffer, uint64_t value);
void buffer_i64(struct buffer *buffer, int64_t value);
void buffer_format(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vformat(struct buffer *buffer, const char *format, va_list args);

/* Returns *LENGTH bytes of TEXT as valid UTF-8, with U+FFFD for invalid bytes: TEXT itself if it is valid, otherwise a
 * copy in SCRATCH, a buffer in memory, which is overwritten. Sets *LENGTH to the length of the result. */
const char *buffer_valid_text(struct buffer *scratch, const char *text, size_t *length);

#endif
