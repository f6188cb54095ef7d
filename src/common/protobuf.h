/*
 * The wire format of Protocol Buffers, written into buffers in memory and read from bytes.
 *
 * No library is used: we write a handful of messages and need only the numbers of their fields. protobuf-c would bring
 * generated code, an allocation for every nested message and a dependency, at several times the cost of the bytes.
 */
#ifndef GPUTRACE_COMMON_PROTOBUF_H
#define GPUTRACE_COMMON_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/buffer.h"

enum protobuf_type { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_FIXED32 = 5 };

#define PROTOBUF_VARINT_SPACE 10

/* --- writing: each function writes at AT and returns the place after its last byte --- */

static inline char *protobuf_varint(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

static inline size_t protobuf_varint_size(uint64_t value)
{
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

static inline char *protobuf_tag(char *at, uint32_t field, enum protobuf_type type)
{
    return protobuf_varint(at, (uint64_t)field << 3 | type);
}

/* --- writing fields into a buffer --- */

static inline void protobuf_put_u64(struct buffer *buffer, uint32_t field, uint64_t value)
{
    char *at = buffer_reserve(buffer, 2 * PROTOBUF_VARINT_SPACE), *from = at;
    if (!at)
        return;
    at = protobuf_tag(at, field, PROTOBUF_VARINT);
    at = protobuf_varint(at, value);
    buffer_advance(buffer, (size_t)(at - from));
}

static inline void protobuf_put_bytes(struct buffer *buffer, uint32_t field, const char *bytes, size_t size)
{
    char *at = buffer_reserve(buffer, 2 * PROTOBUF_VARINT_SPACE + size), *from = at;
    if (!at)
        return;
    at = protobuf_tag(at, field, PROTOBUF_BYTES);
    at = protobuf_varint(at, size);
    if (size > 0)
        memcpy(at, bytes, size);
    buffer_advance(buffer, (size_t)(at - from) + size);
}

static inline void protobuf_put_text(struct buffer *buffer, uint32_t field, const char *text)
{
    protobuf_put_bytes(buffer, field, text, strlen(text));
}

void protobuf_put_fixed64(struct buffer *buffer, uint32_t field, uint64_t value);
void protobuf_put_double(struct buffer *buffer, uint32_t field, double value);

/* Begin and end a nested message: its body is what is written in between. BUFFER must be in memory. protobuf_end()
 * needs the result of protobuf_begin(). */
size_t protobuf_begin(struct buffer *buffer, uint32_t field);
void protobuf_end(struct buffer *buffer, size_t begun);

/* --- reading --- */

struct protobuf_reader {
    const uint8_t *at, *end;
    bool broken; /* the bytes are malformed: `at` is set to `end`, so nothing more is read */
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_type type;
    uint64_t value; /* value of all types but bytes */
    const uint8_t *bytes;
    size_t size;
};

static inline struct protobuf_reader protobuf_reader(const void *bytes, size_t size)
{
    return (struct protobuf_reader){.at = bytes, .end = (const uint8_t *)bytes + size};
}

static inline struct protobuf_reader protobuf_inside(const struct protobuf_field *field)
{
    bool message = field->type == PROTOBUF_BYTES;
    return protobuf_reader(message ? (const void *)field->bytes : "", message ? field->size : 0);
}

/* Slow paths of reading: a number of several bytes, a field of another type, and malformed bytes. */
bool protobuf_read_long(struct protobuf_reader *reader, uint64_t *value);
bool protobuf_read_other(struct protobuf_reader *reader, struct protobuf_field *field);
bool protobuf_break(struct protobuf_reader *reader);

static inline bool protobuf_read_varint(struct protobuf_reader *reader, uint64_t *value)
{
    if (reader->at == reader->end || *reader->at >= 0x80)
        return protobuf_read_long(reader, value);
    *value = *reader->at++;
    return true;
}

/* Reads the next field. Returns false at the end, or if the bytes are malformed. */
static inline bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field)
{
    uint64_t tag;
    if (reader->at == reader->end)
        return false;
    if (!protobuf_read_varint(reader, &tag) || tag >> 3 == 0 || tag >> 32 != 0)
        return protobuf_break(reader);
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum protobuf_type)(tag & 7);
    field->bytes = NULL;
    field->size = 0;
    if (field->type == PROTOBUF_VARINT ? protobuf_read_varint(reader, &field->value)
                                       : protobuf_read_other(reader, field))
        return true;
    return protobuf_break(reader);
}

double protobuf_double(const struct protobuf_field *field);

#endif
