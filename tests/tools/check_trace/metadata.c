/*
 * What stands before the events: the keys that readers look for, and the record of losses.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <string.h>

enum needed { ALWAYS, WITH_CUDA, WITH_RUNTIME, NOT_IN_KINETO, MAY };

static const struct {
    const char *key;
    enum json_type type;
    enum needed needed;
} known[] = {{"schemaVersion", JSON_NUMBER, ALWAYS},
             {"deviceProperties", JSON_ARRAY, ALWAYS},
             {"cupti_version", JSON_NUMBER, WITH_CUDA},
             {"cuda_runtime_version", JSON_NUMBER, WITH_RUNTIME},
             {"cuda_driver_version", JSON_NUMBER, WITH_CUDA},
             {"distributedInfo", JSON_OBJECT, MAY}, /* of a program that has a rank */
             {"displayTimeUnit", JSON_STRING, ALWAYS},
             {"baseTimeNanoseconds", JSON_NUMBER, ALWAYS},
             {"traceName", JSON_STRING, NOT_IN_KINETO},
             {"stackFrames", JSON_OBJECT, MAY}, /* of a trace with call stacks */
             {"gputrace", JSON_OBJECT, NOT_IN_KINETO},
             {"traceEvents", JSON_ARRAY, ALWAYS}};

static const char *const device_keys[] = {
    "id",           "totalGlobalMem", "computeMajor",      "computeMinor", "maxThreadsPerBlock",
    "regsPerBlock", "warpSize",       "sharedMemPerBlock", "numSms",       "maxThreadsPerMultiprocessor"};

static void check_device(struct trace *trace, const struct json *device)
{
    int64_t number;
    const struct json *name = json_member(device, "name");
    if (!name || name->type != JSON_STRING)
        problem(trace, 0, "metadata", "a device of \"deviceProperties\" has no \"name\"");
    for (size_t i = 0; i < sizeof(device_keys) / sizeof(*device_keys); i++)
        if (!json_integer(json_member(device, device_keys[i]), &number) || number < 0)
            problem(trace, 0, "metadata", "a device of \"deviceProperties\" has no integer \"%s\"", device_keys[i]);
}

/* HTA does not parse this, it searches the text for "rank":\s+(\d+). */
static void check_rank(struct trace *trace, const struct json *info)
{
    int64_t rank;
    const struct json *value = json_member(info, "rank");
    if (!json_integer(value, &rank) || rank < 0)
        problem(trace, 0, "metadata", "\"distributedInfo\" has no integer \"rank\"");
    else if (!value->space)
        problem(trace, 0, "metadata", "no blank after \"rank\":, which HTA needs");
}

/* Every number in `losses` must be 0 where nothing may be lost: see trace_losses(). */
static void check_losses(struct trace *trace, const struct json *losses)
{
    if (!losses || losses->type != JSON_OBJECT || !losses->first) {
        problem(trace, 0, "metadata", "\"gputrace\" has no object \"losses\"");
        return;
    }
    for (const struct json *loss = losses->first; loss; loss = loss->next) {
        int64_t count;
        if (!json_integer(loss, &count) || count < 0)
            problem(trace, 0, "metadata", "the loss \"%s\" is no count", loss->key);
        else if (count > 0)
            tally_count(trace, (uint64_t)count, "loss %s", loss->key);
    }
}

void trace_losses(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->keys.count && trace->strict; i++) {
        const char *key = names_get(&trace->keys, i);
        if (strncmp(key, "loss ", 5) == 0 && names_find(&trace->stated, key, strlen(key)) == NAMES_NONE)
            problem(trace, 0, "losses", "%s: %" PRIu64, key + 5, tally_of(trace, key)->events);
    }
}

/* A line of a plugin's: its text, and the frames of its stack, if it has one. */
static bool is_line(const struct json *line)
{
    const struct json *text = json_member(line, "text"), *stack = json_member(line, "stack");
    if (!text || text->type != JSON_STRING || (stack && (stack->type != JSON_ARRAY || !stack->first)))
        return false;
    for (const struct json *frame = stack ? stack->first : NULL; frame; frame = frame->next) {
        const struct json *address = json_member(frame, "address");
        if (!address || address->type != JSON_STRING || strncmp(address->text, "0x", 2) != 0)
            return false;
    }
    return true;
}

/* Traces without any need not have the key. */
static void check_plugins(struct trace *trace, const struct json *plugins)
{
    static const char *const numbers[] = {"pid", "calls", "time_ns"};
    if (plugins && plugins->type != JSON_ARRAY)
        problem(trace, 0, "metadata", "\"plugins\" is no array");
    for (const struct json *plugin = plugins ? plugins->first : NULL; plugin; plugin = plugin->next) {
        const struct json *name = json_member(plugin, "name"), *lines = json_member(plugin, "lines");
        int64_t number;
        if (!name || name->type != JSON_STRING || !lines || lines->type != JSON_ARRAY)
            problem(trace, 0, "metadata", "a plugin without \"name\" and \"lines\"");
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
            if (!json_integer(json_member(plugin, numbers[i]), &number) || number < 0)
                problem(trace, 0, "metadata", "a plugin has no integer \"%s\"", numbers[i]);
        for (const struct json *line = lines ? lines->first : NULL; line; line = line->next)
            if (!is_line(line))
                problem(trace, 0, "metadata", "a plugin's line without text, or whose stack has no addresses");
    }
}

/* Whether the program was traced with --trace=api-all. */
static bool has_queries(const struct json *options)
{
    const struct json *words = options ? json_member(options, "trace") : NULL;
    for (const struct json *word = words ? words->first : NULL; word; word = word->next)
        if (strcmp(word->text, "api-all") == 0)
            return true;
    return false;
}

void trace_metadata(struct trace *trace, const struct json *member)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(known[i].key, member->key) == 0 && known[i].type != member->type)
            problem(trace, 0, "metadata", "\"%s\" is of the wrong type", member->key);
    if (strcmp(member->key, "deviceProperties") == 0)
        for (const struct json *device = member->first; device; device = device->next)
            check_device(trace, device);
    if (trace->kineto)
        return;
    if (strcmp(member->key, "distributedInfo") == 0)
        check_rank(trace, member);
    if (strcmp(member->key, "stackFrames") == 0 && member->type == JSON_OBJECT)
        trace_stack_frames(trace, member);
    if (strcmp(member->key, "gputrace") == 0) {
        trace->queries = has_queries(json_member(member, "options"));
        check_losses(trace, json_member(member, "losses"));
        check_plugins(trace, json_member(member, "plugins"));
        trace_nvtx_resources(trace, json_member(member, "nvtx_resources"));
    }
}

static bool is_needed(const struct trace *trace, enum needed needed)
{
    switch (needed) {
    case ALWAYS: return true;
    case WITH_CUDA: return trace->used_streams.count > 0;
    case WITH_RUNTIME: return tally_of(trace, "X events of category cuda_runtime")->events > 0;
    case NOT_IN_KINETO: return !trace->kineto;
    default: return false;
    }
}

void trace_metadata_end(struct trace *trace, const struct names *seen)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (is_needed(trace, known[i].needed) && names_find(seen, known[i].key, strlen(known[i].key)) == NAMES_NONE)
            problem(trace, 0, "metadata", "the key \"%s\" is missing", known[i].key);
}
