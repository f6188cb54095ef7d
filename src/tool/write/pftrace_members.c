/*
 * Arguments that come as text of JSON, from a trace in another file: numbers are doubles, as readers of JSON have them.
 */
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tool/pftrace/arg.h"
#include "tool/write/pftrace_args.h"

static enum arg_key find_key(const char *name)
{
    for (enum arg_key key = 0; key < ARG_KEY_COUNT; key++)
        if (pftrace_keys[key].text[0] == name[0] && strcmp(pftrace_keys[key].text, name) == 0)
            return key;
    return ARG_KEY_COUNT;
}

static bool is_size3(const cJSON *value, enum arg_key key, struct pftrace_arg *arg)
{
    if ((key != ARG_GRID && key != ARG_BLOCK) || !cJSON_IsArray(value) || cJSON_GetArraySize(value) != 3)
        return false;
    for (int i = 0; i < 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(value, i);
        if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble != item->valueint)
            return false;
        arg->size3[i] = item->valueint;
    }
    arg->kind = PFTRACE_ARG_SIZE3;
    return true;
}

static void set_number(struct pftrace_arg *arg, double value)
{
    arg->kind = PFTRACE_ARG_REAL;
    arg->real = value;
    if (value == floor(value) && fabs(value) < 0x1p53) {
        arg->kind = value < 0 ? PFTRACE_ARG_I64 : PFTRACE_ARG_U64;
        arg->i64 = (int64_t)value;
    }
}

static void put_member(struct pftrace_put *put, const cJSON *value)
{
    enum arg_key key = find_key(value->string);
    struct pftrace_arg arg = {.name = value->string, .name_length = strlen(value->string)};
    char *printed = NULL;
    if (cJSON_IsNumber(value)) {
        set_number(&arg, value->valuedouble);
    } else if (cJSON_IsString(value)) {
        pftrace_set_text(&arg, PFTRACE_ARG_TEXT, value->valuestring, strlen(value->valuestring));
    } else if (cJSON_IsBool(value)) {
        arg.kind = PFTRACE_ARG_BOOL;
        arg.u64 = cJSON_IsTrue(value) ? 1 : 0;
    } else if (!put->shared || !is_size3(value, key, &arg)) {
        printed = cJSON_PrintUnformatted(value);
        pftrace_set_text(&arg, PFTRACE_ARG_JSON, printed ? printed : "null", printed ? strlen(printed) : 4);
    }
    pftrace_put_arg(put, key, &arg);
    cJSON_free(printed);
}

void pftrace_put_members(struct pftrace_put *put, const struct arg *arg)
{
    struct sink text;
    sink_init_memory(&text);
    sink_char(&text, '{');
    sink_bytes(&text, arg->text, arg->length);
    sink_bytes(&text, "}", 2); /* with its NUL */
    cJSON *object = sink_finish(&text) == 0 ? cJSON_Parse(text.data) : NULL;
    if (object)
        for (const cJSON *value = object->child; value; value = value->next)
            put_member(put, value);
    cJSON_Delete(object);
    sink_release(&text);
}
