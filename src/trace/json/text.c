/*
 * A checker that walks over text once, with a stack of the open objects and arrays, and functions that find members and
 * values in checked text.
 */
#include "trace/json/text.h"

#include "common/buffer.h"
#include "common/json_out.h"
#include "common/text.h"

#define CHARACTER_BYTES 4 /* the most bytes of a character in UTF-8 */

static const char *skip_blank(const char *at, const char *end)
{
    return at + scan_blank(at, (size_t)(end - at));
}

/* --- escapes --- */

/* Returns the value of the four hexadecimal digits at AT, or -1. */
static int32_t hex4(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (lower - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* Reads \uXXXX, or two of them that are a surrogate pair; AT is behind the 'u'. Half of a pair becomes U+FFFD. Returns
 * the text behind it, or NULL. */
static const char *unicode_character(const char *at, const char *end, char *bytes, size_t *size)
{
    int32_t first = hex4(at, end);
    uint32_t unit = (uint32_t)first;
    if (first < 0)
        return NULL;
    at += 4;
    if (first >= 0xd800 && first < 0xdc00) {
        int32_t second = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? hex4(at + 2, end) : -1;
        if (second >= 0xdc00 && second < 0xe000) {
            unit = 0x10000 + ((unit - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
            at += 6;
        }
    }
    if (unit >= 0xd800 && unit < 0xe000)
        unit = 0xfffd;
    *size = utf8_from_units(bytes, CHARACTER_BYTES, &unit, 1, sizeof(unit));
    return at;
}

/* Writes the character of the escape at AT to *SIZE bytes of BYTES, as UTF-8. Returns the text behind the escape, or
 * NULL if it is not valid. */
static const char *read_escape(const char *at, const char *end, char bytes[CHARACTER_BYTES], size_t *size)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (end - at < 2)
        return NULL;
    if (at[1] == 'u')
        return unicode_character(at + 2, end, bytes, size);
    const char *letter = at[1] ? strchr(letters, at[1]) : NULL;
    if (!letter)
        return NULL;
    bytes[0] = meanings[letter - letters];
    *size = 1;
    return at + 2;
}

/* --- json_check() --- */

struct check {
    const char *start, *at, *end; /* `at`: once a function returned false, the byte that is not JSON */
    struct json_fault *fault;
};

#define LONGEST_TOKEN 16 /* the most bytes of a word or escape, which may be cut */
static const char too_deep[] = "fewer objects and arrays in each other";

static bool fail(struct check *check, const char *expected)
{
    check->fault->expected = expected;
    return false;
}

static bool pass_blank(struct check *check)
{
    check->at = skip_blank(check->at, check->end);
    return check->at < check->end;
}

static bool pass_byte(struct check *check, char c)
{
    if (check->at == check->end || *check->at != c)
        return false;
    check->at++;
    return true;
}

static bool pass_string(struct check *check)
{
    char bytes[CHARACTER_BYTES];
    size_t size;
    if (!pass_byte(check, '"'))
        return false;
    check->fault->string_at = (size_t)(check->at - 1 - check->start);
    while (check->at < check->end) {
        if (*check->at == '"') {
            check->at++;
            return true;
        }
        const char *after = *check->at == '\\' ? read_escape(check->at, check->end, bytes, &size) : check->at + 1;
        if (!after)
            return fail(check, "an escape such as \\\\ or \\n");
        check->fault->surrogates += after - check->at == 6 && (check->at[2] | 0x20) == 'd' && check->at[3] > '7';
        check->at = after;
    }
    return fail(check, "the end of a text");
}

static bool pass_digits(struct check *check)
{
    const char *start = check->at;
    while (check->at < check->end && *check->at >= '0' && *check->at <= '9')
        check->at++;
    return check->at > start;
}

static bool pass_number(struct check *check)
{
    pass_byte(check, '-');
    if (!pass_byte(check, '0') && !pass_digits(check))
        return false;
    if (pass_byte(check, '.') && !pass_digits(check))
        return false;
    if (!pass_byte(check, 'e') && !pass_byte(check, 'E'))
        return true;
    if (!pass_byte(check, '+'))
        pass_byte(check, '-');
    return pass_digits(check);
}

static bool pass_word(struct check *check, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(check->end - check->at) < length || memcmp(check->at, word, length) != 0)
        return false;
    check->at += length;
    return true;
}

/* Checks a value that is not an object or array. */
static bool pass_scalar(struct check *check)
{
    const char *start = check->at;
    bool negative = start[0] == '-' && check->end - start > 1 && start[1] == 'I';
    check->fault->expected = "a value";
    switch (start[negative]) {
    case '"': return pass_string(check);
    case 't': return pass_word(check, "true");
    case 'f': return pass_word(check, "false");
    case 'n': return pass_word(check, "null");
    case 'N': return check->fault->not_finite = pass_word(check, "NaN");
    case 'I': return check->fault->not_finite = pass_word(check, negative ? "-Infinity" : "Infinity");
    default: return pass_number(check);
    }
}

static bool pass_key(struct check *check)
{
    const char *start = pass_blank(check) ? check->at : NULL;
    if (!start || *start != '"' || !pass_string(check))
        return start && *start == '"' ? false : fail(check, "a key in quotes");
    check->fault->key = (struct json_text){start + 1, (size_t)(check->at - start) - 2};
    return (pass_blank(check) && pass_byte(check, ':')) || fail(check, "':' after a key");
}

/* Checks the text after a value: ends of enclosing objects and arrays, then a ',' and, in an object, the next key. */
static bool pass_after(struct check *check, const char *closes, size_t *depth)
{
    while (*depth > 0 && pass_blank(check)) {
        if (pass_byte(check, closes[*depth - 1]))
            --*depth;
        else if (!pass_byte(check, ','))
            return fail(check, closes[*depth - 1] == ']' ? "',' or ']'" : "',' or '}'");
        else
            return closes[*depth - 1] == ']' || pass_key(check);
    }
    return *depth == 0 || fail(check, "the rest of a value");
}

/* Checks a value (DEPTH 0), or the text after a member of an object (DEPTH 1). */
static bool pass_value(struct check *check, size_t depth)
{
    char closes[JSON_TEXT_DEPTH_MAX];
    closes[0] = '}';
    if (depth > 0 && (!pass_after(check, closes, &depth) || depth == 0))
        return depth == 0;
    do {
        if (!pass_blank(check))
            return fail(check, "a value");
        check->fault->values++;
        if (*check->at != '{' && *check->at != '[') {
            if (!pass_scalar(check) || !pass_after(check, closes, &depth))
                return false;
            continue;
        }
        if (depth == JSON_TEXT_DEPTH_MAX)
            return fail(check, too_deep);
        closes[depth++] = *check->at++ == '{' ? '}' : ']';
        bool empty = pass_blank(check) && *check->at == closes[depth - 1];
        if (empty ? !pass_after(check, closes, &depth) : closes[depth - 1] == '}' && !pass_key(check))
            return false;
    } while (depth > 0);
    return true;
}

static bool check_text(const char *text, size_t length, size_t depth, struct json_fault *fault)
{
    *fault = (struct json_fault){0};
    struct check check = {.start = text, .at = text, .end = text + length, .fault = fault};
    bool valid = pass_value(&check, depth);
    fault->length = valid ? (size_t)(check.at - text) : 0;
    if (valid && pass_blank(&check))
        valid = fail(&check, "nothing more");
    fault->at = (size_t)(check.at - text);
    fault->certain = !valid && length - fault->at > LONGEST_TOKEN && fault->expected != too_deep;
    return valid;
}

bool json_check(const char *text, size_t length, struct json_fault *fault)
{
    return check_text(text, length, 0, fault);
}

bool json_check_rest(const char *text, size_t length, struct json_fault *fault)
{
    return check_text(text, length, 1, fault);
}

const char *json_pass(const char *at, const char *end, unsigned *surrogates)
{
    struct json_fault fault = {0};
    struct check check = {.start = at, .at = at, .end = end, .fault = &fault};
    bool valid = pass_value(&check, 0);
    *surrogates += fault.surrogates;
    return valid ? check.at : NULL;
}

/* --- values and members --- */

const char *json_value_end(const char *at, const char *end)
{
    struct scan scan;
    if (at >= end)
        return NULL;
    if (scan_value(at, (size_t)(end - at), &scan))
        return at + scan.length;
    return strchr("\"{[", *at) ? NULL : end; /* a number or word also ends at END */
}

bool json_member(const char **at, const char *end, struct json_text *key, struct json_text *value)
{
    const char *from = skip_blank(*at, end), *to;
    if (from < end && *from == ',')
        from = skip_blank(from + 1, end);
    if (from >= end || *from != '"' || !(to = json_value_end(from, end)))
        return false;
    *key = (struct json_text){from + 1, (size_t)(to - from) - 2};
    from = skip_blank(to, end);
    if (from >= end || *from != ':')
        return false;
    from = skip_blank(from + 1, end);
    to = json_value_end(from, end);
    if (!to)
        return false;
    *value = (struct json_text){from, (size_t)(to - from)};
    *at = to;
    return true;
}

bool json_element(const char **at, const char *end, struct json_text *value)
{
    const char *from = skip_blank(*at, end), *to;
    if (from < end && *from == ',')
        from = skip_blank(from + 1, end);
    if (from >= end || *from == ']' || !(to = json_value_end(from, end)) || to == from)
        return false;
    *value = (struct json_text){from, (size_t)(to - from)};
    *at = to;
    return true;
}

/* --- strings --- */

/* Passes the inside of a string, without its escapes, to PUT. Stops at an invalid escape. */
static void unescape(struct buffer *out, struct json_text inside,
                     void (*put)(struct buffer *out, const char *text, size_t size))
{
    char bytes[CHARACTER_BYTES];
    size_t size;
    for (const char *at = inside.at, *end = at + inside.length; at && at < end;) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        put(out, at, (size_t)((escape ? escape : end) - at));
        at = escape ? read_escape(escape, end, bytes, &size) : NULL;
        if (at)
            put(out, bytes, size);
    }
}

static void put_bytes(struct buffer *out, const char *text, size_t size)
{
    buffer_bytes(out, text, size);
}

void json_unescape(struct buffer *out, struct json_text inside)
{
    unescape(out, inside, put_bytes);
}

/* Whether the inside of a string is valid UTF-8 without control characters and escapes. */
static bool is_plain(const char *at, const char *end)
{
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (c < ' ' || c == '\\')
            return false;
        size_t size = c < 0x80 ? 1 : utf8_size(at, (size_t)(end - at));
        if (size == 0)
            return false;
        at += size;
    }
    return true;
}

