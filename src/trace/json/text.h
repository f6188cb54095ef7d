/*
 * JSON as text: checks it, finds the end of values and the members of objects, without building a tree.
 *
 * json_check() is the one definition of what gputrace accepts as JSON: RFC 8259, and in strings also control
 * characters, invalid UTF-8 and halves of surrogate pairs, as programs write such names, and NaN and Infinity, which
 * Python writes. json_clean() turns these into valid JSON. Other json_ functions expect text that json_check() found
 * valid.
 */
#ifndef GPUTRACE_TRACE_JSON_TEXT_H
#define GPUTRACE_TRACE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buffer;

/* The text of a value, or of a key without its quotes. */
struct json_text {
    const char *at;
    size_t length;
};

#define JSON_TEXT_DEPTH_MAX 512 /* nested objects and arrays; cJSON and Python read 1000 */

/* The results of json_check(). */
struct json_fault {
    size_t at;            /* offset of the first byte that is not JSON */
    const char *expected; /* what was expected there */
    struct json_text key; /* the last key before that byte; length 0: none */
    size_t string_at;     /* offset of the last string before that byte */
    size_t length;        /* bytes of the first value; 0: it does not end, or is not valid */
    bool certain;         /* more text would not make that byte valid */
    bool not_finite;      /* the text has NaN or Infinity */
    unsigned surrogates;  /* number of halves of surrogate pairs, which are read as U+FFFD */
    size_t values;        /* number of values, including nested ones */
};

/* Whether TEXT is one JSON value and nothing else. Sets FAULT in any case. */
bool json_check(const char *text, size_t length, struct json_fault *fault);

/* Whether TEXT is the rest of an object, from the ',' or '}' after a member on. Sets FAULT in any case. */
bool json_check_rest(const char *text, size_t length, struct json_fault *fault);

/* Returns the end of the valid value at AT, or NULL if there is none before END. Adds the value's halves of surrogate
 * pairs to *SURROGATES. */
const char *json_pass(const char *at, const char *end, unsigned *surrogates);

/* Reads the next member of an object and moves *AT, which is behind the '{' or the member before. KEY has no quotes.
 * Returns false at the end of the object. */
bool json_member(const char **at, const char *end, struct json_text *key, struct json_text *value);

/* Reads the next element of an array and moves *AT, which is behind the '[' or the element before. Returns false at the
 * end of the array. */
bool json_element(const char **at, const char *end, struct json_text *value);

/* Returns the value of the first member of OBJECT with the key WANTED; its `at` is NULL if there is none. */
struct json_text json_find(struct json_text object, const char *wanted);

/* Pids and tids that are words, such as the "Spans" of Kineto, are numbered from here on. */
#define JSON_WORD_ROWS UINT32_C(0x60000000)

/* Reads a non-negative integer of at most 18 digits. Returns false if VALUE is anything else. */
bool json_integer(struct json_text value, uint64_t *integer);
/* Sets *VALUE to the member KEY of an object, of which TEXT is the inside. Returns false unless it is a
 * non-negative integer. */
bool json_find_integer(const char *text, size_t length, const char *key, uint64_t *value);

static inline bool json_is(struct json_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static inline bool json_is_string(struct json_text text)
{
    return text.length >= 2 && text.at[0] == '"';
}

/* Returns the text between the quotes of a string; empty if TEXT is not a string. */
static inline struct json_text json_inside(struct json_text text)
{
    return json_is_string(text) ? (struct json_text){text.at + 1, text.length - 2} : (struct json_text){0};
}

/* Replaces the phases 'S' and 'F', which old programs write, by 'b' and 'e'. */
static inline char json_phase(char phase)
{
    return phase == 'S' ? 'b' : phase == 'F' ? 'e' : phase;
}

/* Appends INSIDE, the inside of a string, to OUT without its escapes, as UTF-8. */
void json_unescape(struct buffer *out, struct json_text inside);

/* Returns TEXT with valid UTF-8, only necessary escapes, and null for NaN and Infinity: TEXT itself if it is so
 * already, else a copy in SCRATCH, a buffer in memory that is overwritten. */
struct json_text json_clean(struct json_text text, struct buffer *scratch);

/* --- the end of a value, without checking its content --- */

struct scan {
    size_t length; /* bytes of the value */
    size_t ph;     /* offset of the value of the object's last own key "ph"; 0: none */
};

/* Finds the end of the value at TEXT, which is not white space. Returns false if the value does not end within LENGTH
 * bytes. A number or word ends only where other text follows. */
bool scan_value(const char *text, size_t length, struct scan *scan);

/* Returns the end of the value at AT, which is not white space, or NULL if the value does not end before END. */
const char *json_value_end(const char *at, const char *end);

static inline bool json_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Returns the bytes of white space at the start of TEXT. */
static inline size_t scan_blank(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && json_is_blank(text[at]))
        at++;
    return at;
}

/* Reads the plain decimal at TEXT, microseconds, as ns, rounded. Sets *AFTER to the text behind it, which may be an
 * exponent. Exact, unlike a double: absolute times of today need more than its 53 bits. Returns false if there is no
 * decimal, or 64 bits cannot hold the ns. */
bool scan_ns(const char *text, const char **after, int64_t *ns);

/* Reads TEXT with scan_ns() and, behind it, white space. The byte behind TEXT must be readable. */
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
