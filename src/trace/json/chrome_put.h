/*
 * Pieces of Trace Event JSON, put at a place that has room for them: each gives the place after its last character.
 */
#ifndef GPUTRACE_TRACE_JSON_CHROME_PUT_H
#define GPUTRACE_TRACE_JSON_CHROME_PUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/number.h"
#include "common/sink.h"
#include "trace/tracks.h"
#include "trace/sink.h"

#define LITERAL_ROOM 44

/* A short text of a table: copied whole, with what is behind it, since that needs no loop. */
struct literal {
    char text[LITERAL_ROOM];
    unsigned length;
};
static_assert(sizeof("\"wait_on_cuda_event_record_corr_id\":") <= LITERAL_ROOM, "the longest key");

#define LITERAL(string)            \
    {                              \
        string, sizeof(string) - 1 \
    }

/* A literal, without its NUL. */
#define PUT(at, string) put_bytes(at, string, sizeof(string) - 1)

static inline char *put_bytes(char *at, const char *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

/* There is room for LITERAL_ROOM bytes at AT. */
static inline char *put_literal(char *at, const struct literal *literal)
{
    memcpy(at, literal->text, LITERAL_ROOM);
    return at + literal->length;
}

static inline char *put_row(char *at, struct row row)
{
    at = PUT(at, ",\"pid\":");
    at = number_u64(at, row.pid);
    at = PUT(at, ",\"tid\":");
    return number_u64(at, row.tid);
}

static inline char *put_color(char *at, uint32_t color)
{
    static const char digits[] = "0123456789abcdef";
    at = PUT(at, "\"#");
    for (int shift = color >> 24 == 0xff ? 20 : 28; shift >= 0; shift -= 4)
        *at++ = digits[(color >> shift) & 15];
    *at++ = '"';
    return at;
}

static inline char *put_size3(char *at, const int32_t *size)
{
    *at++ = '[';
    at = number_i64(at, size[0]);
    *at++ = ',';
    at = number_i64(at, size[1]);
    *at++ = ',';
    at = number_i64(at, size[2]);
    *at++ = ']';
    return at;
}

static inline char *put_hex(char *at, uint64_t value)
{
    *at++ = '"';
    at = number_hex(at, value);
    *at++ = '"';
    return at;
}

/* Makes what was put up to AT part of the sink. */
static inline void claim(struct writer *writer, const char *at)
{
    sink_advance(writer->sink, (size_t)(at - (writer->sink->data + writer->sink->length)));
}

#define HEAD_ROOM 128 /* for what stands before a name */
#define TAIL_ROOM 256 /* for row and times after it */

static inline char *put_time(const struct writer *writer, char *at, uint64_t time)
{
    at = PUT(at, ",\"ts\":");
    return number_us(at, time > writer->base ? time - writer->base : 0);
}

/* The separator from what stands before, and room for SIZE more bytes. NULL after a failure. */
static inline char *next_event(struct writer *writer, size_t size)
{
    char *at = sink_reserve(writer->sink, size + 2);
    if (!at)
        return NULL;
    if (writer->any)
        *at++ = ',';
    *at++ = '\n';
    writer->any = true;
    return at;
}

#endif
