/*
 * Writes JSON into a buffer. A stack of levels knows whether the next value needs a comma. Stretches of text that need
 * no escaping are copied as a whole.
 */
#include "common/json_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/text.h"

void json_out_init(struct json_out *json, struct buffer *buffer, bool pretty)
{
    *json = (struct json_out){.buffer = buffer, .pretty = pretty};
}

static void new_line(struct json_out *json, int depth)
{
    buffer_char(json->buffer, '\n');
    for (int i = 0; i < depth; i++)
        buffer_bytes(json->buffer, "  ", 2);
}

/* Writes the comma before a key or a value, and a new line where the output is pretty. */
static void separate(struct json_out *json)
{
    if (json->depth == 0)
        return;
    struct json_level *level = &json->levels[json->depth - 1];
    if (level->any)
        buffer_char(json->buffer, ',');
    if (json->pretty && !level->flat)
        new_line(json, json->depth);
    else if (level->any && json->pretty)
        buffer_char(json->buffer, ' ');
    level->any = true;
}

static void begin_value(struct json_out *json)
{
    if (!json->has_key)
        separate(json);
    json->has_key = false;
}

static void begin(struct json_out *json, char open, char close, bool flat)
{
    begin_value(json);
    bool inside_flat = json->depth > 0 && json->levels[json->depth - 1].flat;
    buffer_char(json->buffer, open);
    if (json->depth < JSON_DEPTH_MAX)
        json->levels[json->depth++] = (struct json_level){.close = close, .flat = flat || inside_flat};
}

void json_begin_object(struct json_out *json)
{
    begin(json, '{', '}', false);
}

void json_begin_array(struct json_out *json)
{
    begin(json, '[', ']', false);
}

void json_begin_object_flat(struct json_out *json)
{
    begin(json, '{', '}', true);
}

void json_begin_array_flat(struct json_out *json)
{
    begin(json, '[', ']', true);
}

void json_end(struct json_out *json)
{
    struct json_level level = json->levels[--json->depth];
    if (json->pretty && !level.flat && level.any)
        new_line(json, json->depth);
    buffer_char(json->buffer, level.close);
}

static bool plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

void json_escape(struct buffer *buffer, const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        size_t run = at;
        while (run < length && plain((unsigned char)text[run]))
            run++;
        buffer_bytes(buffer, text + at, run - at);
        at = run;
        if (at == length)
            break;
        unsigned char c = (unsigned char)text[at];
        size_t size = c < 0x80 ? 1 : utf8_size(text + at, length - at);
        if (c < 0x80) {
            static const char short_forms[] = "\b\f\n\r\t\"\\";
            static const char letters[] = "bfnrt\"\\";
            const char *found = c ? strchr(short_forms, c) : NULL;
            if (found) {
                char pair[2] = {'\\', letters[found - short_forms]};
                buffer_bytes(buffer, pair, 2);
            } else {
                buffer_format(buffer, "\\u%04x", c);
            }
        } else {
            buffer_bytes(buffer, size ? text + at : UTF8_REPLACEMENT, size ? size : strlen(UTF8_REPLACEMENT));
        }
        at += size ? size : 1;
    }
}

void json_key(struct json_out *json, const char *key)
{
    json_key_raw(json, key, strlen(key));
}

void json_key_text(struct json_out *json, const char *key, size_t length)
{
    json_string_n(json, key, length);
    buffer_text(json->buffer, json->pretty ? ": " : ":");
    json->has_key = true;
}

void json_key_raw(struct json_out *json, const char *key, size_t length)
{
    separate(json);
    buffer_char(json->buffer, '"');
    buffer_bytes(json->buffer, key, length);
    buffer_text(json->buffer, json->pretty ? "\": " : "\":");
    json->has_key = true;
}

void json_string_n(struct json_out *json, const char *text, size_t length)
{
    begin_value(json);
    buffer_char(json->buffer, '"');
    json_escape(json->buffer, text, length);
    buffer_char(json->buffer, '"');
}

void json_string(struct json_out *json, const char *text)
{
    if (text)
        json_string_n(json, text, strlen(text));
    else
        json_raw(json, "null", 4);
}

void json_u64(struct json_out *json, uint64_t value)
{
    begin_value(json);
    buffer_u64(json->buffer, value);
}

void json_i64(struct json_out *json, int64_t value)
{
    begin_value(json);
    buffer_i64(json->buffer, value);
}

void json_bool(struct json_out *json, bool value)
{
    json_raw(json, value ? "true" : "false", value ? 4 : 5);
}

void json_double(struct json_out *json, double value, int decimals)
{
    begin_value(json);
    if (!isfinite(value))
        value = 0;
    if (decimals >= 0) {
        buffer_format(json->buffer, "%.*f", decimals, value);
        return;
    }
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buffer_text(json->buffer, text);
}

void json_us(struct json_out *json, int64_t ns)
{
    begin_value(json);
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        buffer_char(json->buffer, '-');
    buffer_u64(json->buffer, size / 1000);
    unsigned rest = (unsigned)(size % 1000);
    char decimals[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
    buffer_bytes(json->buffer, decimals, 4);
}

void json_raw(struct json_out *json, const char *text, size_t size)
{
    begin_value(json);
    buffer_bytes(json->buffer, text, size);
}

void json_put_hex(struct json_out *json, const char *key, uint64_t value)
{
    char number[NUMBER_SPACE];
    json_key(json, key);
    json_string_n(json, number, (size_t)(number_hex(number, value) - number));
}
