/*
 * JSON as text: what is valid, where a value ends, and the members of an object, without a tree of them.
 *
 * json_check() is the one definition of what gputrace takes for JSON: RFC 8259, but for bytes in strings, where control
 * characters, what is not UTF-8 and halves of surrogate pairs are accepted, as programs write names, and for NaN and
 * Infinity, which Python writes. json_clean() makes valid JSON of these too.
 * Other json_ functions expect text that json_check() found valid.
 */
#ifndef GPUTRACE_TRACE_JSON_TEXT_H
#define GPUTRACE_TRACE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buffer;

/* Text of one value, or of a key without its quotes. */
struct json_text {
    const char *at;
    size_t length;
};

#define JSON_TEXT_DEPTH_MAX 512 /* objects and arrays in each other; cJSON and Python read 1000 of them */

/* What json_check() found out about a text. */
struct json_fault {
    size_t at;            /* the byte that is not JSON */
    const char *expected; /* instead of it */
    struct json_text key; /* the last one before that byte; length 0: there is none */
    size_t string_at;     /* where the last string before that byte begins */
    size_t length;        /* of the first value; 0: it does not end, or is not valid */
    bool certain;         /* that byte is wrong whatever follows the text */
    bool not_finite;      /* there is a NaN or Infinity */
    unsigned surrogates;  /* halves of pairs, which stand for U+FFFD */
    size_t values;        /* with those that are in others */
};

/* Whether TEXT is one JSON value and nothing else. */
bool json_check(const char *text, size_t length, struct json_fault *fault);

/* Whether TEXT is the rest of an object after its first members, from the ',' or '}' on. */
bool json_check_rest(const char *text, size_t length, struct json_fault *fault);

/* The end of the valid value that begins at AT; NULL: there is none before END. *SURROGATES grows as of json_fault. */
const char *json_pass(const char *at, const char *end, unsigned *surrogates);

/* The next member of an object whose text is at *AT, after its '{' or the member before. False: there is none. KEY is
 * without its quotes. */
bool json_member(const char **at, const char *end, struct json_text *key, struct json_text *value);

/* The next element of an array whose text is at *AT, after its '[' or the element before. False: there is none. */
bool json_element(const char **at, const char *end, struct json_text *value);

/* The value of the first member of OBJECT with this key; its `at` is NULL if there is none. */
struct json_text json_find(struct json_text object, const char *wanted);

/* Pids and tids that are not numbers, such as the "Spans" of Kineto, are numbered from here on. */
#define JSON_WORD_ROWS UINT32_C(0x60000000)

/* Reads an integer from 0 on, of at most 18 digits. False: VALUE is not one. */
bool json_integer(struct json_text value, uint64_t *integer);
/* The value of KEY among the members in LENGTH bytes at TEXT, if it is an integer from 0 on. False: it is not. */
bool json_find_integer(const char *text, size_t length, const char *key, uint64_t *value);

static inline bool json_is(struct json_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static inline bool json_is_string(struct json_text text)
{
    return text.length >= 2 && text.at[0] == '"';
}

/* What stands between the quotes of a string; empty if TEXT is not a string. */
static inline struct json_text json_inside(struct json_text text)
{
    return json_is_string(text) ? (struct json_text){text.at + 1, text.length - 2} : (struct json_text){0};
}

/* The phase of an event: old programs write 'S' and 'F' of what others begin and end with 'b' and 'e'. */
static inline char json_phase(char phase)
{
    return phase == 'S' ? 'b' : phase == 'F' ? 'e' : phase;
}

/* Appends INSIDE, the inside of a string, to OUT without its escapes, as UTF-8. */
void json_unescape(struct buffer *out, struct json_text inside);

/* TEXT with valid UTF-8 in its strings, where only what must be escaped is: itself where it is so already, else a copy
 * in SCRATCH, a buffer in memory, which is overwritten. */
struct json_text json_clean(struct json_text text, struct buffer *scratch);

/* --- where a value ends, without reading what is in it. json_check() decides whether it is JSON. --- */

struct scan {
    size_t length; /* bytes of the value */
    size_t ph;     /* where the value of an object's own, last key "ph" starts; 0: not there */
};

/* The value that starts at TEXT[0], which is not white space. False: it does not end within LENGTH bytes. A bare number
 * or word ends only where something else follows. */
bool scan_value(const char *text, size_t length, struct scan *scan);

/* The end of the value at AT, which is not white space; NULL: there is none, or it does not end before END. */
const char *json_value_end(const char *at, const char *end);

static inline bool json_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Bytes of white space at TEXT. */
static inline size_t scan_blank(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && json_is_blank(text[at]))
        at++;
    return at;
}

/* The plain decimal at TEXT, in microseconds, as nanoseconds, rounded to the nearest; *AFTER is what follows it, if
 * only an exponent. Exact where a double is not: absolute times of today need more than its 53 bits. False: there is
 * none, or it is too large for 64 bits. */
bool scan_ns(const char *text, const char **after, int64_t *ns);

/* Reads the whole TEXT as such a number. It may have white space behind it, and stands in a larger text. */
static inline bool json_exact_ns(struct json_text text, int64_t *ns)
{
    const char *after;
    int64_t read;
    if (!scan_ns(text.at, &after, &read) || (after != text.at + text.length && !json_is_blank(*after)))
        return false;
    *ns = read;
    return true;
}

#endif
