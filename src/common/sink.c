#include "common/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/number.h"

#define BLOCK_BYTES (256 * 1024)

void sink_init_memory(struct sink *sink)
{
    *sink = (struct sink){0};
}

void sink_init(struct sink *sink, int (*drain)(void *, const char *, size_t), void *context)
{
    *sink = (struct sink){.drain = drain, .context = context};
}

void sink_release(struct sink *sink)
{
    free(sink->data);
    *sink = (struct sink){0};
}

int sink_drain_fd(void *context, const char *data, size_t size)
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

static void hand_on(struct sink *sink)
{
    if (sink->length > 0 && !sink->failure && sink->drain(sink->context, sink->data, sink->length) != 0)
        sink->failure = errno ? errno : EIO;
    sink->total += sink->length;
    sink->length = 0;
}

int sink_finish(struct sink *sink)
{
    if (sink->drain)
        hand_on(sink);
    return sink->failure;
}

char *sink_make_room(struct sink *sink, size_t size)
{
    if (sink->drain)
        hand_on(sink);
    if (sink->failure)
        return NULL;
    size_t wanted = sink->length + size;
    if (wanted > sink->capacity || !sink->data) {
        size_t capacity = sink->capacity ? sink->capacity * 2 : sink->drain ? BLOCK_BYTES : 256;
        if (capacity < wanted)
            capacity = wanted;
        char *data = realloc(sink->data, capacity);
        if (!data) {
            sink->failure = ENOMEM;
            return NULL;
        }
        sink->data = data;
        sink->capacity = capacity;
    }
    return sink->data + sink->length;
}

void sink_u64(struct sink *sink, uint64_t value)
{
    char *room = sink_reserve(sink, NUMBER_ROOM);
    if (room)
        sink->length += (size_t)(number_u64(room, value) - room);
}

void sink_i64(struct sink *sink, int64_t value)
{
    char *room = sink_reserve(sink, NUMBER_ROOM);
    if (room)
        sink->length += (size_t)(number_i64(room, value) - room);
}

void sink_vformat(struct sink *sink, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *room = length < 0 ? NULL : sink_reserve(sink, (size_t)length + 1);
    if (room) {
        vsnprintf(room, (size_t)length + 1, format, again);
        sink_advance(sink, (size_t)length);
    }
    va_end(again);
}

void sink_format(struct sink *sink, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sink_vformat(sink, format, args);
    va_end(args);
}
