#include "tool/transcode/json_stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define WINDOW_BYTES ((size_t)1 << 20)

int json_stream_open(struct json_stream *stream, const char *path)
{
    *stream = (struct json_stream){.path = path, .capacity = WINDOW_BYTES};
    stream->window = malloc(stream->capacity);
    if (!stream->window)
        return error_no_memory("reading");
    if (source_open(&stream->source, path, 0) == 0)
        return 0;
    free(stream->window);
    return -1;
}

void json_stream_close(struct json_stream *stream)
{
    source_close(&stream->source);
    free(stream->window);
}

/* --- text --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '"')
            return at + 1;
    }
    return NULL;
}

static const char *skip_nested(const char *at, const char *end)
{
    size_t depth = 0;
    while (at && at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        depth += *at == '{' || *at == '[';
        if ((*at == '}' || *at == ']') && --depth == 0)
            return at + 1;
        at++;
    }
    return NULL;
}

const char *json_skip(const char *at, const char *end)
{
    if (at >= end)
        return NULL;
    if (*at == '"')
        return skip_string(at, end);
    if (*at == '{' || *at == '[')
        return skip_nested(at, end);
    while (at < end && !is_blank(*at) && !strchr(",]}:", *at))
        at++;
    return at < end ? at : NULL;
}

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

bool json_member(const char **at, const char *end, struct json_text *key, struct json_text *value)
{
    const char *from = skip_blank(*at, end), *to;
    if (from < end && *from == ',')
        from = skip_blank(from + 1, end);
    if (from >= end || *from != '"' || !(to = skip_string(from, end)))
        return false;
    *key = (struct json_text){from + 1, (size_t)(to - from) - 2};
    from = skip_blank(to, end);
    if (from >= end || *from != ':')
        return false;
    from = skip_blank(from + 1, end);
    to = json_skip(from, end);
    if (!to || to == from)
        return false;
    *value = (struct json_text){from, (size_t)(to - from)};
    *at = to;
    return true;
}

/* --- the file --- */

/* Reads more behind what is there. Gives 0, or -1 after error(). */
static int read_more(struct json_stream *stream)
{
    if (stream->begin > 0) {
        memmove(stream->window, stream->window + stream->begin, stream->end - stream->begin);
        stream->end -= stream->begin;
        stream->begin = 0;
    }
    if (stream->end == stream->capacity) {
        char *grown = realloc(stream->window, stream->capacity * 2);
        if (!grown)
            return error_no_memory("a value of the trace");
        stream->window = grown;
        stream->capacity *= 2;
    }
    struct source_failure failure = {0};
    size_t room = stream->capacity - stream->end;
    size_t got = source_read(&stream->source, stream->window + stream->end, room, &failure);
    if (failure.failed && !failure.cut_off)
        return source_error(&stream->source, &failure);
    stream->end += got;
    stream->at_end = got < room;
    return 0;
}

static void advance(struct json_stream *stream, size_t size)
{
    stream->begin += size;
    stream->offset += size;
}

/* The next byte that is no white space, or '\0' at the end; -1 after error(). */
static int peek(struct json_stream *stream)
{
    for (;;) {
        while (stream->begin < stream->end && is_blank(stream->window[stream->begin]))
            advance(stream, 1);
        if (stream->begin < stream->end)
            return (unsigned char)stream->window[stream->begin];
        if (stream->at_end)
            return '\0';
        if (read_more(stream) != 0)
            return -1;
    }
}

static int expected(const struct json_stream *stream, const char *what)
{
    return error("'%s', byte %" PRIu64 ": expected %s", stream->path, stream->offset, what);
}

/* The value that begins here. 1; 0: the file ends in it; -1 after error(). It is advanced over by the caller. */
static int whole_value(struct json_stream *stream, struct json_text *value)
{
    for (;;) {
        const char *at = stream->window + stream->begin, *end = stream->window + stream->end;
        const char *after = json_skip(at, end);
        if (after) {
            *value = (struct json_text){at, (size_t)(after - at)};
            return 1;
        }
        if (stream->at_end)
            return 0;
        if (read_more(stream) != 0)
            return -1;
    }
}

static int begin_file(struct json_stream *stream)
{
    int c = peek(stream);
    if (c == '[')
        stream->in_events = stream->bare = true;
    else if (c != '{')
        return c < 0 ? -1 : expected(stream, "a trace, {\"traceEvents\": [...]} or [...]");
    advance(stream, 1);
    return 0;
}

static int read_key(struct json_stream *stream, char *key, size_t room)
{
    struct json_text text;
    int c = peek(stream);
    if (c == ',') {
        advance(stream, 1);
        c = peek(stream);
    }
    if (c != '"')
        return c < 0 ? -1 : expected(stream, "a key in quotes; the file is incomplete");
    int found = whole_value(stream, &text);
    if (found <= 0 || text.length - 2 >= room)
        return found < 0 ? -1 : expected(stream, "the rest of a key");
    memcpy(key, text.at + 1, text.length - 2);
    key[text.length - 2] = '\0';
    advance(stream, text.length);
    if (peek(stream) != ':')
        return expected(stream, "':' after a key");
    advance(stream, 1);
    return peek(stream) < 0 ? -1 : 0;
}

static enum json_found next_member(struct json_stream *stream, char *key, size_t room, struct json_text *value)
{
    int c = peek(stream);
    if (c == '}')
        return JSON_END;
    if (c < 0 || read_key(stream, key, room) != 0)
        return JSON_ERROR;
    if (strcmp(key, "traceEvents") == 0 && peek(stream) == '[') {
        advance(stream, 1);
        stream->in_events = true;
        return json_stream_next(stream, key, room, value);
    }
    int found = whole_value(stream, value);
    if (found > 0 && value->length == 0)
        found = 0;
    if (found <= 0)
        return found < 0 ? JSON_ERROR
                         : (enum json_found)expected(stream, "the rest of a value; the file is incomplete");
    advance(stream, value->length);
    return JSON_METADATA;
}

/* A bare array is what a program that died may have left. */
static enum json_found cut_off(struct json_stream *stream)
{
    if (!stream->bare)
        return (enum json_found)expected(stream, "the rest of the events, then ]}; the file is incomplete");
    if (!stream->told)
        warning("'%s' is cut off at byte %" PRIu64 ": what follows the last whole event is left out", stream->path,
                stream->offset);
    return JSON_END;
}

enum json_found json_stream_next(struct json_stream *stream, char *key, size_t key_room, struct json_text *value)
{
    if (stream->offset == 0 && begin_file(stream) != 0)
        return JSON_ERROR;
    if (!stream->in_events)
        return next_member(stream, key, key_room, value);
    int c = peek(stream);
    if (c == ',') {
        advance(stream, 1);
        c = peek(stream);
    }
    if (c == ']') {
        advance(stream, 1);
        stream->in_events = false;
        return stream->bare ? JSON_END : next_member(stream, key, key_room, value);
    }
    if (c <= 0)
        return c < 0 ? JSON_ERROR : cut_off(stream);
    int found = whole_value(stream, value);
    if (found <= 0)
        return found < 0 ? JSON_ERROR : cut_off(stream);
    if (value->length == 0)
        return (enum json_found)expected(stream, "an event or ']'");
    advance(stream, value->length);
    return JSON_EVENT;
}
