#include "trace/json/json_event.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/map.h"
#include "common/buffer.h"
#include "trace/json/scan.h"

static bool is_key(struct json_text key, const char *word)
{
    return key.length == strlen(word) && memcmp(key.at, word, key.length) == 0;
}

static struct json_text inside(struct json_text text)
{
    return json_is_string(text) ? (struct json_text){text.at + 1, text.length - 2} : (struct json_text){0};
}

uint64_t json_id(struct json_text text)
{
    char digits[24] = "";
    if (text.length == 0)
        return 0;
    if (json_is_string(text))
        return hash_bytes(text.at, text.length) >> 2;
    memcpy(digits, text.at, text.length < sizeof(digits) ? text.length : sizeof(digits) - 1);
    return strtoull(digits, NULL, 10);
}

uint64_t json_ns(struct json_text text)
{
    int64_t ns;
    char digits[64];
    if (scan_ns(text.at, text.length, &ns))
        return ns > 0 ? (uint64_t)ns : 0;
    size_t length = text.length < sizeof(digits) - 1 ? text.length : sizeof(digits) - 1;
    memcpy(digits, text.at, length);
    digits[length] = '\0';
    double value = strtod(digits, NULL) * 1e3;
    return value > 0 && value < 9e18 ? (uint64_t)(value + 0.5) : 0;
}

struct json_event json_event_read(struct json_text text)
{
    struct json_event event = {0};
    struct json_text key, value, phase = {0};
    const char *at = text.at + 1, *end = text.at + text.length;
    if (text.length < 2 || text.at[0] != '{')
        return event;
    while (json_member(&at, end, &key, &value)) {
        if (is_key(key, "ph"))
            phase = inside(value);
        else if (is_key(key, "cat"))
            event.category = inside(value);
        else if (is_key(key, "name"))
            event.name = inside(value);
        else if (is_key(key, "pid"))
            event.pid = value;
        else if (is_key(key, "tid"))
            event.tid = value;
        else if (is_key(key, "id"))
            event.id = value;
        else if (is_key(key, "bind_id"))
            event.bind_id = value;
        else if (is_key(key, "flow_out"))
            event.flow_out = value.at[0] == 't';
        else if (is_key(key, "flow_in"))
            event.flow_in = value.at[0] == 't';
        else if (is_key(key, "args") && value.at[0] == '{')
            event.args = value;
        else if (is_key(key, "ts"))
            event.time = json_ns(value);
        else if (is_key(key, "dur"))
            event.duration = json_ns(value);
    }
    event.phase = phase.length == 1 ? phase.at[0] : '\0';
    return event;
}

bool json_event_arg(const struct json_event *event, const char *word, struct json_text *value)
{
    struct json_text key;
    if (event->args.length == 0)
        return false;
    const char *at = event->args.at + 1, *end = event->args.at + event->args.length;
    while (json_member(&at, end, &key, value))
        if (is_key(key, word))
            return true;
    return false;
}

char *json_unescaped(struct json_text text)
{
    struct json_text plain = inside(text);
    if (!json_is_string(text) || !memchr(plain.at, '\\', plain.length))
        return json_is_string(text) ? strndup(plain.at, plain.length) : strndup(text.at, text.length);
    struct buffer out;
    buffer_init_memory(&out);
    json_unescape(&out, plain);
    buffer_char(&out, '\0');
    if (!out.failure)
        return out.data;
    buffer_release(&out);
    return NULL;
}

/* The value is followed by ',' or '}'. What no 64-bit integer holds is a double, and so is -0. */
static void read_number(struct counter_value *value, const char *at)
{
    char *after;
    errno = 0;
    if (*at == '-') {
        value->kind = COUNTER_SIGNED;
        value->i64 = strtoll(at, &after, 10);
    } else {
        value->kind = COUNTER_UNSIGNED;
        value->u64 = strtoull(at, &after, 10);
    }
    if (errno == 0 && (*after == '\0' || !strchr(".eE", *after)) && (*at != '-' || value->i64 != 0))
        return;
    value->kind = COUNTER_REAL;
    value->real = strtod(at, NULL);
    if (!isfinite(value->real))
        value->real = copysign(__DBL_MAX__, value->real);
}

static void read_value(struct counter_value *value, struct json_text text)
{
    value->kind = COUNTER_UNSIGNED; /* 0, for what is not a number */
    if (*text.at == '-' || (*text.at >= '0' && *text.at <= '9'))
        read_number(value, text.at);
}

/* Names without escapes are put into TEXTS, which has room for all. */
static struct json_text read_name(struct json_text key, struct buffer *texts)
{
    size_t start = texts->length;
    if (!memchr(key.at, '\\', key.length))
        return key;
    json_unescape(texts, key);
    return (struct json_text){texts->data + start, texts->length - start};
}

static int read_values(const struct json_event *event, struct counter_values *values, struct buffer *texts)
{
    values->count = texts->length = 0;
    if (event->args.length == 0)
        return 0;
    const char *at = event->args.at + 1, *end = event->args.at + event->args.length;
    struct json_text key, value;
    if (!buffer_reserve(texts, event->args.length))
        return error_no_memory("a counter's values");
    while (json_member(&at, end, &key, &value)) {
        struct counter_value *read = array_push(values);
        if (!read)
            return error_no_memory("a counter's values");
        struct json_text name = read_name(key, texts);
        *read = (struct counter_value){.name = name.at, .length = name.length};
        read_value(read, value);
    }
    return 0;
}

static bool is_called(const struct counter_value *value, const char *name)
{
    return value->length == strlen(name) && memcmp(value->name, name, value->length) == 0;
}

/* Whether a double holds it. */
static bool is_exact(const struct counter_value *value)
{
    int64_t most = INT64_C(1) << 53;
    return value->kind == COUNTER_REAL || (value->kind == COUNTER_UNSIGNED && value->u64 <= (uint64_t)most) ||
           (value->kind == COUNTER_SIGNED && value->i64 >= -most);
}

static double as_real(const struct counter_value *value)
{
    return value->kind == COUNTER_REAL     ? value->real
           : value->kind == COUNTER_SIGNED ? (double)value->i64
                                           : (double)value->u64;
}

int json_counter_read(struct counter *counter, const struct json_event *event, struct counter_values *values,
                      struct buffer *texts)
{
    if (read_values(event, values, texts) < 0)
        return -1;
    counter->values = values->items;
    counter->value_count = values->count;
    if (values->count != 1)
        return 0;
    const struct counter_value *only = &values->items[0];
    if (is_called(only, "bytes") && only->kind == COUNTER_UNSIGNED) {
        counter->bytes = only->u64;
        counter->value_count = 0;
    } else if (is_called(only, "value") && is_exact(only)) {
        counter->real = true;
        counter->value = as_real(only);
        counter->value_count = 0;
    }
    return 0;
}
