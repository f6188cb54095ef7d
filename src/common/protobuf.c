/* Writes and reads fields by number and wire type. The length of a nested message is written when the message ends. */
#include "common/protobuf.h"

#include "common/memory.h"

void protobuf_put_fixed64(struct buffer *buffer, uint32_t field, uint64_t value)
{
    char *at = buffer_reserve(buffer, PROTOBUF_VARINT_SPACE + sizeof(value)), *from = at;
    if (!at)
        return;
    at = protobuf_tag(at, field, PROTOBUF_FIXED64);
    memcpy(at, &value, sizeof(value)); /* little-endian, as all supported machines are */
    buffer_advance(buffer, (size_t)(at - from) + sizeof(value));
}

void protobuf_put_double(struct buffer *buffer, uint32_t field, double value)
{
    protobuf_put_fixed64(buffer, field, LOAD(uint64_t, &value));
}

/* Most messages are shorter than 128 bytes: one byte is reserved for the length, and longer messages are moved. */
size_t protobuf_begin(struct buffer *buffer, uint32_t field)
{
    char *at = buffer_reserve(buffer, PROTOBUF_VARINT_SPACE + 1), *from = at;
    if (!at)
        return 0;
    at = protobuf_tag(at, field, PROTOBUF_BYTES);
    buffer_advance(buffer, (size_t)(at - from) + 1);
    return buffer->length;
}

void protobuf_end(struct buffer *buffer, size_t begun)
{
    if (buffer->failure)
        return;
    size_t size = buffer->length - begun, more = protobuf_varint_size(size) - 1;
    if (more > 0) {
        if (!buffer_reserve(buffer, more))
            return;
        memmove(buffer->data + begun + more, buffer->data + begun, size);
        buffer_advance(buffer, more);
    }
    protobuf_varint(buffer->data + begun - 1, size);
}

bool protobuf_read_long(struct protobuf_reader *reader, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; reader->at < reader->end && shift < 64; shift += 7) {
        uint8_t byte = *reader->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool read_fixed(struct protobuf_reader *reader, struct protobuf_field *field, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size)
        return false;
    field->value = 0;
    memcpy(&field->value, reader->at, size);
    reader->at += size;
    return true;
}

static bool read_bytes(struct protobuf_reader *reader, struct protobuf_field *field)
{
    uint64_t size;
    if (!protobuf_read_varint(reader, &size) || size > (uint64_t)(reader->end - reader->at))
        return false;
    field->value = 0;
    field->bytes = reader->at;
    field->size = (size_t)size;
    reader->at += size;
    return true;
}

bool protobuf_read_other(struct protobuf_reader *reader, struct protobuf_field *field)
{
    switch (field->type) {
    case PROTOBUF_VARINT: return protobuf_read_long(reader, &field->value);
    case PROTOBUF_FIXED64: return read_fixed(reader, field, 8);
    case PROTOBUF_FIXED32: return read_fixed(reader, field, 4);
    case PROTOBUF_BYTES: return read_bytes(reader, field);
    }
    return false;
}

bool protobuf_break(struct protobuf_reader *reader)
{
    reader->broken = true;
    reader->at = reader->end;
    return false;
}

double protobuf_double(const struct protobuf_field *field)
{
    return LOAD(double, &field->value);
}
