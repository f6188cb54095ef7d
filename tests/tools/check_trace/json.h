/*
 * A strict reader of JSON (RFC 8259) in UTF-8 (RFC 3629): a value at a time, as a small tree. What others forgive is an
 * error here: trailing commas, comments, NaN, numbers like 01 or 1., control characters in texts, half a surrogate
 * pair, overlong or cut UTF-8, the same key twice in one object, more than JSON_DEPTH levels.
 *
 * The first error ends the program: nothing is known about the file behind it.
 */
#ifndef CHECK_TRACE_JSON_H
#define CHECK_TRACE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* The bytes of a trace file, plain or gzip, one by one, with the line they are on. */
enum { INPUT_END = -1 };

struct input {
    gzFile file;
    const char *path;
    uint64_t line; /* of the next byte, from 1 */
    size_t at, filled;
    unsigned char bytes[1 << 18];
};

/* Gives 0, or -1 after a message. */
int input_open(struct input *input, const char *path);
void input_close(struct input *input);

/* Reads more; gives the next byte without taking it, or INPUT_END. Exits with a message when the file cannot be read
 * or its gzip data is cut or damaged. */
int input_fill(struct input *input);

static inline int input_peek(struct input *input)
{
    return input->at < input->filled ? input->bytes[input->at] : input_fill(input);
}

static inline int input_next(struct input *input)
{
    int byte = input_peek(input);
    if (byte != INPUT_END) {
        input->at++;
        input->line += byte == '\n';
    }
    return byte;
}

enum { JSON_DEPTH = 64 };

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_type type;
    bool space;       /* white space came between the colon and this value */
    const char *key;  /* of a member of an object, else NULL */
    const char *text; /* a string's contents or a number's digits, terminated; "" otherwise */
    size_t key_length, length;
    struct json *first, *next; /* children, in their order */
};

struct json_reader {
    struct input *input;
    bool surrogates; /* pairs of \ud8xx\udcxx are let pass; Perfetto stops at them, so a trace should not have them */
    int depth;
    struct json_block *blocks, *block; /* memory of the trees */
    char *word;                        /* the text being read */
    size_t word_capacity;
};

void json_reader_init(struct json_reader *reader, struct input *input, bool surrogates);
void json_reader_release(struct json_reader *reader);

/* Reads the value that comes next, after white space. It lives until json_forget(). */
struct json *json_read(struct json_reader *reader);
void json_forget(struct json_reader *reader);

/* For reading an outermost object or array by hand: white space, one expected byte, a key with its colon. */
void json_white(struct json_reader *reader);
bool json_accept(struct json_reader *reader, char byte);
void json_expect(struct json_reader *reader, char byte, const char *where);
struct json *json_read_member(struct json_reader *reader);
const char *json_read_key(struct json_reader *reader);

/* "FILE:LINE: not valid JSON: MESSAGE", and exit status 1. */
_Noreturn void json_fail(const struct json_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The member of OBJECT named KEY; NULL when there is none, or OBJECT is NULL or no object. */
const struct json *json_member(const struct json *object, const char *key);

/* A number that is written as an integer within 64 bits. */
bool json_integer(const struct json *value, int64_t *integer);

/* A number of microseconds as nanoseconds. *exact is false when it is finer, or not written plainly. */
bool json_time(const struct json *value, int64_t *ns, bool *exact);

#endif
