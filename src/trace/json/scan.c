/* Finds the end of a value in a text that may go on later, without looking into it, and reads times as nanoseconds. */
#include "trace/json/text.h"

#include <string.h>

#define WHOLE_DIGITS 16 /* of microseconds; more are more nanoseconds than 64 bits hold */

enum byte_class { PLAIN, QUOTE, OPEN, CLOSE };

static const unsigned char classes[256] = {
    ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE,
};

uint64_t scan_lines(const char *text, size_t length)
{
    uint64_t count = 0;
    const char *end = text + length;
    for (const char *line = text; length > 0 && (line = memchr(line, '\n', (size_t)(end - line))); line++)
        count++;
    return count;
}

/* The place behind the string that starts at AT; 0: it does not end. */
static size_t end_of_string(const char *text, size_t length, size_t at)
{
    size_t start = at + 1;
    for (at = start; at < length; at++) {
        const char *quote = memchr(text + at, '"', length - at);
        if (!quote)
            return 0;
        at = (size_t)(quote - text);
        size_t escapes = 0;
        while (at - escapes > start && text[at - escapes - 1] == '\\')
            escapes++;
        if (escapes % 2 == 0)
            return at + 1;
    }
    return 0;
}

/* Notes the value of the key that ends at AT. */
static void note_phase(const char *text, size_t length, size_t at, struct scan *scan)
{
    at += scan_blank(text + at, length - at);
    if (at < length && text[at] == ':') /* else it is a value that reads like a key */
        scan->ph = at + 1 + scan_blank(text + at + 1, length - at - 1);
}

static bool scan_nested(const char *text, size_t length, struct scan *scan)
{
    size_t depth = 0;
    for (size_t at = 0; at < length; at++) {
        switch (classes[(unsigned char)text[at]]) {
        case PLAIN: break;
        case QUOTE: {
            size_t end = end_of_string(text, length, at);
            if (end == 0)
                return false;
            if (depth == 1 && end - at == 4 && memcmp(text + at, "\"ph\"", 4) == 0)
                note_phase(text, length, end, scan);
            at = end - 1;
            break;
        }
        case OPEN: depth++; break;
        case CLOSE:
            if (--depth > 0)
                break;
            scan->length = at + 1;
            return true;
        }
    }
    return false;
}

bool scan_value(const char *text, size_t length, struct scan *scan)
{
    *scan = (struct scan){0};
    if (length == 0)
        return false;
    if (*text == '"')
        return (scan->length = end_of_string(text, length, 0)) != 0;
    if (*text == '{' || *text == '[')
        return scan_nested(text, length, scan);
    size_t at = 1; /* at least one byte, so that a reader gets on whatever it is */
    while (at < length && !json_is_blank(text[at]) && !strchr(",:]}\"[{", text[at]))
        at++;
    scan->length = at;
    return at < length;
}

bool scan_ns(const char *text, const char **after, int64_t *ns)
{
    const char *at = text + (*text == '-'), *whole = at;
    uint64_t value = 0, fraction = 0;
    for (unsigned digit; (digit = (unsigned)(*at - '0')) < 10; at++)
        value = value * 10 + digit;
    if (at == whole || at - whole > WHOLE_DIGITS)
        return false;
    if (*at == '.') {
        const char *decimals = ++at;
        for (int i = 0; i < 4; i++)
            fraction = fraction * 10 + (*at >= '0' && *at <= '9' ? (uint64_t)(*at++ - '0') : 0);
        while (*at >= '0' && *at <= '9')
            at++;
        if (at == decimals)
            return false;
    }
    value = value * 1000 + (fraction + 5) / 10;
    if (value > INT64_MAX)
        return false;
    *after = at;
    *ns = *text == '-' ? -(int64_t)value : (int64_t)value;
    return true;
}