struct json_text json_find(struct json_text object, const char *wanted)
{
    struct json_text key, value;
    const char *at = object.at + 1, *end = object.at + object.length;
    while (object.length > 0 && *object.at == '{' && json_member(&at, end, &key, &value))
        if (json_is(key, wanted))
            return value;
    return (struct json_text){NULL, 0};
}

bool json_integer(struct json_text value, uint64_t *integer)
{
    *integer = 0;
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
        *integer = *integer * 10 + (uint64_t)(value.at[i] - '0');
    }
    return value.length > 0 && value.length <= 18;
}

bool json_find_integer(const char *text, size_t length, const char *wanted, uint64_t *value)
{
    struct json_text key, found;
    size_t size = strlen(wanted);
    if (!memmem(text, length, wanted, size)) /* the usual case, which needs no parsing */
        return false;
    for (const char *at = text, *end = text + length; json_member(&at, end, &key, &found);)
        if (key.length == size && memcmp(key.at, wanted, size) == 0)
            return json_integer(found, value);
    return false;
}

/* Copies text between strings, with null instead of NaN and Infinity. *COPIED is the end of what was copied. */
static void clean_between(struct buffer *out, const char **copied, const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at != 'N' && *at != 'I')
            continue;
        const char *word = at - (*at == 'I' && at > *copied && at[-1] == '-');
        buffer_bytes(out, *copied, (size_t)(word - *copied));
        buffer_text(out, "null");
        at += strlen(*at == 'N' ? "NaN" : "Infinity") - 1;
        *copied = at + 1;
    }
}

