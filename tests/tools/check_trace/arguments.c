/*
 * What `args` must hold: HTA and programs written for Kineto's traces look for these.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <string.h>

enum kind {
    KIND_NONE,
    KIND_COUNT,  /* an integer from 0 */
    KIND_NUMBER, /* any number */
    KIND_SIZE,   /* three integers from 1 */
    KIND_STREAM, /* an integer from -1 */
    KIND_WORD,   /* a string */
};

#define ARGUMENTS_MAX 14

static const struct argument {
    const char *key;
    enum kind kind;
} arguments[CATEGORY_COUNT][ARGUMENTS_MAX] = {
    [CATEGORY_KERNEL] = {{"device", KIND_COUNT},
                         {"context", KIND_COUNT},
                         {"stream", KIND_COUNT},
                         {"correlation", KIND_COUNT},
                         {"queued", KIND_COUNT},
                         {"grid", KIND_SIZE},
                         {"block", KIND_SIZE},
                         {"registers per thread", KIND_COUNT},
                         {"shared memory", KIND_COUNT},
                         {"blocks per SM", KIND_NUMBER},
                         {"warps per SM", KIND_NUMBER},
                         {"est. achieved occupancy %", KIND_NUMBER}},
    [CATEGORY_MEMCPY] = {{"device", KIND_COUNT},
                         {"context", KIND_COUNT},
                         {"stream", KIND_COUNT},
                         {"correlation", KIND_COUNT},
                         {"bytes", KIND_COUNT},
                         {"memory bandwidth (GB/s)", KIND_NUMBER}},
    [CATEGORY_MEMSET] = {{"device", KIND_COUNT},
                         {"context", KIND_COUNT},
                         {"stream", KIND_COUNT},
                         {"correlation", KIND_COUNT},
                         {"bytes", KIND_COUNT},
                         {"memory bandwidth (GB/s)", KIND_NUMBER}},
    [CATEGORY_GRAPH] = {{"device", KIND_COUNT},
                        {"context", KIND_COUNT},
                        {"stream", KIND_COUNT},
                        {"correlation", KIND_COUNT},
                        {"graph id", KIND_COUNT}},
    [CATEGORY_RUNTIME] = {{"cbid", KIND_COUNT}, {"correlation", KIND_COUNT}},
    [CATEGORY_DRIVER] = {{"cbid", KIND_COUNT}, {"correlation", KIND_COUNT}},
    [CATEGORY_SYNC] = {{"cuda_sync_kind", KIND_WORD},
                       {"stream", KIND_STREAM},
                       {"correlation", KIND_COUNT},
                       {"device", KIND_COUNT},
                       {"context", KIND_COUNT}},
    [CATEGORY_COMPILATION] = {{"thread", KIND_COUNT}},
    [CATEGORY_PLUGIN] = {{"thread", KIND_COUNT}},
    [CATEGORY_MEMORY] = {{"address", KIND_WORD}, {"kind", KIND_WORD}},
};

static bool is_size(const struct json *value)
{
    int64_t number;
    int found = 0;
    if (value->type != JSON_ARRAY)
        return false;
    for (const struct json *side = value->first; side; side = side->next, found++)
        if (!json_integer(side, &number) || number < 1)
            return false;
    return found == 3;
}

static bool is_kind(const struct json *value, enum kind kind)
{
    int64_t number;
    switch (kind) {
    case KIND_COUNT: return json_integer(value, &number) && number >= 0;
    case KIND_STREAM: return json_integer(value, &number) && number >= -1;
    case KIND_NUMBER: return value->type == JSON_NUMBER;
    case KIND_WORD: return value->type == JSON_STRING;
    case KIND_SIZE: return is_size(value);
    default: return false;
    }
}

static const char *const kind_words[] = {
    [KIND_NONE] = "",         [KIND_COUNT] = "an integer from 0",    [KIND_NUMBER] = "a number",
    [KIND_WORD] = "a string", [KIND_SIZE] = "three integers from 1", [KIND_STREAM] = "an integer from -1",
};

