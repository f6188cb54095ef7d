#include "base/utf8.h"

#include <string.h>

static size_t size_by_first_byte(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    if (first >= 0xf0 && first <= 0xf4)
        return 4;
    return 0;
}

/* The second byte's range depends on the first: it keeps out overlong forms, surrogates and beyond U+10FFFF. */
static int second_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0: return second >= 0xa0 && second <= 0xbf;
    case 0xed: return second >= 0x80 && second <= 0x9f;
    case 0xf0: return second >= 0x90 && second <= 0xbf;
    case 0xf4: return second >= 0x80 && second <= 0x8f;
    default: return second >= 0x80 && second <= 0xbf;
    }
}

size_t utf8_size(const char *text, size_t length)
{
    const unsigned char *byte = (const unsigned char *)text;
    size_t size = length ? size_by_first_byte(byte[0]) : 0;
    if (size > length)
        return 0;
    if (size >= 2 && !second_fits(byte[0], byte[1]))
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

static size_t encode(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        memcpy(out, UTF8_REPLACEMENT, 3);
        return 3;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[size] | c);
    return size;
}

size_t utf8_from_wide(char *out, size_t room, const wchar_t *text)
{
    size_t used = 0;
    for (; *text; text++) {
        char character[4];
        size_t size = encode(character, (uint32_t)*text);
        if (size > room - used)
            break;
        memcpy(out + used, character, size);
        used += size;
    }
    return used;
}

/* The character at UNITS[*AT], which moves on: two halves of UTF-16 are one. */
static uint32_t unit_character(const char *units, size_t count, size_t width, size_t *at)
{
    uint32_t first = 0, second = 0;
    memcpy(&first, units + *at * width, width);
    ++*at;
    if (width != 2 || first < 0xd800 || first > 0xdbff || *at == count)
        return first;
    memcpy(&second, units + *at * width, width);
    if (second < 0xdc00 || second > 0xdfff)
        return first;
    ++*at;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

size_t utf8_from_units(char *out, size_t room, const void *units, size_t count, size_t width)
{
    size_t used = 0;
    for (size_t at = 0; at < count;) {
        char character[4];
        size_t size = encode(character, unit_character(units, count, width, &at));
        if (size > room - used)
            break;
        memcpy(out + used, character, size);
        used += size;
    }
    return used;
}