struct json_text json_clean(struct json_text text, struct buffer *scratch)
{
    const char *copied = text.at, *end = text.at + text.length, *at = text.at;
    scratch->length = 0;
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        clean_between(scratch, &copied, at, quote ? quote : end);
        if (!(at = quote))
            break;
        const char *after = json_value_end(at, end);
        if (!after)
            break;
        if (!is_plain(at + 1, after - 1)) {
            buffer_bytes(scratch, copied, (size_t)(at + 1 - copied));
            unescape(scratch, (struct json_text){at + 1, (size_t)(after - at) - 2}, json_escape);
            copied = after - 1;
        }
        at = after;
    }
    if (copied == text.at)
        return text;
    buffer_bytes(scratch, copied, (size_t)(end - copied));
    return (struct json_text){scratch->data, scratch->length};
}

/* Functions that find the end of a value in a text that may be incomplete, without checking it, and that read times. */

#define WHOLE_DIGITS 16 /* the most digits of microseconds: 64 bits hold no more in ns */

enum byte_class { PLAIN, QUOTE, OPEN, CLOSE };

static const unsigned char classes[256] = {
    ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE,
};

/* Returns the offset behind the string that starts at AT, or 0 if the string does not end. */
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
            bool is_phase = depth == 1 && end - at == 4 && memcmp(text + at, "\"ph\"", 4) == 0;
            size_t colon = is_phase ? end + scan_blank(text + end, length - end) : length;
            if (colon < length && text[colon] == ':') /* without a colon it is a value */
                scan->ph = colon + 1 + scan_blank(text + colon + 1, length - colon - 1);
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
    size_t at = 1; /* at least one byte, so that the reader always advances */
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
