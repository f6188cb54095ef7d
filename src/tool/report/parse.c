#include "tool/report/parse.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tool/report/scan.h"

enum field_type { FIELD_NUMBER, FIELD_TEXT, FIELD_TRIPLE };

/* The arguments that are wanted, and where they go. */
static const struct field {
    const char *key;
    enum field_type type;
    size_t offset;
} fields[] = {
#define FIELD(key, type, member)                                \
    {                                                           \
        key, FIELD_##type, offsetof(struct trace_event, member) \
    }
    FIELD("correlation", NUMBER, correlation),
    FIELD("device", NUMBER, device),
    FIELD("context", NUMBER, context),
    FIELD("stream", NUMBER, stream),
    FIELD("bytes", NUMBER, bytes),
    FIELD("return value", NUMBER, return_value),
    FIELD("result", NUMBER, return_value),
    FIELD("grid", TRIPLE, grid),
    FIELD("block", TRIPLE, block),
    FIELD("wait_on_stream", NUMBER, wait_on_stream),
    FIELD("wait_on_cuda_event_id", NUMBER, wait_on_event),
    FIELD("mangled name", TEXT, mangled_name),
    FIELD("domain", TEXT, domain),
    FIELD("kind", TEXT, memory_kind),
    FIELD("name", TEXT, label),
    FIELD("labels", TEXT, label),
    FIELD("open at end", NUMBER, open_at_end),
    FIELD("cache hit", NUMBER, cache_hit),
    FIELD("thread", NUMBER, of_thread),
    FIELD("function", TEXT, function),
    FIELD("ending", TEXT, ending),
    FIELD("address", NUMBER, address),
    FIELD("held", NUMBER, held),
    FIELD("held by kind", TEXT, held_by_kind),
    FIELD("fault", TEXT, fault),
    FIELD("stack", NUMBER, stack),
    /* PyTorch's allocator */
    FIELD("Addr", NUMBER, address),
    FIELD("Total Reserved", NUMBER, total_reserved),
    FIELD("Bytes", NUMBER, bytes),
    FIELD("Total Allocated", NUMBER, total_allocated),
    FIELD("Device Id", NUMBER, device),
    FIELD("Device Type", NUMBER, device_type),
#undef FIELD
};
#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))

static const struct {
    const char *word;
    enum event_category category;
} categories[] = {
#define CATEGORY(name, word) {word, EVENT_##name},
    EVENT_CATEGORIES(CATEGORY)
#undef CATEGORY
};

void parser_init(struct parser *parser, struct interner *strings)
{
    *parser = (struct parser){.strings = strings};
}

void parser_release(struct parser *parser)
{
    arena_release(&parser->arena);
}

static enum event_category find_category(const char *word)
{
    for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
        if (strcmp(categories[i].word, word) == 0)
            return categories[i].category;
    return EVENT_OTHER;
}

static bool to_integer(double value, int64_t *integer)
{
    if (!(value > -9.2e18 && value < 9.2e18)) /* NaN too */
        return false;
    *integer = llround(value);
    return true;
}

static bool intern_text(struct parser *parser, const char *text, uint32_t *number)
{
    *number = intern(parser->strings, text, strlen(text));
    return *number != INTERN_NO_MEMORY;
}

/* A number, or a text that is one, as results are written by some; true is 1, false 0. */
static void take_number(const cJSON *value, int64_t *number)
{
    if (cJSON_IsNumber(value))
        to_integer(value->valuedouble, number);
    else if (cJSON_IsString(value) && *value->valuestring)
        *number = strtoll(value->valuestring, NULL, 0);
    else if (cJSON_IsBool(value))
        *number = cJSON_IsTrue(value);
}

static bool take_text(struct parser *parser, const cJSON *value, uint32_t *text)
{
    char digits[32];
    if (cJSON_IsString(value))
        return intern_text(parser, value->valuestring, text);
    if (!cJSON_IsNumber(value))
        return true;
    snprintf(digits, sizeof(digits), "%.15g", value->valuedouble);
    return intern_text(parser, digits, text);
}

