/*
 * Checks UTF-8 and makes it from wide characters, cuts names to a length with a hash, finds the nearest known word by
 * edit distance, and reads quantities with their units. Words are quoted for a shell in single quotes, or as $'...' if
 * they have control characters.
 */
#include "common/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The range of the second byte depends on the first byte. It excludes overlong forms, surrogates, and numbers above
 * U+10FFFF. */
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

size_t utf8_from_wide(char *out, size_t space, const wchar_t *text)
{
    size_t used = 0;
    for (; *text; text++) {
        char character[4];
        size_t size = encode(character, (uint32_t)*text);
        if (size > space - used)
            break;
        memcpy(out + used, character, size);
        used += size;
    }
    return used;
}

/* Returns the character at UNITS[*AT] and moves *AT behind it. Two halves of UTF-16 are one character. */
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

size_t utf8_from_units(char *out, size_t space, const void *units, size_t count, size_t width)
{
    size_t used = 0;
    for (size_t at = 0; at < count;) {
        char character[4];
        size_t size = encode(character, unit_character(units, count, width, &at));
        if (size > space - used)
            break;
        memcpy(out + used, character, size);
        used += size;
    }
    return used;
}

static int escape(char out[UTF8_VISIBLE_BYTES], uint32_t code)
{
    switch (code) {
    case '\n': return snprintf(out, UTF8_VISIBLE_BYTES, "\\n");
    case '\r': return snprintf(out, UTF8_VISIBLE_BYTES, "\\r");
    case '\t': return snprintf(out, UTF8_VISIBLE_BYTES, "\\t");
    default: return snprintf(out, UTF8_VISIBLE_BYTES, code > 0xff ? "\\u%04x" : "\\x%02x", code);
    }
}

size_t utf8_visible(char out[UTF8_VISIBLE_BYTES], const char *text, size_t length, size_t *size)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; /* of the code, by the size */
    *size = utf8_size(text, length);
    if (*size == 0) {
        *size = 1;
        memcpy(out, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
        return strlen(UTF8_REPLACEMENT);
    }
    uint32_t code = (unsigned char)text[0] & first_bits[*size];
    for (size_t i = 1; i < *size; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool turns_direction =
        (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    if (is_control || turns_direction)
        return (size_t)escape(out, code);
    memcpy(out, text, *size);
    return *size;
}

#define LONGEST 64

void text_cut(char *out, const char *text, size_t most, uint64_t hash)
{
    static const char before[] = "...[cut, hash ";
    char mark[TEXT_CUT_LEAST];
    size_t length = sizeof(before) - 1;
    memcpy(mark, before, length);
    for (int shift = 60; shift >= 0; shift -= 4)
        mark[length++] = "0123456789abcdef"[hash >> shift & 15];
    mark[length++] = ']';
    size_t kept = most - length, whole = utf8_cut(text, most, kept);
    if (out != text)
        memcpy(out, text, kept);
    memset(out + whole, '.', kept - whole);
    memcpy(out + kept, mark, length);
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Returns the number of insertions, removals, replacements and swaps of neighbours that lead from A to B. Needs only
 * three rows of the usual matrix. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t other = (above[j] < row[j - 1] ? above[j] : row[j - 1]) + 1;
            row[j] = above[j - 1] + !same(a[i - 1], b[j - 1]);
            row[j] = other < row[j] ? other : row[j];
            bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
            if (swapped && second[j - 2] + 1 < row[j])
                row[j] = second[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

struct text_count text_count(uint64_t count, const char *noun)
{
    struct text_count made = {""};
    uint64_t group = 1;
    while (count / group >= 1000)
        group *= 1000;
    int length = snprintf(made.text, sizeof(made.text), "%" PRIu64, count / group);
    for (; group > 1; group /= 1000)
        length += snprintf(made.text + length, sizeof(made.text) - (size_t)length, ",%03" PRIu64,
                           count / (group / 1000) % 1000);
    if (noun)
        snprintf(made.text + length, sizeof(made.text) - (size_t)length, " %s%s", noun, count == 1 ? "" : "s");
    return made;
}

void text_list_add(char *list, size_t size, const char *word)
{
    size_t length = strlen(list);
    snprintf(list + length, size - length, "%s%s", length > 0 ? ", " : "", word);
}

struct suggestion suggestion_for(const char *given, size_t length)
{
    return (struct suggestion){.given = given, .length = length, .distance = length / 3 + 2};
}

bool suggestion_consider(struct suggestion *suggestion, const char *word)
{
    size_t length = strlen(word);
    if (length > LONGEST || suggestion->length > LONGEST)
        return false;
    size_t distance = edit_distance(suggestion->given, suggestion->length, word, length);
    size_t longer = length > suggestion->length ? length : suggestion->length;
    if (distance >= suggestion->distance || distance >= length || 2 * distance >= longer)
        return false;
    suggestion->word = word;
    suggestion->distance = distance;
    return true;
}

/* --- quantities --- */

static const struct {
    const char *word;
    char kind;
    double size;
} units[] = {
    {"%", '%', 1},    {"s", 't', 1e9},  {"ms", 't', 1e6},   {"us", 't', 1e3},        {"µs", 't', 1e3},
    {"ns", 't', 1},   {"B", 'b', 1},    {"KiB", 'b', 1024}, {"MiB", 'b', 1048576.0}, {"GiB", 'b', 1073741824.0},
    {"KB", 'b', 1e3}, {"MB", 'b', 1e6}, {"GB", 'b', 1e9},
};

char quantity_read(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text || !(*value >= 0))
        return 0;
    end += strspn(end, " ");
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(end, units[i].word) != 0)
            continue;
        *value *= units[i].size;
        return units[i].kind;
    }
    return *end ? 0 : '1';
}

/* --- words of a shell --- */

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^"

/* Writes TEXT in quotes into OUT, which has five bytes for each byte of TEXT, and some more. */
static void quote(char *out, const char *text)
{
    bool control = false;
    for (const char *at = text; *at; at++)
        control |= (unsigned char)*at < ' ' || *at == 0x7f;
    out += sprintf(out, control ? "$'" : "'");
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            out += sprintf(out, "\\%03o", (unsigned char)*text);
        else if (*text == '\'')
            out += sprintf(out, control ? "\\'" : "'\\''");
        else
            out += sprintf(out, control && *text == '\\' ? "\\\\" : "%c", *text);
    }
    strcpy(out, "'");
}

static const char *word(const char *before, const char *text)
{
    static _Thread_local char *words[4];
    static _Thread_local unsigned next;
    char **place = &words[next++ % 4], *whole = NULL;
    size_t length = strlen(text);
    bool plain = length > 0 && strspn(text, PLAIN) == length;
    if (plain && !*before)
        return text;
    free(*place);
    *place = malloc(5 * length + 8);
    if (!*place || asprintf(&whole, "%s%s", before, text) < 0)
        return text;
    if (plain)
        strcpy(*place, whole);
    else
        quote(*place, whole);
    free(whole);
    return *place;
}

const char *shell_word(const char *text)
{
    return word("", text);
}

const char *shell_file(const char *name)
{
    return word(*name == '-' ? "./" : "", name);
}
