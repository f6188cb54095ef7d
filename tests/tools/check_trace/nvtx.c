/*
 * What NVTX tells beside ranges and marks: resources, which stand in the metadata, and names of CUDA events.
 */
#include "check_trace/trace.h"

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
