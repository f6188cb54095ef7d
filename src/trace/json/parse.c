#include "trace/json/parse.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/map.h"
#include "trace/json/text.h"
#include "trace/event_fields.h"
#include "trace/shapes.h"

#define BLOCK_BYTES ((size_t)64 * 1024)
#define ALIGNMENT 16

struct arena_block {
    struct arena_block *older;
    size_t used, size;
    _Alignas(ALIGNMENT) char data[];
};

/* cJSON's hooks know no context, so the arena of the moment is the thread's. */
static _Thread_local struct arena *current;
static pthread_once_t hooked = PTHREAD_ONCE_INIT;

static struct arena_block *add_block(struct arena *arena, size_t wanted)
{
    size_t size = wanted > BLOCK_BYTES ? wanted : BLOCK_BYTES;
    struct arena_block *block = size > ARENA_LIMIT - arena->total ? NULL : malloc(sizeof(*block) + size);
    arena->full |= !block;
    if (!block)
        return NULL;
    *block = (struct arena_block){.older = arena->blocks, .size = size};
    arena->blocks = block;
    arena->total += size;
    return block;
}

static void *take(size_t size)
{
    struct arena *arena = current;
    if (!arena)
        return malloc(size);
    arena->full |= size > ARENA_LIMIT;
    if (size > ARENA_LIMIT)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    void *taken = block->data + block->used;
    block->used += size;
    return taken;
}

static void give(void *taken)
{
    if (!current)
        free(taken);
}

static void hook(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = take, .free_fn = give});
}

void arena_enter(struct arena *arena)
{
    pthread_once(&hooked, hook);
    arena->full = false;
    current = arena;
}

void arena_leave(struct arena *arena)
{
    while (arena->blocks && arena->blocks->older) {
        struct arena_block *older = arena->blocks->older;
        arena->total -= arena->blocks->size;
        free(arena->blocks);
        arena->blocks = older;
    }
    if (arena->blocks)
        arena->blocks->used = 0;
    current = NULL;
}

void arena_release(struct arena *arena)
{
    arena_leave(arena);
    free(arena->blocks);
    *arena = (struct arena){0};
}

void parser_init(struct parser *parser, struct interner *strings)
{
    *parser = (struct parser){.strings = strings};
    buffer_init_memory(&parser->clean);
}

void parser_release(struct parser *parser)
{
    arena_release(&parser->arena);
    buffer_release(&parser->clean);
}

void json_problems_add(struct json_problems *problems, enum json_problem problem, uint64_t count, uint64_t at,
                       uint64_t line, const char *message)
{
    struct json_problem_count *found = &problems->of[problem];
    if (found->count == 0) {
        found->at = at;
        found->line = line;
        snprintf(found->message, sizeof(found->message), "%s", message);
    }
    found->count += count;
    problems->any = true;
}

