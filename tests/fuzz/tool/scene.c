#include "tests/fuzz/tool/scene.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"
#include "analysis/job/job_report.h"
#include "analysis/report.h"
#include "common/buffer.h"
#include "trace/event.h"

/* scene.json, with a NUL behind it. */
extern const char scene_text[];
__asm__(".pushsection .rodata\n"
        "scene_text:\n"
        ".incbin \"tests/fuzz/tool/scene.json\"\n"
        ".byte 0\n"
        ".popsection\n");

const char *const scene_values[] = {
    "0",
    "-1",
    "1",
    "0.5",
    "1073741823",
    "1073741824",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740993",
    "4611686018427387",
    "4611686018427387904",
    "-4611686018427387",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e300",
    "-1e300",
    "\"text\"",
    "\"\"",
    "\"9223372036854775807\"",
    "\"-9223372036854775808\"",
    "\"0x7fffffffffffffff\"",
    "null",
    NULL,
    "true",
    "{}",
    "{\"a\":{\"b\":[1,null]}}",
    "[]",
    "[9223372036854775807,2147483648,-1]",
    "[3037000500,3037000500,1]",
    "[[9223372036854775807,2],[],\"text\"]",
};
const size_t scene_value_count = sizeof(scene_values) / sizeof(*scene_values);

static const char *const members[] = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args", "s", "bp"};
static const char phases[] = "XiIbenCMstfBEPSTFND(";
static const char events_key[] = "traceEvents";

enum times {
    TIMES_EQUAL,
    TIMES_ZERO,
    TIMES_NEGATIVE,
    TIMES_HUGE,
    TIMES_REVERSED,
    TIMES_FAR_APART,
    TIMES_LONG,
    TIMES_COUNT
};

cJSON *scene_new(void)
{
    cJSON *trace = cJSON_Parse(scene_text);
    FUZZ_HOLDS(trace != NULL);
    return trace;
}

void scene_move_ranks(cJSON *trace, int by)
{
    for (cJSON *item = trace->child; item; item = item->next) {
        bool is_rank = item->string && (strcmp(item->string, "rank") == 0 || strcmp(item->string, "Rank") == 0);
        if (is_rank && cJSON_IsNumber(item))
            cJSON_SetNumberValue(item, item->valuedouble + by);
        scene_move_ranks(item, by);
    }
}

const char *scene_write(const cJSON *trace, const char *name)
{
    char *text = cJSON_PrintUnformatted(trace);
    FUZZ_HOLDS(text != NULL);
    const char *path = fuzz_file(name, text, strlen(text));
    free(text);
    return path;
}

/* --- changes --- */

static void set(cJSON *object, const char *key, const char *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    if (value && cJSON_IsObject(object))
        cJSON_AddItemToObject(object, key, cJSON_CreateRaw(value));
}

static enum category category_of(const cJSON *event)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "cat"));
    return text ? category_find(text, strlen(text)) : CATEGORY_OTHER;
}

static bool is_chosen(const cJSON *event, size_t index, unsigned where)
{
    return where == SCENE_ALL ||
           (where < CATEGORY_COUNT ? category_of(event) == where : index == where - CATEGORY_COUNT);
}

static void set_argument(cJSON *event, unsigned key, const char *value)
{
    const struct word *word = &arg_words[1 + key % (ARG_KEY_COUNT - 1)]; /* the first is none */
    if (!cJSON_HasObjectItem(event, "args"))
        cJSON_AddItemToObject(event, "args", cJSON_CreateObject());
    set(cJSON_GetObjectItemCaseSensitive(event, "args"), word->text, value);
}

static void set_text(cJSON *event, const char *key, const char *text)
{
    cJSON_DeleteItemFromObjectCaseSensitive(event, key);
    cJSON_AddItemToObject(event, key, cJSON_CreateString(text));
}

static void set_category(cJSON *event, unsigned key)
{
    const char phase[] = {phases[key / CATEGORY_COUNT % (sizeof(phases) - 1)], '\0'};
    if (key % CATEGORY_COUNT != CATEGORY_OTHER)
        set_text(event, "cat", category_words[key % CATEGORY_COUNT].text);
    if (key / CATEGORY_COUNT > 0)
        set_text(event, "ph", phase);
}

