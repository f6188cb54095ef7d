/*
 * JSON output that owns commas, nesting and escaping, so that what it writes is always well-formed.
 *
 * Text goes out as UTF-8 as it is; only what JSON demands is escaped, and bytes that are not UTF-8 become U+FFFD.
 * Numbers are always finite: NaN and infinities become 0, for readers that stop at them.
 */
#ifndef GPUTRACE_COMMON_JSON_OUT_H
#define GPUTRACE_COMMON_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

#define JSON_DEPTH_MAX 32

struct json_out {
    struct buffer *buffer;
    bool pretty;  /* a line per value, indented by two blanks; else no white space at all */
    bool has_key; /* the next value belongs to a key already written */
    int depth;
    struct json_level {
        char close; /* '}' or ']' */
        bool any;   /* something was written at this level */
        bool flat;  /* written on one line though the rest is pretty */
    } levels[JSON_DEPTH_MAX];
};

void json_out_init(struct json_out *json, struct buffer *buffer, bool pretty);

void json_begin_object(struct json_out *json);
void json_begin_array(struct json_out *json);
/* Begin an object or array that stays on one line, for the many small things in a pretty file. */
void json_begin_object_flat(struct json_out *json);
void json_begin_array_flat(struct json_out *json);
/* Ends the innermost object or array. */
void json_end(struct json_out *json);

/* Writes a key that needs no escaping, such as a literal. */
void json_key(struct json_out *json, const char *key);
/* Writes a key and escapes it. */
void json_key_text(struct json_out *json, const char *key, size_t length);
/* Writes a key that comes from a JSON string and is escaped already. */
void json_key_raw(struct json_out *json, const char *key, size_t length);

void json_string(struct json_out *json, const char *text); /* NULL is written as null */
void json_string_n(struct json_out *json, const char *text, size_t length);
void json_u64(struct json_out *json, uint64_t value);
void json_i64(struct json_out *json, int64_t value);
void json_bool(struct json_out *json, bool value);
void json_double(struct json_out *json, double value, int decimals); /* decimals < 0: the shortest exact form */
/* Writes nanoseconds as microseconds with three decimals, exactly. */
void json_us(struct json_out *json, int64_t ns);
/* Writes SIZE bytes that are a JSON value already. */
void json_raw(struct json_out *json, const char *text, size_t size);

/* Write a key and begin its value. */
static inline void json_key_object(struct json_out *json, const char *key)
{
    json_key(json, key);
    json_begin_object(json);
}
static inline void json_key_array(struct json_out *json, const char *key)
{
    json_key(json, key);
    json_begin_array(json);
}

/* Write a key and its value; json_put_hex() writes a string "0x1f". */
static inline void json_put_u64(struct json_out *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_u64(json, value);
}
static inline void json_put_i64(struct json_out *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_i64(json, value);
}
static inline void json_put_text(struct json_out *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}
static inline void json_put_text_n(struct json_out *json, const char *key, const char *text, size_t length)
{
    json_key(json, key);
    json_string_n(json, text, length);
}
void json_put_hex(struct json_out *json, const char *key, uint64_t value);

/* Writes TEXT to BUFFER, escaped as the inside of a JSON string, without quotes. */
void json_escape(struct buffer *buffer, const char *text, size_t length);

#endif
