#include "check_trace/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void word_put(struct json_reader *reader, size_t at, int byte)
{
    if (at + 1 >= reader->word_room) {
        reader->word_room *= 2;
        reader->word = json_need(realloc(reader->word, reader->word_room));
    }
    reader->word[at] = (char)byte;
    reader->word[at + 1] = '\0';
}

static int take(struct json_reader *reader)
{
    int byte = input_next(reader->input);
    if (byte == INPUT_END)
        json_fail(reader, "the file ends in the middle of a value");
    return byte;
}

/* The bytes of a UTF-8 character after its first, as RFC 3629's table has them: overlong forms, surrogates and what is
 * above U+10FFFF are told by the second byte. */
static size_t read_utf8(struct json_reader *reader, size_t at, int first)
{
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    int least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    int most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (first < 0xc2 || first > 0xf4)
        json_fail(reader, "byte 0x%02x does not begin a UTF-8 character", (unsigned)first);
    word_put(reader, at++, first);
    for (; more > 0; more--) {
        int byte = take(reader);
        if (byte < least || byte > most)
            json_fail(reader, "byte 0x%02x does not go on the UTF-8 character begun by 0x%02x", (unsigned)byte,
                      (unsigned)first);
        word_put(reader, at++, byte);
        least = 0x80;
        most = 0xbf;
    }
    return at;
}

static unsigned read_hex4(struct json_reader *reader)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        int byte = take(reader);
        unsigned digit = byte >= '0' && byte <= '9'   ? (unsigned)(byte - '0')
                         : byte >= 'a' && byte <= 'f' ? (unsigned)(byte - 'a') + 10
                         : byte >= 'A' && byte <= 'F' ? (unsigned)(byte - 'A') + 10
                                                      : 16;
        if (digit == 16)
            json_fail(reader, "\\u is not followed by four hexadecimal digits");
        value = value * 16 + digit;
    }
    return value;
}

/* What follows \u. */
static unsigned read_code_point(struct json_reader *reader)
{
    unsigned code = read_hex4(reader);
    if (code < 0xd800 || code > 0xdfff)
        return code;
    if (code > 0xdbff || take(reader) != '\\' || take(reader) != 'u')
        json_fail(reader, "half a surrogate pair: \\u%04x", code);
    unsigned low = read_hex4(reader);
    if (low < 0xdc00 || low > 0xdfff)
        json_fail(reader, "half a surrogate pair: \\u%04x", code);
    if (!reader->surrogates)
        json_fail(reader, "\\u%04x\\u%04x: Perfetto cannot read surrogate pairs, write UTF-8 as it is", code, low);
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

static size_t put_code_point(struct json_reader *reader, size_t at, unsigned code)
{
    if (code < 0x80) {
        word_put(reader, at++, (int)code);
    } else if (code < 0x800) {
        word_put(reader, at++, (int)(0xc0 | code >> 6));
        word_put(reader, at++, (int)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        word_put(reader, at++, (int)(0xe0 | code >> 12));
        word_put(reader, at++, (int)(0x80 | (code >> 6 & 0x3f)));
        word_put(reader, at++, (int)(0x80 | (code & 0x3f)));
    } else {
        word_put(reader, at++, (int)(0xf0 | code >> 18));
        word_put(reader, at++, (int)(0x80 | (code >> 12 & 0x3f)));
        word_put(reader, at++, (int)(0x80 | (code >> 6 & 0x3f)));
        word_put(reader, at++, (int)(0x80 | (code & 0x3f)));
    }
    return at;
}

static size_t read_escape(struct json_reader *reader, size_t at)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int byte = take(reader);
    if (byte == 'u')
        return put_code_point(reader, at, read_code_point(reader));
    const char *found = byte ? strchr(from, byte) : NULL;
    if (!found)
        json_fail(reader, "unknown escape in a string: backslash and byte %d", byte);
    word_put(reader, at, to[found - from]);
    return at + 1;
}

size_t json_read_string(struct json_reader *reader)
{
    size_t at = 0;
    word_put(reader, 0, '\0');
    for (;;) {
        int byte = take(reader);
        if (byte == '"')
            return at;
        if (byte < 0x20)
            json_fail(reader, "control character 0x%02x in a string", (unsigned)byte);
        if (byte == '\\')
            at = read_escape(reader, at);
        else if (byte >= 0x80)
            at = read_utf8(reader, at, byte);
        else
            word_put(reader, at++, byte);
    }
}

static size_t read_digits(struct json_reader *reader, size_t at)
{
    size_t begin = at;
    for (int byte = input_peek(reader->input); byte >= '0' && byte <= '9'; byte = input_peek(reader->input))
        word_put(reader, at++, input_next(reader->input));
    if (at == begin)
        json_fail(reader, "a number lacks a digit after '%.*s'", (int)at, reader->word);
    return at;
}

size_t json_read_number(struct json_reader *reader)
{
    size_t at = 0;
    word_put(reader, 0, '\0');
    if (input_peek(reader->input) == '-')
        word_put(reader, at++, input_next(reader->input));
    size_t digits = at;
    at = read_digits(reader, at);
    if (reader->word[digits] == '0' && at - digits > 1)
        json_fail(reader, "a number begins with 0: %s", reader->word);
    if (input_peek(reader->input) == '.') {
        word_put(reader, at++, input_next(reader->input));
        at = read_digits(reader, at);
    }
    int byte = input_peek(reader->input);
    if (byte == 'e' || byte == 'E') {
        word_put(reader, at++, input_next(reader->input));
        byte = input_peek(reader->input);
        if (byte == '+' || byte == '-')
            word_put(reader, at++, input_next(reader->input));
        at = read_digits(reader, at);
    }
    if (!isfinite(strtod(reader->word, NULL)))
        json_fail(reader, "a number is too large for a double: %s", reader->word);
    return at;
}
