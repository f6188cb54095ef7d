#include "tool/transcode/json_counter.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"

static bool is_real(struct json_text value)
{
    for (size_t i = 0; i < value.length; i++)
        if (strchr(".eE", value.at[i]))
            return true;
    return false;
}

static int read_values(const struct json_event *event, struct counter_values *values)
{
    values->count = 0;
    if (event->args.length == 0)
        return 0;
    const char *at = event->args.at + 1, *end = event->args.at + event->args.length;
    struct json_text key, value;
    while (json_member(&at, end, &key, &value)) {
        struct counter_value *read = array_push(values);
        if (!read)
            return error_no_memory("a counter's values");
        *read = (struct counter_value){.name = key.at, .length = key.length, .kind = COUNTER_SIGNED};
        if (is_real(value)) {
            read->kind = COUNTER_REAL;
            read->real = strtod(value.at, NULL);
        } else {
            read->i64 = strtoll(value.at, NULL, 10);
        }
    }
    return 0;
}

static bool is_called(const struct counter_value *value, const char *name)
{
    return value->length == strlen(name) && memcmp(value->name, name, value->length) == 0;
}

int json_counter_read(struct counter *counter, const struct json_event *event, struct counter_values *values)
{
    if (read_values(event, values) < 0)
        return -1;
    counter->values = values->items;
    counter->value_count = values->count;
    if (values->count != 1)
        return 0;
    const struct counter_value *only = &values->items[0];
    if (is_called(only, "bytes") && only->kind == COUNTER_SIGNED) {
        counter->bytes = only->u64;
        counter->value_count = 0;
    } else if (is_called(only, "value")) {
        counter->real = true;
        counter->value = only->kind == COUNTER_REAL ? only->real : (double)only->i64;
        counter->value_count = 0;
    }
    return 0;
}
