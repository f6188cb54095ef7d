#include "tool/transcode/json_counter.h"

#include <stdlib.h>
#include <string.h>

static bool is_real(struct json_text value)
{
    for (size_t i = 0; i < value.length; i++)
        if (strchr(".eE", value.at[i]))
            return true;
    return false;
}

static size_t read_values(const struct json_event *event, struct counter_value values[JSON_COUNTER_VALUES])
{
    if (event->args.length == 0)
        return 0;
    const char *at = event->args.at + 1, *end = event->args.at + event->args.length;
    struct json_text key, value;
    size_t count = 0;
    while (count < JSON_COUNTER_VALUES && json_member(&at, end, &key, &value)) {
        struct counter_value *read = &values[count++];
        *read = (struct counter_value){.name = key.at, .length = key.length, .kind = COUNTER_SIGNED};
        if (is_real(value)) {
            read->kind = COUNTER_REAL;
            read->real = strtod(value.at, NULL);
        } else {
            read->i64 = strtoll(value.at, NULL, 10);
        }
    }
    return count;
}

void json_counter_read(struct counter *counter, const struct json_event *event,
                       struct counter_value values[JSON_COUNTER_VALUES])
{
    counter->values = values;
    counter->value_count = read_values(event, values);
    bool bytes = counter->value_count == 1 && values[0].length == 5 && memcmp(values[0].name, "bytes", 5) == 0;
    bool value = counter->value_count == 1 && values[0].length == 5 && memcmp(values[0].name, "value", 5) == 0;
    if (bytes && values[0].kind == COUNTER_SIGNED) {
        counter->bytes = values[0].u64;
        counter->value_count = 0;
    } else if (value) {
        counter->real = true;
        counter->value = values[0].kind == COUNTER_REAL ? values[0].real : (double)values[0].i64;
        counter->value_count = 0;
    }
}
