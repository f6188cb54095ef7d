/*
 * NVTX beside ranges and marks: resources, which are in the metadata, names of CUDA events, the values of payloads by
 * their path, and the calls that annotate memory.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const struct json *object, const char *key)
{
    const struct json *value = json_member(object, key);
    return value && value->type == JSON_STRING ? value->text : "";
}

/* resource TYPE "NAME" domain "…" */
static void tally_resource(struct trace *trace, const struct json *resource, const char *what)
{
    const struct json *type = json_member(resource, "type");
    const char *domain = text_of(resource, "domain");
    char key[512], quoted[256];
    tally_quote(quoted, sizeof(quoted), text_of(resource, "name"));
    int length = snprintf(key, sizeof(key), "%s %s %s", what, type ? type->text : "", quoted);
    if (*domain && length > 0 && (size_t)length < sizeof(key)) {
        tally_quote(quoted, sizeof(quoted), domain);
        snprintf(key + length, sizeof(key) - (size_t)length, " domain %s", quoted);
    }
    tally(trace, 0, "%s", key);
}

static bool is_resource(const struct json *resource)
{
    int64_t pid, ns;
    bool exact;
    const struct json *type = json_member(resource, "type"), *identifier = json_member(resource, "identifier");
    if (!json_integer(json_member(resource, "pid"), &pid) || !type ||
        (type->type != JSON_STRING && type->type != JSON_NUMBER))
        return false;
    if (identifier && (identifier->type != JSON_STRING || strncmp(identifier->text, "0x", 2) != 0))
        return false;
    const struct json *created = json_member(resource, "created"), *destroyed = json_member(resource, "destroyed");
    return (created || destroyed) && (!created || json_time(created, &ns, &exact)) &&
           (!destroyed || json_time(destroyed, &ns, &exact));
}

void trace_nvtx_resources(struct trace *trace, const struct json *resources)
{
    if (resources && resources->type != JSON_ARRAY)
        problem(trace, 0, "metadata", "\"nvtx_resources\" is no array");
    for (const struct json *resource = resources ? resources->first : NULL; resource; resource = resource->next) {
        if (!is_resource(resource))
            problem(trace, 0, "metadata",
                    "an NVTX resource without pid, type, or a time at which it was made or ended");
        if (json_member(resource, "created"))
            tally_resource(trace, resource, "resource");
        if (json_member(resource, "destroyed"))
            tally_resource(trace, resource, "destroyed");
    }
}

void tally_event_name(struct trace *trace, const struct json *event, const char *argument, const char *what)
{
    const struct json *name = json_member(json_member(event, "args"), argument);
    char quoted[256];
    if (!name || name->type != JSON_STRING)
        return;
    tally_quote(quoted, sizeof(quoted), name->text);
    tally(trace, 0, "%s %s", what, quoted);
}

/* ---- payloads ---- */

#define PATH_MAX_BYTES 256

static void value_words(char *out, size_t capacity, const struct json *value)
{
    switch (value->type) {
    case JSON_STRING: tally_quote(out, capacity, value->text); break;
    case JSON_NUMBER: tally_number_words(out, capacity, value->text); break;
    case JSON_TRUE: snprintf(out, capacity, "true"); break;
    case JSON_FALSE: snprintf(out, capacity, "false"); break;
    default: snprintf(out, capacity, "null"); break;
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
    tally_quote(quoted, sizeof(quoted), name ? name->text : "");
    snprintf(words, sizeof(words), "nvtx memory %s", quoted);
    tally(trace, bytes_of(args), "%s", words);
    for (const struct json *arg = args ? args->first : NULL; arg; arg = arg->next)
        tally_tree(trace, words, arg->key, arg);
}
