/* Finds the members of events in their text, without building a tree, and assigns ids to flows. */
#include "trace/json/events.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "trace/event_fields.h"

uint64_t json_id(struct json_text text)
{
    char digits[24] = "";
    event_id number;
    if (text.length == 0)
        return 0;
    if (json_is_string(text) && !event_id_of_digits(text.at + 1, text.length - 2, &number))
        return hash_bytes(text.at, text.length) >> 2;
    text = json_is_string(text) ? json_inside(text) : text;
    memcpy(digits, text.at, text.length < sizeof(digits) ? text.length : sizeof(digits) - 1);
    return strtoull(digits, NULL, 10);
}

uint64_t json_range_id(const struct json_event *event)
{
    struct json_text id = event->id, scope = event->scope,
                     pid = event->id_is_local ? event->pid : (struct json_text){0};
    const uint64_t parts[] = {json_id(id), hash_bytes(scope.at, scope.length), hash_bytes(pid.at, pid.length)};
    return scope.length + pid.length > 0 ? hash_bytes(parts, sizeof(parts)) >> 2 : parts[0];
}

int64_t json_ns(struct json_text text)
{
    int64_t ns;
    char digits[64];
    text = json_is_string(text) ? json_inside(text) : text;
    if (json_exact_ns(text, &ns))
        return ns;
    size_t length = text.length < sizeof(digits) - 1 ? text.length : sizeof(digits) - 1;
    memcpy(digits, text.at, length);
    digits[length] = '\0';
    double value = strtod(digits, NULL) * 1e3;
    return value > -9e18 && value < 9e18 ? llround(value) : 0;
}

struct json_event json_event_read(struct json_text text)
{
    struct json_event event = {0};
    struct json_text key, value, phase = {0};
    bool has_duration = false;
    const char *at = text.at + 1, *end = text.at + text.length;
    if (text.length < 2 || text.at[0] != '{')
        return event;
    while (json_member(&at, end, &key, &value)) {
        if (json_is(key, "ph"))
            phase = json_inside(value);
        else if (json_is(key, "cat"))
            event.category = json_inside(value);
        else if (json_is(key, "name"))
            event.name = json_inside(value);
        else if (json_is(key, "pid"))
            event.pid = value;
        else if (json_is(key, "tid"))
            event.tid = value;
        else if (json_is(key, "id"))
            event.id = value;
        else if (json_is(key, "id2") && value.at[0] == '{' &&
                 json_member(&(const char *){value.at + 1}, end, &key, &event.id))
            event.id_is_local = json_is(key, "local");
        else if (json_is(key, "scope"))
            event.scope = value;
        else if (json_is(key, "bind_id"))
            event.bind_id = value;
        else if (json_is(key, "flow_out"))
            event.flow_out = value.at[0] == 't';
        else if (json_is(key, "flow_in"))
            event.flow_in = value.at[0] == 't';
        else if (json_is(key, "args") && value.at[0] == '{')
            event.args = value;
        else if (json_is(key, "ts"))
            event.time = json_ns(value);
        else if (json_is(key, "dur") && (has_duration = true))
            event.duration = json_ns(value) > 0 ? (uint64_t)json_ns(value) : 0;
    }
    event.phase = phase.length == 1 ? json_phase(phase.at[0]) : '\0';
    event.is_open = event.phase == 'X' && !has_duration;
    return event;
}

bool json_event_arg(const struct json_event *event, const char *word, struct json_text *value)
{
    struct json_text key;
    if (event->args.length == 0)
        return false;
    const char *at = event->args.at + 1, *end = event->args.at + event->args.length;
    while (json_member(&at, end, &key, value))
        if (json_is(key, word))
            return true;
    return false;
}

char *json_unescaped(struct json_text text)
{
    struct json_text plain = json_inside(text);
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

/* Reads the number at AT, which ',' or '}' follows. Numbers that 64-bit integers cannot hold, and -0, become
 * doubles. */
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

/* Reads the arguments of a counter. Names that had escapes are stored in TEXTS, which is reserved first so that it does
 * not move. */
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
        size_t start = texts->length;
        if (memchr(key.at, '\\', key.length)) {
            json_unescape(texts, key);
            key = (struct json_text){texts->data + start, texts->length - start};
        }
        *read = (struct counter_value){.name = key.at, .length = key.length, .kind = COUNTER_UNSIGNED};
        value.at += json_is_string(value);
        if (*value.at == '-' || (*value.at >= '0' && *value.at <= '9')) /* any other value counts as 0 */
            read_number(read, value.at);
    }
    return 0;
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
    const struct json_text name = {only->name, only->length};
    const int64_t most = INT64_C(1) << 53; /* doubles hold all integers up to this */
    bool is_exact = only->kind == COUNTER_REAL || (only->kind == COUNTER_UNSIGNED && only->u64 <= (uint64_t)most) ||
                    (only->kind == COUNTER_SIGNED && only->i64 >= -most);
    if (json_is(name, "bytes") && only->kind == COUNTER_UNSIGNED) {
        counter->bytes = only->u64;
        counter->value_count = 0;
    } else if (json_is(name, "value") && is_exact) {
        counter->real = true;
        counter->value = only->kind == COUNTER_REAL ? only->real : (double)only->i64;
        counter->value_count = 0;
    }
    return 0;
}

