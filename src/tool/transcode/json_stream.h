/*
 * The values of a trace in JSON, one after another, from a file or a .gz of it; memory holds the largest of them.
 */
#ifndef GPUTRACE_TOOL_TRANSCODE_JSON_STREAM_H
#define GPUTRACE_TOOL_TRANSCODE_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/gzip/source.h"

/* Text of one value. */
struct json_text {
    const char *at;
    size_t length;
};

struct json_stream {
    const char *path;
    struct source source;
    char *window;
    size_t begin, end, capacity;
    uint64_t offset; /* of window[begin] */
    bool at_end;
    bool told;            /* that the file is cut off; the caller's to set */
    bool in_events, bare; /* within "traceEvents", or the array that is the whole file */
};

/* Gives 0, or -1 after error(), then there is nothing to close. */
int json_stream_open(struct json_stream *stream, const char *path);
void json_stream_close(struct json_stream *stream);

enum json_found {
    JSON_ERROR = -1, /* after error() */
    JSON_END,
    JSON_METADATA, /* a key of the trace's object and its value */
    JSON_EVENT,
};

/* What comes next; KEY and VALUE are valid until the next call. A bare array may lack its end. */
enum json_found json_stream_next(struct json_stream *stream, char *key, size_t key_room, struct json_text *value);

/* The end of the value at AT, which is no white space; NULL: it does not end before END. */
const char *json_skip(const char *at, const char *end);

/* The next member of an object whose text is at *AT, after its '{' or the member before. False: there is none. KEY is
 * without its quotes. */
bool json_member(const char **at, const char *end, struct json_text *key, struct json_text *value);

#endif
