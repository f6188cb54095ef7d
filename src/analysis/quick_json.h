/*
 * Pieces of JSON for quick.c: each passes what it is about and tells true, or false where that is not there, or not of
 * the usual form. All end at a zero byte.
 */
#ifndef GPUTRACE_ANALYSIS_QUICK_JSON_H
#define GPUTRACE_ANALYSIS_QUICK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analysis/event_fields.h"

struct interner;

#define QUICK_DEPTH_MAX 16
#define QUICK_DIGITS_MAX 15 /* a double holds any integer of so many */

struct quick_text {
    const char *start;
    size_t length;
};

/* Where the pieces read; the rest is what quick.c has learnt of the event. */
struct quick_cursor {
    const char *at;
    struct interner *strings;
    struct trace_event *event;
    struct quick_text name;
    int64_t duration;
    unsigned seen; /* 1 << enum member */
    bool is_device_range, from_seen;
};

static inline void pass_some_blank(struct quick_cursor *c)
{
    while (*c->at == ' ' || *c->at == '\n' || *c->at == '\r' || *c->at == '\t')
        c->at++;
}

/* As a rule there is none. */
static inline void pass_blank(struct quick_cursor *c)
{
    if ((unsigned char)*c->at <= ' ')
        pass_some_blank(c);
}

static inline bool pass(struct quick_cursor *c, char expected)
{
    pass_blank(c);
    if (*c->at != expected)
        return false;
    c->at++;
    return true;
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The bytes of WORD, of which the lowest that is marked (by its highest bit) is below LIMIT; others may be too. */
static inline uint64_t mark_below(uint64_t word, unsigned limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80);
}

static inline uint64_t load_little_endian(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* A text whose opening quote is passed. */
static inline bool take_text_rest(struct quick_cursor *c, struct quick_text *text)
{
    const char *at = c->at;
    for (;;) {
        uint64_t word = load_little_endian(at);
        uint64_t stop =
            mark_below(word, ' ') | mark_below(word ^ EACH_BYTE('"'), 1) | mark_below(word ^ EACH_BYTE('\\'), 1);
        if (stop) {
            at += __builtin_ctzll(stop) / 8;
            break;
        }
        at += sizeof(word);
    }
    *text = (struct quick_text){c->at, (size_t)(at - c->at)};
    c->at = at + 1;
    return *at == '"';
}

static inline bool take_text(struct quick_cursor *c, struct quick_text *text)
{
    return *c->at++ == '"' && take_text_rest(c, text);
}

static inline bool take_key(struct quick_cursor *c, struct quick_text *key)
{
    pass_blank(c);
    if (!take_text(c, key) || !pass(c, ':'))
        return false;
    pass_blank(c);
    return true;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* At most 19 of them, which fit. */
static inline size_t take_digits(struct quick_cursor *c, uint64_t *value)
{
    const char *start = c->at, *at = start, *most = start + 19;
    uint64_t number = 0;
    for (unsigned digit; (digit = (unsigned)(*at - '0')) < 10 && at < most; at++)
        number = number * 10 + digit;
    *value = number;
    c->at = at;
    return (size_t)(at - start);
}

/* What follows a number that is read whole. */
static inline bool ends_number(char c)
{
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* 01 is not JSON. */
static inline bool has_leading_zero(const char *digits, size_t count)
{
    return *digits == '0' && count > 1;
}

static inline bool take_integer(struct quick_cursor *c, int64_t *number)
{
    bool negative = *c->at == '-';
    uint64_t value = 0;
    c->at += negative;
    const char *start = c->at;
    size_t digits = take_digits(c, &value);
    if (digits == 0 || digits > QUICK_DIGITS_MAX || has_leading_zero(start, digits) || !ends_number(*c->at))
        return false;
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* Microseconds, as nanoseconds rounded to the nearest: as scan_ns(). */
static inline bool take_ns(struct quick_cursor *c, int64_t *ns)
{
    bool negative = *c->at == '-';
    uint64_t value = 0;
    c->at += negative;
    const char *start = c->at;
    size_t digits = take_digits(c, &value);
    if (digits == 0 || digits > QUICK_DIGITS_MAX + 1 || has_leading_zero(start, digits))
        return false;
    value *= 1000;
    if (*c->at == '.') {
        uint64_t fraction = 0;
        c->at++;
        size_t decimals = take_digits(c, &fraction);
        if (decimals == 0)
            return false;
        for (; decimals > 4; decimals--)
            fraction /= 10;
        for (; decimals < 4; decimals++)
            fraction *= 10;
        value += (fraction + 5) / 10;
    }
    if (!ends_number(*c->at) || value > EVENT_TIME_LIMIT)
        return false;
    *ns = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static inline bool pass_digits(struct quick_cursor *c)
{
    const char *start = c->at;
    while (is_digit(*c->at))
        c->at++;
    return c->at > start && c->at - start < 20;
}

static inline bool pass_number(struct quick_cursor *c)
{
    c->at += *c->at == '-';
    const char *start = c->at;
    if (!pass_digits(c) || has_leading_zero(start, (size_t)(c->at - start)))
        return false;
    if (*c->at == '.' && (c->at++, !pass_digits(c)))
        return false;
    if (*c->at == 'e' || *c->at == 'E') {
        c->at++;
        c->at += *c->at == '+' || *c->at == '-';
        if (!pass_digits(c))
            return false;
    }
    return ends_number(*c->at);
}

static inline bool pass_word(struct quick_cursor *c, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static inline bool pass_value(struct quick_cursor *c, int depth);

static inline bool pass_nested(struct quick_cursor *c, int depth)
{
    char close = *c->at++ == '{' ? '}' : ']';
    struct quick_text key;
    if (depth == QUICK_DEPTH_MAX)
        return false;
    if (pass(c, close))
        return true;
    do {
        if (close == '}' && !take_key(c, &key))
            return false;
        pass_blank(c);
        if (!pass_value(c, depth + 1))
            return false;
    } while (pass(c, ','));
    return pass(c, close);
}

static inline bool pass_value(struct quick_cursor *c, int depth)
{
    struct quick_text text;
    switch (*c->at) {
    case '"': return take_text(c, &text);
    case '{':
    case '[': return pass_nested(c, depth);
    case 't': return pass_word(c, "true");
    case 'f': return pass_word(c, "false");
    case 'n': return pass_word(c, "null");
    default: return pass_number(c);
    }
}

#endif
