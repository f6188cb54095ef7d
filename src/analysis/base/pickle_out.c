#include "analysis/base/pickle_out.h"

#include <string.h>

#include "common/buffer.h"
#include "common/text.h"

/* The opcodes are those of Python's module pickletools. */
enum {
    PROTOCOL = 0x80,
    STOP = '.',
    MARK = '(',
    EMPTY_DICT = '}',
    SET_ITEMS = 'u',
    EMPTY_LIST = ']',
    APPENDS = 'e',
    TUPLE2 = 0x86,
    UNICODE = 'X',
    INTEGER32 = 'J',
    LONG1 = 0x8a,
    REAL = 'G',
    NEW_TRUE = 0x88,
    NEW_FALSE = 0x89,
    NONE = 'N',
};

static void put(struct buffer *out, unsigned opcode)
{
    buffer_char(out, (char)opcode);
}

static void put_little_endian(struct buffer *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        put(out, value >> 8 * i & 0xff);
}

void pickle_begin(struct buffer *out)
{
    put(out, PROTOCOL);
    put(out, 2);
}

void pickle_end(struct buffer *out)
{
    put(out, STOP);
}

void pickle_begin_dict(struct buffer *out)
{
    put(out, EMPTY_DICT);
    put(out, MARK);
}

void pickle_end_dict(struct buffer *out)
{
    put(out, SET_ITEMS);
}

void pickle_begin_list(struct buffer *out)
{
    put(out, EMPTY_LIST);
    put(out, MARK);
}

void pickle_end_list(struct buffer *out)
{
    put(out, APPENDS);
}

void pickle_pair(struct buffer *out)
{
    put(out, TUPLE2);
}

#define REPLACEMENT "\xef\xbf\xbd"

/* Writes TEXT; NULL: nowhere. Returns its bytes. */
static size_t put_characters(struct buffer *out, const char *text)
{
    size_t sum = 0;
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = utf8_size(text, left);
        const char *shown = size ? text : REPLACEMENT;
        size_t length = size ? size : strlen(REPLACEMENT);
        if (out)
            buffer_bytes(out, shown, length);
        sum += length;
        size = size ? size : 1;
    }
    return sum;
}

void pickle_text(struct buffer *out, const char *text)
{
    put(out, UNICODE);
    put_little_endian(out, put_characters(NULL, text), 4);
    put_characters(out, text);
}

void pickle_i64(struct buffer *out, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        put(out, INTEGER32);
        put_little_endian(out, (uint64_t)value, 4);
    } else {
        put(out, LONG1);
        put(out, 8);
        put_little_endian(out, (uint64_t)value, 8);
    }
}

void pickle_real(struct buffer *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put(out, REAL);
    for (unsigned i = 8; i-- > 0;)
        put(out, bits >> 8 * i & 0xff);
}

void pickle_bool(struct buffer *out, bool value)
{
    put(out, value ? NEW_TRUE : NEW_FALSE);
}

void pickle_none(struct buffer *out)
{
    put(out, NONE);
}
