/*
 * Payloads of NVTX events: each value in them, by its path, and the calls that annotate memory.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATH_MAX_BYTES 256

static void value_words(char *out, size_t room, const struct json *value)
{
    switch (value->type) {
    case JSON_STRING: tally_quote(out, room, value->text); break;
    case JSON_NUMBER: tally_number_words(out, room, value->text); break;
    case JSON_TRUE: snprintf(out, room, "true"); break;
    case JSON_FALSE: snprintf(out, room, "false"); break;
    default: snprintf(out, room, "null"); break;
    }
}

static void tally_value(struct trace *trace, const char *event, const char *path, const struct json *value)
{
    char quoted[PATH_MAX_BYTES], words[1024];
    tally_quote(quoted, sizeof(quoted), path);
    value_words(words, sizeof(words), value);
    tally(trace, 0, "%s arg %s %s", event, quoted, words);
}

/* "payload.point.x", "payload.values[2]" */
static void tally_tree(struct trace *trace, const char *event, const char *path, const struct json *value)
{
    if (value->type != JSON_OBJECT && value->type != JSON_ARRAY) {
        tally_value(trace, event, path, value);
        return;
    }
    size_t index = 0;
    for (const struct json *member = value->first; member; member = member->next, index++) {
        char inner[PATH_MAX_BYTES];
        if (value->type == JSON_OBJECT)
            snprintf(inner, sizeof(inner), "%s.%s", path, member->key);
        else
            snprintf(inner, sizeof(inner), "%s[%zu]", path, index);
        tally_tree(trace, event, inner, member);
    }
}

void tally_payload(struct trace *trace, const struct json *args, const char *what, const struct json *name)
{
    static const char *const keys[] = {"schema", "payload", "end payload"};
    char quoted[512], event[640];
    tally_quote(quoted, sizeof(quoted), name ? name->text : "");
    snprintf(event, sizeof(event), "nvtx %s %s", what, quoted);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const struct json *value = json_member(args, keys[i]);
        if (value)
            tally_tree(trace, event, keys[i], value);
    }
}

void tally_nvtx_memory(struct trace *trace, const struct json *event)
{
    const struct json *args = json_member(event, "args"), *name = json_member(event, "name");
    char quoted[256], words[320];
    int64_t bytes = 0;
    json_integer(json_member(args, "bytes"), &bytes);
    tally_quote(quoted, sizeof(quoted), name ? name->text : "");
    snprintf(words, sizeof(words), "nvtx memory %s", quoted);
    tally(trace, bytes > 0 ? (uint64_t)bytes : 0, "%s", words);
    for (const struct json *arg = args ? args->first : NULL; arg; arg = arg->next)
        tally_tree(trace, words, arg->key, arg);
}
