/*
 * A buffered byte output to a file descriptor, or to memory.
 *
 * Errors are sticky, like stdio's: once a write or an allocation failed, everything after is dropped, and
 * sink_finish() tells errno of the first failure. So writers check once, at the end.
 */
#ifndef GPUTRACE_COMMON_SINK_H
#define GPUTRACE_COMMON_SINK_H

#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>

struct sink {
    char *data;      /* bytes not handed on yet */
    size_t length;   /* of data in use */
    size_t capacity; /* of data */
    uint64_t total;  /* bytes handed on so far */
    int failure;     /* errno of the first failure, 0 while there was none */
    /* Takes SIZE bytes; gives 0, or -1 with errno set. NULL for a sink that grows in memory. */
    int (*drain)(void *context, const char *data, size_t size);
    void *context;
};

/* A sink in memory: data[0..length) is the result. Release with sink_release(). */
void sink_init_memory(struct sink *sink);

/* A sink that hands blocks of some 256 KiB to DRAIN. Release with sink_release(). */
void sink_init(struct sink *sink, int (*drain)(void *context, const char *data, size_t size), void *context);

/* The usual drain: CONTEXT is a file descriptor cast to a pointer (SINK_FD). */
int sink_drain_fd(void *context, const char *data, size_t size);
#define SINK_FD(fd) ((void *)(intptr_t)(fd))

/* Hands on what is buffered. Gives 0, or the errno of the first failure. */
int sink_finish(struct sink *sink);
void sink_release(struct sink *sink);

/* Slow path of sink_reserve. */
char *sink_make_room(struct sink *sink, size_t size);

/* Room for SIZE more bytes, to be claimed with sink_advance(); NULL after a failure. */
static inline char *sink_reserve(struct sink *sink, size_t size)
{
    if (sink->data && sink->capacity - sink->length >= size)
        return sink->data + sink->length;
    return sink_make_room(sink, size);
}

static inline void sink_advance(struct sink *sink, size_t size)
{
    sink->length += size;
}

static inline void sink_bytes(struct sink *sink, const void *bytes, size_t size)
{
    char *room = sink_reserve(sink, size);
    if (room) {
        memcpy(room, bytes, size);
        sink->length += size;
    }
}

static inline void sink_text(struct sink *sink, const char *text)
{
    sink_bytes(sink, text, strlen(text));
}

static inline void sink_char(struct sink *sink, char c)
{
    sink_bytes(sink, &c, 1);
}

void sink_u64(struct sink *sink, uint64_t value);
void sink_i64(struct sink *sink, int64_t value);
void sink_format(struct sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sink_vformat(struct sink *sink, const char *format, va_list args);

#endif