static void take_triple(const cJSON *value, int64_t triple[3])
{
    const cJSON *item = cJSON_IsArray(value) ? value->child : NULL;
    for (int i = 0; i < 3 && item; i++, item = item->next)
        take_number(item, &triple[i]);
}

static const struct field *find_field(const char *key)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (fields[i].key[0] == key[0] && strcmp(fields[i].key, key) == 0)
            return &fields[i];
    return NULL;
}

static bool take_args(struct parser *parser, const cJSON *args, struct trace_event *event)
{
    if (!cJSON_IsObject(args))
        return true;
    for (const cJSON *value = args->child; value; value = value->next) {
        const struct field *field = find_field(value->string);
        if (!field)
            continue;
        void *place = (char *)event + field->offset;
        if (field->type == FIELD_TEXT && !take_text(parser, value, place))
            return false;
        if (field->type == FIELD_NUMBER)
            take_number(value, place);
        if (field->type == FIELD_TRIPLE)
            take_triple(value, place);
    }
    return true;
}

static bool take_id(struct parser *parser, const cJSON *value, event_id *id)
{
    int64_t number = 0;
    uint32_t text = 0;
    if (cJSON_IsString(value)) {
        if (!intern_text(parser, value->valuestring, &text))
            return false;
        *id = event_id_text(text);
    } else if (cJSON_IsNumber(value) && to_integer(value->valuedouble, &number)) {
        *id = event_id_number(number);
    }
    return true;
}

/* Times beyond 146 years are none, so that the difference of two always fits. */
#define TIME_LIMIT (INT64_MAX / 2)

/* The time VALUE, whose text may have been found by the scan at AT; false: it is no time. */
static bool take_time(const cJSON *value, const char *text, size_t length, size_t at, int64_t *ns)
{
    if (!cJSON_IsNumber(value))
        return false;
    if (!(at && scan_ns(text + at, length - at, ns)) && !to_integer(value->valuedouble * 1e3, ns))
        return false;
    return *ns >= -TIME_LIMIT && *ns <= TIME_LIMIT;
}

/* The values of an event's own keys, of which the last of a name counts. */
struct members {
    const cJSON *phase, *category, *name, *process, *thread, *start, *duration, *id, *args;
};

static void find_members(const cJSON *root, struct members *members)
{
    static const struct {
        const char *key;
        size_t offset;
    } places[] = {
        {"ph", offsetof(struct members, phase)},     {"cat", offsetof(struct members, category)},
        {"name", offsetof(struct members, name)},    {"pid", offsetof(struct members, process)},
        {"tid", offsetof(struct members, thread)},   {"ts", offsetof(struct members, start)},
        {"dur", offsetof(struct members, duration)}, {"id", offsetof(struct members, id)},
        {"args", offsetof(struct members, args)},
    };
    for (const cJSON *value = root->child; value; value = value->next)
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
            if (places[i].key[0] == value->string[0] && strcmp(places[i].key, value->string) == 0)
                *(const cJSON **)((char *)members + places[i].offset) = value;
}

static enum parse_result not_an_event(struct parser *parser, const char *expected)
{
    parser->expected = expected;
    return PARSE_NOT_AN_EVENT;
}

static enum parse_result take_times(struct parser *parser, const struct members *members, const char *text,
                                    const struct scan *scan, struct trace_event *event)
{
    event->start = EVENT_NONE;
    if (!take_time(members->start, text, scan->length, scan->ts, &event->start) && event->phase != 'M')
        return not_an_event(parser, "a number of microseconds in \"ts\"");
    if (event->phase != 'X')
        return PARSE_DONE;
    if (!take_time(members->duration, text, scan->length, scan->dur, &event->duration))
        return not_an_event(parser, "a number of microseconds in \"dur\"");
    if (event->duration < 0 || event->start + event->duration > TIME_LIMIT)
        return not_an_event(parser, "a \"dur\" that is not negative and ends in this age");
    return PARSE_DONE;
}

