/*
 * Decodes CPython's strings, and its three formats of line tables: that of 3.8 and 3.9, that of 3.10, and that of 3.11
 * and later.
 */
#include "common/python_lines.h"

#include <stdbool.h>

#include "common/text.h"

/* --- strings --- */

/* From bits 2 to 6 of the state, or 16 to 20 where the first 16 say whether the string is interned. */
struct python_text python_text_of(uint32_t state)
{
    unsigned bits = (state & 0xfffc) == 0 ? state >> 16 : state >> 2;
    unsigned width = bits & 7;
    bool is_compact = bits >> 3 & 1, is_usual = is_compact && (width == 1 || width == 2 || width == 4);
    return (struct python_text){.width = is_usual ? width : 0, .is_ascii = bits >> 4 & 1};
}

static size_t from_latin1(char *out, size_t space, const unsigned char *characters, uint64_t count)
{
    size_t used = 0;
    for (uint64_t i = 0; i < count; i++) {
        size_t size = characters[i] < 0x80 ? 1 : 2;
        if (size > space - used)
            break;
        if (size == 2)
            out[used++] = (char)(0xc0 | characters[i] >> 6);
        out[used++] = (char)(size == 2 ? 0x80 | (characters[i] & 0x3f) : characters[i]);
    }
    return used;
}

size_t python_text_utf8(char *out, size_t space, const void *characters, uint64_t count, unsigned width)
{
    return width == 1 ? from_latin1(out, space, characters, count)
                      : utf8_from_units(out, space, characters, count, width);
}

/* --- lines --- */

#define NO_LINE 0

static uint32_t line_of(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : NO_LINE;
}

/* Pairs of bytes: so many bytes of code on, so many lines on (signed). */
static uint32_t from_lnotab(const struct line_table *table, int64_t offset)
{
    int64_t line = table->first, at = 0;
    for (size_t i = 0; i + 1 < table->length; i += 2) {
        at += table->bytes[i];
        if (at > offset)
            break;
        line += (signed char)table->bytes[i + 1];
    }
    return line_of(line);
}

/* Pairs of bytes: so many bytes of code are so many lines on (signed), or have no line. */
static uint32_t from_linetable(const struct line_table *table, int64_t offset)
{
    int64_t line = table->first, end = 0;
    for (size_t i = 0; i + 1 < table->length; i += 2) {
        int delta = (signed char)table->bytes[i + 1];
        bool none = delta == -128;
        line += none ? 0 : delta;
        end += table->bytes[i];
        if (offset < end)
            return none ? NO_LINE : line_of(line);
    }
    return NO_LINE;
}

/* Six bits a byte, the lowest first, the seventh says that more follow; the sign is the lowest bit. */
static int64_t read_signed(const struct line_table *table, size_t at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < table->length && shift < 36; at++, shift += 6) {
        value |= (uint64_t)(table->bytes[at] & 63) << shift;
        if (!(table->bytes[at] & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* How an entry's first byte says its lines, in bits 3 to 6; the lowest three are its code units, less 1. */
enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG_FORM = 14, WITHOUT_LINE = 15, CODE_UNIT = 2 };

/* Entries, the first byte of each with its highest bit set. */
static uint32_t from_locations(const struct line_table *table, int64_t offset)
{
    int64_t line = table->first, end = 0;
    for (size_t i = 0; i < table->length;) {
        unsigned first = table->bytes[i], form = first >> 3 & 15;
        if (form >= ONE_LINE_0 && form <= ONE_LINE_2)
            line += form - ONE_LINE_0;
        else if (form == NO_COLUMNS || form == LONG_FORM)
            line += read_signed(table, i + 1);
        end += ((first & 7) + 1) * CODE_UNIT;
        if (offset < end)
            return form == WITHOUT_LINE ? NO_LINE : line_of(line);
        do
            i++;
        while (i < table->length && !(table->bytes[i] & 0x80));
    }
    return NO_LINE;
}

uint32_t line_at(const struct line_table *table, int64_t offset)
{
    if (offset < 0)
        return line_of(table->first);
    switch (table->kind) {
    case PYTHON_LNOTAB: return from_lnotab(table, offset);
    case PYTHON_LINETABLE: return from_linetable(table, offset);
    case PYTHON_LOCATIONS: return from_locations(table, offset);
    }
    return NO_LINE;
}