struct json_text json_plain(struct json_text inside, struct buffer *scratch)
{
    if (!memchr(inside.at, '\\', inside.length))
        return inside;
    scratch->length = 0;
    json_unescape(scratch, inside);
    return scratch->failure ? (struct json_text){"", 0} : (struct json_text){scratch->data, scratch->length};
}

/* --- numbers --- */

#define NUMBER_BYTES 64 /* longer numbers stay text */

/* Reads the digits at *AT. Returns false if there are none, or if 64 bits cannot hold their value. */
static bool read_digits(const char **at, const char *end, uint64_t *value)
{
    const char *start = *at;
    for (*value = 0; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*value, UINT64_C(10), value) ||
            __builtin_add_overflow(*value, (uint64_t)(**at - '0'), value))
            return false;
    return *at > start;
}

void json_number(struct json_text text, struct arg *arg)
{
    char digits[NUMBER_BYTES];
    /* An integer that 64 bits hold. -0 is not one, as it would lose its sign. */
    bool negative = *text.at == '-';
    const char *at = text.at + negative, *end = text.at + text.length;
    uint64_t integer;
    if (read_digits(&at, end, &integer) && at == end && (!negative || (integer != 0 && integer <= UINT64_C(1) << 63))) {
        arg->type = negative ? ARG_TYPE_I64 : ARG_TYPE_U64;
        arg->u64 = negative ? 0 - integer : integer;
        return;
    }
    arg->type = ARG_TYPE_RAW;
    arg->text = text.at;
    arg->length = text.length;
    if (text.length >= sizeof(digits))
        return;
    memcpy(digits, text.at, text.length);
    digits[text.length] = '\0';
    double value = strtod(digits, NULL);
    if (!isfinite(value) || (value != 0 && !strpbrk(digits, ".eE")))
        return;
    arg->type = ARG_TYPE_REAL;
    arg->real = value;
    if (value == floor(value) && fabs(value) < 0x1p53 && (value != 0 || !signbit(value))) {
        arg->type = value < 0 ? ARG_TYPE_I64 : ARG_TYPE_U64;
        arg->i64 = (int64_t)value;
    }
}

bool json_triple(struct json_text value, int32_t triple[3])
{
    const char *at = value.at + 1, *end = value.at + value.length;
    if (*value.at != '[')
        return false;
    for (int i = 0; i < 3; i++) {
        char *after;
        at += scan_blank(at, (size_t)(end - at));
        long long number = *at >= '0' && *at <= '9' ? strtoll(at, &after, 10) : -1;
        if (number < 0 || number > INT32_MAX)
            return false;
        triple[i] = (int32_t)number;
        at = after + scan_blank(after, (size_t)(end - after));
        if (at == end || *at++ != (i < 2 ? ',' : ']'))
            return false;
    }
    return true;
}

/* --- flows --- */

void flow_ids_release(struct flow_ids *ids)
{
    map_release(&ids->seen);
    map_release(&ids->several);
    array_release(&ids->fans);
}

static struct flow_fan *find_fan(const struct flow_ids *ids, uint32_t bind_id)
{
    return ids->fans.count > 0 ? FIND_ITEM(&ids->fans, &ids->several, bind_id) : NULL;
}

int flow_ids_note(struct flow_ids *ids, uint32_t bind_id, bool is_head)
{
    if (bind_id > ids->highest)
        ids->highest = bind_id;
    if (!is_head)
        return 0;
    uint64_t *bits = map_put(&ids->seen, bind_id / 64, NULL), bit = UINT64_C(1) << bind_id % 64;
    if (!bits)
        return error_no_memory("flows");
    struct flow_fan *fan = *bits & bit ? PUT_ITEM(&ids->fans, &ids->several, bind_id) : NULL;
    if (!fan && *bits & bit)
        return error_no_memory("flows");
    if (fan)
        fan->further++;
    *bits |= bit;
    return 0;
}

void flow_ids_number(struct flow_ids *ids)
{
    uint64_t next = (uint64_t)ids->highest + 1;
    for (size_t i = 0; i < ids->fans.count; i++) {
        struct flow_fan *fan = &ids->fans.items[i];
        fan->first = next + fan->further - 1 <= UINT32_MAX ? (uint32_t)next : 0;
        next += fan->further;
    }
}

uint32_t flow_ids_count(const struct flow_ids *ids, uint32_t bind_id)
{
    const struct flow_fan *fan = find_fan(ids, bind_id);
    return fan && fan->first != 0 ? 1 + fan->further : 1;
}

uint32_t flow_ids_tail(const struct flow_ids *ids, uint32_t bind_id, uint32_t i)
{
    return i == 0 ? bind_id : find_fan(ids, bind_id)->first + i - 1;
}

uint32_t flow_ids_head(struct flow_ids *ids, uint32_t bind_id)
{
    struct flow_fan *fan = find_fan(ids, bind_id);
    uint32_t before = fan ? fan->met++ : 0;
    return before == 0 ? bind_id : fan->first != 0 ? fan->first + before - 1 : 0;
}