/* Ranges that the program put into its streams look to others like those of NVTX. */
static void tell_device_range(const struct members *members, struct trace_event *event)
{
    const cJSON *from =
        event->category == EVENT_GPU_RANGE ? cJSON_GetObjectItemCaseSensitive(members->args, "from") : NULL;
    if (cJSON_IsString(from) && strcmp(from->valuestring, EVENT_DEVICE_RANGE_WORD) == 0)
        event->category = EVENT_DEVICE_RANGE;
}

static enum parse_result convert(struct parser *parser, const char *text, const struct scan *scan,
                                 struct trace_event *event)
{
    struct members members = {0};
    if (!cJSON_IsObject(parser->root))
        return not_an_event(parser, "an object");
    find_members(parser->root, &members);
    if (!cJSON_IsString(members.phase) || strlen(members.phase->valuestring) != 1)
        return not_an_event(parser, "one letter in \"ph\"");
    event->phase = *members.phase->valuestring;
    if (cJSON_IsString(members.category))
        event->category = find_category(members.category->valuestring);
    enum parse_result result = take_times(parser, &members, text, scan, event);
    if (result != PARSE_DONE)
        return result;
    if (event->phase == 'X' && !cJSON_IsString(members.name))
        return not_an_event(parser, "a text in \"name\"");
    if (cJSON_IsString(members.name) && !intern_text(parser, members.name->valuestring, &event->name))
        return PARSE_NO_MEMORY;
    event->has_id = members.id != NULL;
    if (!take_id(parser, members.process, &event->process) || !take_id(parser, members.thread, &event->thread) ||
        !take_id(parser, members.id, &event->id) || !take_args(parser, members.args, event))
        return PARSE_NO_MEMORY;
    tell_device_range(&members, event);
    return PARSE_DONE;
}

enum parse_result parser_json(struct parser *parser, const char *text, const struct scan *scan)
{
    const char *end = text;
    arena_enter(&parser->arena);
    parser->root = cJSON_ParseWithLengthOpts(text, scan->length, &end, false);
    if (parser->root && end == text + scan->length)
        return PARSE_DONE;
    parser->error_at = (size_t)(end - text);
    return parser->arena.full ? PARSE_TOO_LARGE : PARSE_NOT_JSON;
}

void parser_clear(struct parser *parser)
{
    arena_leave(&parser->arena);
    parser->root = NULL;
}

enum parse_result parser_event(struct parser *parser, const char *text, const struct scan *scan,
                               struct trace_event *event)
{
    static const struct trace_event nothing = {
        .name = EVENT_NO_TEXT,
        .correlation = EVENT_NONE,
        .device = EVENT_NONE,
        .context = EVENT_NONE,
        .stream = EVENT_NONE,
        .bytes = EVENT_NONE,
        .return_value = EVENT_NONE,
        .grid = {EVENT_NONE, EVENT_NONE, EVENT_NONE},
        .block = {EVENT_NONE, EVENT_NONE, EVENT_NONE},
        .wait_on_stream = EVENT_NONE,
        .wait_on_event = EVENT_NONE,
        .address = EVENT_NONE,
        .held = EVENT_NONE,
        .stack = EVENT_NONE,
        .total_allocated = EVENT_NONE,
        .total_reserved = EVENT_NONE,
        .device_type = EVENT_NONE,
        .mangled_name = EVENT_NO_TEXT,
        .domain = EVENT_NO_TEXT,
        .cache_hit = EVENT_NONE,
        .of_thread = EVENT_NONE,
        .memory_kind = EVENT_NO_TEXT,
        .fault = EVENT_NO_TEXT,
        .held_by_kind = EVENT_NO_TEXT,
        .function = EVENT_NO_TEXT,
        .ending = EVENT_NO_TEXT,
        .label = EVENT_NO_TEXT,
    };
    *event = nothing;
    enum parse_result result = parser_json(parser, text, scan);
    if (result == PARSE_DONE)
        result = convert(parser, text, scan, event);
    parser_clear(parser);
    return result;
}