void parser_note_problems(const struct parser *parser, enum parse_result result, struct json_problems *problems,
                          uint64_t at, uint64_t line)
{
    if (result == PARSE_NOT_AN_EVENT || result == PARSE_NOT_JSON)
        json_problems_add(problems, parser->problem, 1, at, line, parser->message);
    else if (parser->surrogates > 0)
        json_problems_add(problems, JSON_SURROGATE, parser->surrogates, at, line, "");
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
        *number = event_real(value->valuedouble, *number);
    else if (cJSON_IsString(value))
        *number = event_number_of_text(value->valuestring, strlen(value->valuestring), *number);
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

static bool take_shapes(struct parser *parser, const cJSON *value, uint32_t *number)
{
    struct shapes shapes;
    if (!shapes_of_json(value, &shapes))
        return true;
    *number = intern(parser->strings, shapes.text, shapes.length);
    return *number != INTERN_NO_MEMORY;
}

static bool take_args(struct parser *parser, const cJSON *args, struct event_fields *event)
{
    if (!cJSON_IsObject(args))
        return true;
    for (const cJSON *value = args->child; value; value = value->next) {
        const struct arg_field *field = arg_field_find(value->string, strlen(value->string), event->category);
        if (!field)
            continue;
        void *place = (char *)event + field->offset;
        if (field->type == FIELD_TEXT && !take_text(parser, value, place))
            return false;
        if (field->type == FIELD_SHAPES && !take_shapes(parser, value, place))
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

/* A "pid" or "tid": some write the number as a text. */
static bool take_row_id(struct parser *parser, const cJSON *value, event_id *id)
{
    bool text = cJSON_IsString(value);
    return (text && event_id_of_digits(value->valuestring, strlen(value->valuestring), id)) ||
           take_id(parser, value, id);
}

/* Whether TEXT is a number as JSON has it, and not "inf" or "0x1". */
static bool read_number(const char *text, double *value)
{
    char *end = NULL;
    if (*text == '\0' || strspn(text, "0123456789+-.eE \t") != strlen(text))
        return false;
    *value = strtod(text, &end);
    return end != text && end[strspn(end, " \t")] == '\0';
}

/* The time VALUE, a number or a text that is one. A number's text may have been found by the scan at AT. False: it is
 * not a time. */
static bool take_time(const cJSON *value, const char *text, size_t length, size_t at, int64_t *ns)
{
    double us = cJSON_IsNumber(value) ? value->valuedouble : 0;
    bool exact;
    if (cJSON_IsString(value)) {
        if (!read_number(value->valuestring, &us))
            return false;
        exact = scan_ns(value->valuestring, strlen(value->valuestring), ns);
    } else {
        exact = at && scan_ns(text + at, length - at, ns);
    }
    if ((!cJSON_IsNumber(value) && !cJSON_IsString(value)) || (!exact && !to_integer(us * 1e3, ns)))
        return false;
    return *ns >= -EVENT_TIME_LIMIT && *ns <= EVENT_TIME_LIMIT;
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

/* The event in TEXT has nothing that is EXPECTED at its KEY, of which the last counts. */
static enum parse_result not_an_event(struct parser *parser, enum json_problem problem, struct json_text text,
                                      const char *wanted, const char *expected)
{
    struct json_text key, value, last = {0};
    const char *at = text.at + 1, *end = text.at + text.length;
    char shown[JSON_SHOWN_BYTES];
    while (*text.at == '{' && json_member(&at, end, &key, &value))
        if (key.length == strlen(wanted) && memcmp(key.at, wanted, key.length) == 0)
            last = value;
    parser->problem = problem;
    parser->error_at = last.length > 0 ? (size_t)(last.at - text.at) : 0;
    if (last.length > 0)
        snprintf(parser->message, sizeof(parser->message), "\"%s\" is %s: expected %s", wanted,
                 json_show(shown, last.at, last.length), expected);
    else
        snprintf(parser->message, sizeof(parser->message), "there is no \"%s\": expected %s", wanted, expected);
    return PARSE_NOT_AN_EVENT;
}

/* What another program writes of an operation whose times it does not know. */
static bool has_no_times(const struct event_fields *event)
{
    return event->start == 0 && event->duration == 0 &&
           category_in(event->category, CATEGORIES_GPU_OPS | CATEGORIES_API);
}

static enum parse_result take_times(struct parser *parser, const struct members *members, struct json_text text,
                                    const struct scan *scan, struct event_fields *event)
{
    event->start = EVENT_NONE;
    if (!take_time(members->start, text.at, text.length, scan->ts, &event->start) && event->phase != 'M')
        return not_an_event(parser, JSON_NO_TIME, text, "ts", "a number of microseconds");
    if (event->phase != 'X')
        return PARSE_DONE;
    if (!members->duration && !category_in(event->category, CATEGORIES_GPU_OPS)) {
        event->phase = PHASE_OPEN;
        return PARSE_DONE;
    }
    if (!take_time(members->duration, text.at, text.length, scan->dur, &event->duration))
        return not_an_event(parser, JSON_NO_DURATION, text, "dur", "a number of microseconds");
    if (event->duration < 0 || event->start + event->duration > EVENT_TIME_LIMIT)
        return not_an_event(parser, JSON_BAD_DURATION, text, "dur", "one that is not negative and ends in this age");
    if (has_no_times(event))
        return not_an_event(parser, JSON_NO_TIMES, text, "ts", "times: \"dur\" is 0 too, so they are lost");
    return PARSE_DONE;
}

/* Ranges that the program put into its streams look to others like those of NVTX. */
static void tell_device_range(const struct members *members, struct event_fields *event)
{
    const cJSON *from = event->category == CATEGORY_GPU_USER_ANNOTATION
                            ? cJSON_GetObjectItemCaseSensitive(members->args, "from")
                            : NULL;
    if (cJSON_IsString(from) && strcmp(from->valuestring, DEVICE_RANGE_WORD) == 0)
        event->category = CATEGORY_DEVICE_RANGE;
}

static uint8_t category_of(const struct members *members, char phase)
{
    const char *text = cJSON_IsString(members->category) ? members->category->valuestring : "";
    const char *name = cJSON_IsString(members->name) ? members->name->valuestring : "";
    return (uint8_t)category_by_name(category_find(text, strlen(text)), phase, name, strlen(name));
}

static bool is_row(const cJSON *value)
{
    return !value || cJSON_IsString(value) || cJSON_IsNumber(value) || cJSON_IsNull(value);
}

/* Checks what no event may lack, but its times. */
static enum parse_result check_members(struct parser *parser, const struct members *members, struct json_text text)
{
    static const char row[] = "a number or a text";
    if (!cJSON_IsString(members->phase) || strlen(members->phase->valuestring) != 1)
        return not_an_event(parser, JSON_NO_PHASE, text, "ph", "one letter");
    if (*members->phase->valuestring == 'X' && !cJSON_IsString(members->name))
        return not_an_event(parser, JSON_NO_NAME, text, "name", "a text");
    if (!is_row(members->process))
        return not_an_event(parser, JSON_BAD_ROW, text, "pid", row);
    if (!is_row(members->thread))
        return not_an_event(parser, JSON_BAD_ROW, text, "tid", row);
    return is_row(members->id) ? PARSE_DONE : not_an_event(parser, JSON_BAD_ROW, text, "id", row);
}

static enum parse_result convert(struct parser *parser, struct json_text text, const struct scan *scan,
                                 struct event_fields *event)
{
    struct members members = {0};
    char shown[JSON_SHOWN_BYTES];
    if (!cJSON_IsObject(parser->root)) {
        parser->problem = JSON_NO_OBJECT;
        parser->error_at = 0;
        snprintf(parser->message, sizeof(parser->message), "found %s: expected an object",
                 json_show(shown, text.at, text.length));
        return PARSE_NOT_AN_EVENT;
    }
    if (!parser->root->child)
        return PARSE_NOTHING;
    find_members(parser->root, &members);
    enum parse_result result = check_members(parser, &members, text);
    if (result != PARSE_DONE)
        return result;
    event->phase = *members.phase->valuestring;
    event->category = category_of(&members, event->phase);
    result = take_times(parser, &members, text, scan, event);
    if (result != PARSE_DONE)
        return result;
    if (cJSON_IsString(members.name) && !intern_text(parser, members.name->valuestring, &event->name))
        return PARSE_NO_MEMORY;
    if (!take_row_id(parser, members.process, &event->process) ||
        !take_row_id(parser, members.thread, &event->thread) || !take_id(parser, members.id, &event->id) ||
        !take_args(parser, members.args, event))
        return PARSE_NO_MEMORY;
    bool slice = event->phase == 'X' || event->phase == 'B' || event->phase == PHASE_OPEN;
    bool unknown = slice && event->category == CATEGORY_OTHER && cJSON_IsString(members.category);
    if (unknown && *members.category->valuestring && !intern_text(parser, members.category->valuestring, &event->label))
        return PARSE_NO_MEMORY;
    tell_device_range(&members, event);
    return PARSE_DONE;
}

static enum parse_result check(struct parser *parser, const char *text, const struct scan *scan,
                               struct json_fault *fault)
{
    char found[JSON_SHOWN_BYTES], key[JSON_SHOWN_BYTES];
    bool valid = json_check(text, scan->length, fault);
    parser->surrogates = fault->surrogates;
    if (valid)
        return PARSE_DONE;
    parser->problem = JSON_NOT_JSON;
    parser->error_at = fault->at;
    parser->string_at = fault->string_at;
    json_show(found, text + fault->at, scan->length - fault->at);
    json_show(key, fault->key.at, fault->key.length);
    snprintf(parser->message, sizeof(parser->message), "this is not JSON: found %s%s%s%s: expected %s", found,
             *key ? " behind the key \"" : "", key, *key ? "\"" : "", fault->expected);
    return PARSE_NOT_JSON;
}

enum parse_result parser_check(struct parser *parser, const char *text, const struct scan *scan)
{
    return check(parser, text, scan, &(struct json_fault){0});
}

/* cJSON accepts more than JSON, such as 01 and 1.: so it is not asked first. */
enum parse_result parser_json(struct parser *parser, const char *text, const struct scan *scan)
{
    struct json_text clean = {text, scan->length};
    struct json_fault fault;
    const char *end = text;
    arena_enter(&parser->arena);
    parser->root = NULL;
    if (check(parser, text, scan, &fault) != PARSE_DONE)
        return PARSE_NOT_JSON;
    if (fault.not_finite || fault.surrogates > 0)
        clean = json_clean(clean, &parser->clean);
    parser->root = parser->clean.failure ? NULL : cJSON_ParseWithLengthOpts(clean.at, clean.length, &end, false);
    if (parser->root && end == clean.at + clean.length)
        return PARSE_DONE;
    parser->error_at = 0;
    return parser->arena.full || parser->clean.failure ? PARSE_TOO_LARGE : PARSE_NOT_JSON;
}

void parser_clear(struct parser *parser)
{
    arena_leave(&parser->arena);
    parser->root = NULL;
}

enum parse_result parser_event(struct parser *parser, const char *text, const struct scan *scan,
                               struct event_fields *event)
{
    *event = event_nothing;
    enum parse_result result = parser_json(parser, text, scan);
    if (result == PARSE_DONE)
        result = convert(parser, (struct json_text){text, scan->length}, scan, event);
    parser_clear(parser);
    return result;
}