/* A kernel of a graph has both numbers, any other neither. */
static void check_graph(struct trace *trace, const struct json *args)
{
    const struct json *graph = json_member(args, "graph id"), *node = json_member(args, "graph node id");
    if (!graph != !node)
        problem(trace, trace->events, "arguments", "one of \"graph id\" and \"graph node id\" is missing");
}

/* The name that programs write: without the version and without what --default-stream per-thread adds. */
static void check_api_name(struct trace *trace, const char *name)
{
    static const char *const suffixes[] = {"_ptsz", "_ptds"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
        if (length > 5 && strcmp(name + length - 5, suffixes[i]) == 0)
            problem(trace, trace->events, "api names", "%s ends in %s", name, suffixes[i]);
    const char *version = strrchr(name, '_');
    if (version && version[1] == 'v' && version[2] && strspn(version + 2, "0123456789") == strlen(version + 2))
        problem(trace, trace->events, "api names", "%s ends in a version", name);
}

static void check_sync(struct trace *trace, const struct json *args, const char *name)
{
    static const char *const names[] = {"Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event"};
    static const char *const waited_for[] = {"wait_on_stream", "wait_on_cuda_event_record_corr_id",
                                             "wait_on_cuda_event_id"};
    size_t i = 0;
    while (i < 4 && strcmp(names[i], name) != 0)
        i++;
    if (i == 4)
        problem(trace, trace->events, "arguments", "a cuda_sync of an unknown name");
    for (size_t j = 0; i >= 2 && j < 3; j++) {
        int64_t number;
        if (!json_integer(json_member(args, waited_for[j]), &number))
            problem(trace, trace->events, "arguments", "%s without \"%s\"", name, waited_for[j]);
    }
}

/* Phases, and within them what the just-in-time compiler did. */
static void check_compilation(struct trace *trace, const struct json *args, const char *name)
{
    static const char *const phases[] = {"Module load",   "Lazy function load",  "PTX compilation", "Linking",
                                         "Graph capture", "Graph instantiation", "Context creation"};
    static const struct {
        const char *name;
        int hit; /* 1 true, 0 false, -1 missing */
    } operations[] = {{"JIT compile", 0}, {"JIT cache load", 1}, {"JIT cache store", -1}};
    const struct json *trigger = json_member(args, "trigger"), *hit = json_member(args, "cache hit");
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        int64_t number;
        if (strcmp(phases[i], name) != 0)
            continue;
        if (!trigger || strcmp(trigger->text, name) != 0 || !json_member(args, "function") ||
            !json_integer(json_member(args, "phase"), &number) || number < 1)
            problem(trace, trace->events, "arguments", "a phase without its trigger, function and number");
        return;
    }
    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
        if (strcmp(operations[i].name, name) != 0)
            continue;
        int stated = !hit ? -1 : hit->type == JSON_TRUE ? 1 : hit->type == JSON_FALSE ? 0 : 2;
        if (stated != operations[i].hit)
            problem(trace, trace->events, "arguments", "\"cache hit\" does not go with its name");
        return;
    }
    problem(trace, trace->events, "arguments", "a slice of compilation of an unknown name");
}

void trace_arguments(struct trace *trace, const struct json *event, enum category category)
{
    const struct json *args = json_member(event, "args"), *name = json_member(event, "name");
    for (const struct argument *wanted = arguments[category]; wanted->kind; wanted++) {
        const struct json *value = json_member(args, wanted->key);
        if (!value || !is_kind(value, wanted->kind))
            problem(trace, trace->events, "arguments", "\"%s\" is missing or not %s", wanted->key,
                    kind_words[wanted->kind]);
    }
    if (trace->kineto)
        return;
    if (category_is_work(category) && category != CATEGORY_GRAPH)
        check_graph(trace, args);
    if (category_is_api(category) && json_member(args, "stream"))
        problem(trace, trace->events, "arguments", "an API call with \"stream\": HTA takes it for work of the GPU");
    if (category_is_api(category) && name)
        check_api_name(trace, name->text);
    if (category == CATEGORY_SYNC && name)
        check_sync(trace, args, name->text);
    if (category == CATEGORY_COMPILATION && name)
        check_compilation(trace, args, name->text);
}