static void set_time(cJSON *event, size_t index, unsigned key)
{
    const char *of_huge = index % 2 ? "4611686018427387.9" : "4611686018427386";
    char text[32];
    switch ((enum times)(key % TIMES_COUNT)) {
    case TIMES_EQUAL: set(event, "ts", "5"); break;
    case TIMES_ZERO: set(event, "ts", "0"), set(event, "dur", "0"); break;
    case TIMES_NEGATIVE: set(event, "ts", "-4611686018427387"); break;
    case TIMES_HUGE: set(event, "ts", of_huge), set(event, "dur", "0.001"); break;
    case TIMES_REVERSED:
        snprintf(text, sizeof(text), "%zu", 100000 - index);
        set(event, "ts", text);
        break;
    case TIMES_FAR_APART: set(event, "ts", index % 2 ? "4611686018427000" : "-4611686018427387"); break;
    case TIMES_LONG: set(event, "dur", "4611686018427000"); break;
    case TIMES_COUNT: break;
    }
}

static void change_events(cJSON *events, const uint8_t change[4])
{
    unsigned where = change[1], key = change[2], value = change[3];
    size_t index = 0;
    for (cJSON *event = events ? events->child : NULL; event; event = event->next, index++) {
        if (!cJSON_IsObject(event) || !is_chosen(event, index, where))
            continue;
        unsigned own = value + (change[0] % SCENE_CHANGE_COUNT == SCENE_ARGUMENTS ? category_of(event) : 0);
        const char *text = scene_values[own % scene_value_count];
        switch ((enum scene_change)(change[0] % SCENE_CHANGE_COUNT)) {
        case SCENE_ARGUMENT:
        case SCENE_ARGUMENTS: set_argument(event, key, text); break;
        case SCENE_MEMBER: set(event, members[key % (sizeof(members) / sizeof(*members))], text); break;
        case SCENE_CATEGORY: set_category(event, key | value << 8); break;
        case SCENE_TIMES: set_time(event, index, key); break;
        default: break;
        }
    }
}

static bool is_metadata(const cJSON *item)
{
    return !item->string || strcmp(item->string, events_key) != 0;
}

static void set_node(cJSON *object, cJSON *item, const char *value)
{
    if (!value)
        cJSON_Delete(cJSON_DetachItemViaPointer(object, item));
    else if (item->string)
        cJSON_ReplaceItemInObjectCaseSensitive(object, item->string, cJSON_CreateRaw(value));
    else
        cJSON_ReplaceItemViaPointer(object, item, cJSON_CreateRaw(value));
}

/* Counts the values below OBJECT from *COUNT on, and changes number WANTED of them; SIZE_MAX: each that has no values
 * of its own. */
static void change_metadata(cJSON *object, size_t *count, size_t wanted, unsigned value)
{
    for (cJSON *item = object->child, *next; item; item = next) {
        next = item->next;
        bool chosen = wanted == SIZE_MAX ? !item->child : *count == wanted;
        if (!is_metadata(item))
            continue;
        unsigned own = wanted == SIZE_MAX ? value + (unsigned)*count : value;
        ++*count;
        if (chosen)
            set_node(object, item, scene_values[own % scene_value_count]);
        else
            change_metadata(item, count, wanted, value);
    }
}

void scene_change(cJSON *trace, const uint8_t *recipe, size_t size)
{
    cJSON *events = cJSON_GetObjectItemCaseSensitive(trace, events_key);
    for (size_t i = 0; i + 4 <= size && i < SCENE_RECIPE_MOST; i += 4) {
        enum scene_change change = recipe[i] % SCENE_CHANGE_COUNT;
        size_t count = 0;
        if (change == SCENE_METADATA || change == SCENE_LEAVES)
            change_metadata(trace, &count, change == SCENE_LEAVES ? SIZE_MAX : recipe[i + 2], recipe[i + 3]);
        else
            change_events(events, recipe + i);
    }
}

size_t scene_key_count(enum scene_change change)
{
    cJSON *trace = change == SCENE_METADATA ? scene_new() : NULL;
    size_t count = 0;
    switch (change) {
    case SCENE_ARGUMENT:
    case SCENE_ARGUMENTS: return ARG_KEY_COUNT - 1;
    case SCENE_MEMBER: return sizeof(members) / sizeof(*members);
    case SCENE_CATEGORY: return CATEGORY_COUNT * (sizeof(phases) - 1);
    case SCENE_TIMES: return TIMES_COUNT;
    case SCENE_METADATA: change_metadata(trace, &count, SIZE_MAX - 1, 0); break;
    default: return 1;
    }
    cJSON_Delete(trace);
    return count;
}

int scene_touch(void *context, const char *data, size_t size)
{
    (void)context;
    fuzz_touch(data, size);
    return 0;
}

void scene_report(const struct report_options *options, const char *const *paths, size_t count)
{
    struct buffer out;
    buffer_init(&out, scene_touch, NULL);
    if (job_report_files(options, paths, count, &out) == JOB_REPORT_NONE)
        report_files(options, paths, count, &out);
    buffer_finish(&out);
    buffer_release(&out);
}
