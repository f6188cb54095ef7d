#include "trace/json/json_counter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/sink.h"

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
static struct json_text read_name(struct json_text key, struct sink *texts)
{
    size_t start = texts->length;
    if (!memchr(key.at, '\\', key.length))
        return key;
    json_unescape(texts, key);
    return (struct json_text){texts->data + start, texts->length - start};
}

static int read_values(const struct json_event *event, struct counter_values *values, struct sink *texts)
{
    values->count = texts->length = 0;
    if (event->args.length == 0)
        return 0;
    const char *at = event->args.at + 1, *end = event->args.at + event->args.length;
    struct json_text key, value;
    if (!sink_reserve(texts, event->args.length))
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
                      struct sink *texts)
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
