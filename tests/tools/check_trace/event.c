/*
 * One event: what its phase demands, and what is kept of it for the rules about several.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const categories[CATEGORY_COUNT] = {
    [CATEGORY_OTHER] = "",
    [CATEGORY_KERNEL] = "kernel",
    [CATEGORY_MEMCPY] = "gpu_memcpy",
    [CATEGORY_MEMSET] = "gpu_memset",
    [CATEGORY_GRAPH] = "gpu_graph",
    [CATEGORY_RUNTIME] = "cuda_runtime",
    [CATEGORY_DRIVER] = "cuda_driver",
    [CATEGORY_SYNC] = "cuda_sync",
    [CATEGORY_ANNOTATION] = "user_annotation",
    [CATEGORY_GPU_ANNOTATION] = "gpu_user_annotation",
    [CATEGORY_COMPILATION] = "compilation",
    [CATEGORY_PLUGIN] = "plugin",
    [CATEGORY_MEMORY] = "memory",
    [CATEGORY_OPERATOR] = "cpu_op",
};

enum category category_of(const char *cat)
{
    int i = CATEGORY_COUNT - 1;
    while (i > 0 && strcmp(categories[i], cat) != 0)
        i--;
    return (enum category)i;
}

/* Member KEY of the event when it is a string; else a problem, and "". */
static const char *text_of(struct trace *trace, const struct json *event, const char *key)
{
    const struct json *value = json_member(event, key);
    if (value && value->type == JSON_STRING)
        return value->text;
    problem(trace, trace->events, "fields", "\"%s\" is missing or no string", key);
    return "";
}

static int64_t time_of(struct trace *trace, const struct json *event, const char *key)
{
    int64_t ns = 0;
    bool exact = true;
    if (!json_time(json_member(event, key), &ns, &exact))
        problem(trace, trace->events, "fields", "\"%s\" is missing or no number", key);
    else if (!exact && !trace->kineto)
        problem(trace, trace->events, "time", "\"%s\" is not in microseconds with at most three decimals", key);
    return ns;
}

/* pid or tid within LEAST … 2^31 - 1. Kineto has rows with words instead. */
static int64_t number_of(struct trace *trace, const struct json *event, const char *key, int64_t least)
{
    const struct json *value = json_member(event, key);
    int64_t number = least;
    if (trace->kineto && value && value->type == JSON_STRING)
        return INT32_MAX - (int64_t)names_put(&trace->texts, value->text, value->length);
    if (!json_integer(value, &number))
        problem(trace, trace->events, "fields", "\"%s\" is missing or no integer", key);
    else if (!trace->kineto && (number < least || number > INT32_MAX))
        problem(trace, trace->events, "rows", "\"%s\" is %" PRId64 ", not within %" PRId64 " and 2^31 - 1", key, number,
                least);
    return number;
}

static uint32_t row_of(struct trace *trace, const struct json *event)
{
    struct row row = {number_of(trace, event, "pid", 0), number_of(trace, event, "tid", 1)};
    names_put(&trace->used_pids, &row.pid, sizeof(row.pid));
    return names_put(&trace->rows, &row, sizeof(row));
}

static uint32_t correlation_of(const struct json *args)
{
    int64_t correlation = 0;
    if (!json_integer(json_member(args, "correlation"), &correlation) || correlation <= 0 ||
        correlation > UINT32_MAX - 1)
        return TRACE_NOTHING;
    return (uint32_t)correlation;
}

/* The stream of WORK, which is in the row whose thread id is TID; -1: of a branch of a graph, which may be in the rows
 * of the graph's launch. */
static int64_t stream_in_row(const struct json *work, int64_t stream, int64_t tid)
{
    return json_member(work, "graph id") && stream != tid ? -1 : stream;
}

/* Every row of a GPU holds the work of one stream of one device, and of branches of graphs on that device. */
static void see_stream(struct trace *trace, const struct json *args, uint32_t row, enum category category)
{
    struct {
        int64_t device, stream;
    } who = {-1, -1};
    if (!json_integer(json_member(args, "device"), &who.device) ||
        !json_integer(json_member(args, "stream"), &who.stream) || !category_is_work(category))
        return;
    names_put(&trace->used_streams, &who, sizeof(who));
    names_put(&trace->used_devices, &who.device, sizeof(who.device));
    struct row place;
    memcpy(&place, names_get(&trace->rows, row), sizeof(place));
    int64_t mine[3] = {row, who.device, stream_in_row(args, who.stream, place.tid)}, other[3];
    uint32_t rows = trace->row_streams.count;
    if (names_put(&trace->row_streams, mine, sizeof(mine)) != rows)
        return;
    for (uint32_t i = 0; i < rows; i++) {
        memcpy(other, names_get(&trace->row_streams, i), sizeof(other));
        bool differs = other[1] != mine[1] || (other[2] >= 0 && mine[2] >= 0 && other[2] != mine[2]);
        if (other[0] == row && differs && !trace->kineto)
            problem(trace, trace->events, "rows", "its row holds work of another stream or device as well");
    }
}

static void check_no_flow(struct trace *trace, const struct json *event)
{
    if (json_member(event, "bind_id") || json_member(event, "flow_out") || json_member(event, "flow_in"))
        problem(trace, trace->events, "flows", "a flow is a member of a slice, not events \"s\" and \"f\"");
}

static void see_slice(struct trace *trace, const struct json *event)
{
    const struct json *args = json_member(event, "args");
    enum category category = category_of(text_of(trace, event, "cat"));
    const char *name = text_of(trace, event, "name");
    int64_t start = time_of(trace, event, "ts"), duration = time_of(trace, event, "dur");
    if (duration < 0)
        problem(trace, trace->events, "time", "\"dur\" is below 0");
    trace->slices = grow(trace->slices, trace->slices_count, &trace->slices_capacity, sizeof(*trace->slices));
    struct slice *slice = &trace->slices[trace->slices_count++];
    *slice = (struct slice){.start = start,
                            .end = start + (duration < 0 ? 0 : duration),
                            .row = row_of(trace, event),
                            .number = trace->events,
                            .name = names_put(&trace->texts, name, strlen(name)),
                            .correlation = correlation_of(args),
                            .category = (uint8_t)category};
    check_no_flow(trace, event);
    see_stream(trace, args, slice->row, category);
    if (category_is_api(category))
        names_put(&trace->api_rows, &slice->row, sizeof(slice->row));
    trace_arguments(trace, event, category);
    trace_stack(trace, event);
    tally_slice(trace, event, category);
}

/* The number of the words that the two ends of something have in common. */
static uint32_t end_key(struct trace *trace, const struct json *event, bool with_name)
{
    char key[512];
    const char *cat = text_of(trace, event, "cat"), *name = text_of(trace, event, "name");
    const struct json *id = json_member(event, "id");
    if (!id || (id->type != JSON_NUMBER && id->type != JSON_STRING)) {
        problem(trace, trace->events, "fields", "\"id\" is missing, or neither number nor string");
        return names_put(&trace->texts, "", 0);
    }
    int length = snprintf(key, sizeof(key), "%s id %s%s%s", cat, id->text, with_name ? " " : "", with_name ? name : "");
    return names_put(&trace->texts, key, length < (int)sizeof(key) ? (size_t)length : sizeof(key) - 1);
}

static struct end end_of(struct trace *trace, const struct json *event, char phase)
{
    return (struct end){.time = time_of(trace, event, "ts"),
                        .key = end_key(trace, event, phase == 'b' || phase == 'e'),
                        .row = row_of(trace, event),
                        .number = trace->events,
                        .slice = TRACE_NOTHING,
                        .phase = phase};
}

static void see_flow(struct trace *trace, const struct json *event, char phase)
{
    int64_t id = 0;
    if (!json_integer(json_member(event, "id"), &id) || id < 0 || id > UINT32_MAX)
        problem(trace, trace->events, "flows", "\"id\" of a flow is no integer below 2^32");
    const struct json *binding = json_member(event, "bp");
    if (phase == 'f' && (!binding || strcmp(binding->text, "e") != 0))
        problem(trace, trace->events, "flows", "\"bp\" of a flow's end is not \"e\"");
    if (trace->kineto)
        return; /* its ends need not match: several f of a graph's s, none of a call without work */
    trace->flows = grow(trace->flows, trace->flows_count, &trace->flows_capacity, sizeof(*trace->flows));
    trace->flows[trace->flows_count] = end_of(trace, event, phase);
    trace->flows[trace->flows_count++].autograd = strcmp(text_of(trace, event, "cat"), "fwdbwd") == 0;
}

static void see_range(struct trace *trace, const struct json *event, char phase)
{
    trace->ranges = grow(trace->ranges, trace->ranges_count, &trace->ranges_capacity, sizeof(*trace->ranges));
    trace->ranges[trace->ranges_count++] = end_of(trace, event, phase);
    if (phase == 'b')
        tally_nvtx(trace, event, "start", "starts");
}

static void see_instant(struct trace *trace, const struct json *event, char phase)
{
    (void)phase;
    const struct json *scope = json_member(event, "s");
    if (scope && (scope->type != JSON_STRING || scope->length != 1 || !strchr("tpg", scope->text[0])))
        problem(trace, trace->events, "fields", "\"s\" of an instant is none of t, p, g");
    text_of(trace, event, "name");
    time_of(trace, event, "ts");
    row_of(trace, event);
    trace_stack(trace, event);
    const struct json *cat = json_member(event, "cat");
    if (cat && category_of(cat->text) == CATEGORY_ANNOTATION)
        tally_nvtx(trace, event, "mark", "marks");
    if (cat && category_of(cat->text) == CATEGORY_MEMORY)
        trace_memory_event(trace, event);
    if (cat && strcmp(cat->text, "nvtx_memory") == 0)
        tally_nvtx_memory(trace, event);
    if (cat && strcmp(cat->text, "cuda_event") == 0)
        tally_event_name(trace, event, "cuda_event_name", "cuda-event");
    if (cat && category_of(cat->text) == CATEGORY_PLUGIN) {
        trace_arguments(trace, event, CATEGORY_PLUGIN);
        tally_plugin(trace, event, "instant");
    }
}

static void see_counter(struct trace *trace, const struct json *event, char phase)
{
    (void)phase;
    const char *name = text_of(trace, event, "name");
    int64_t time = time_of(trace, event, "ts"), pid = number_of(trace, event, "pid", 0);
    const struct json *args = json_member(event, "args");
    if (!args || args->type != JSON_OBJECT || !args->first) {
        problem(trace, trace->events, "counters", "a counter without values in \"args\"");
        return;
    }
    names_put(&trace->used_pids, &pid, sizeof(pid));
    for (const struct json *value = args->first; value; value = value->next) {
        if (value->type != JSON_NUMBER) {
            problem(trace, trace->events, "counters", "the value \"%s\" is no number", value->key);
            continue;
        }
        char key[512];
        snprintf(key, sizeof(key), "%s\t%" PRId64 "\t%s", name, pid, value->key);
        trace->samples = grow(trace->samples, trace->samples_count, &trace->samples_capacity, sizeof(*trace->samples));
        trace->samples[trace->samples_count++] =
            (struct sample){time, strtod(value->text, NULL), names_put(&trace->texts, key, strlen(key)), trace->events};
    }
}

/* Names and order of rows. tid 0 stands for the process here. */
static void see_name(struct trace *trace, const struct json *event, char phase)
{
    (void)phase;
    static const struct {
        const char *name, *argument;
        enum json_type type;
    } known[] = {{"process_name", "name", JSON_STRING},
                 {"thread_name", "name", JSON_STRING},
                 {"process_labels", "labels", JSON_STRING},
                 {"process_sort_index", "sort_index", JSON_NUMBER},
                 {"thread_sort_index", "sort_index", JSON_NUMBER}};
    const char *name = text_of(trace, event, "name");
    struct row row = {number_of(trace, event, "pid", 0),
                      json_member(event, "tid") ? number_of(trace, event, "tid", 0) : 0};
    size_t i = 0;
    while (i < sizeof(known) / sizeof(*known) && strcmp(known[i].name, name) != 0)
        i++;
    if (i == sizeof(known) / sizeof(*known)) {
        problem(trace, trace->events, "names", "metadata of an unknown name, \"%s\"", name);
        return;
    }
    const struct json *value = json_member(json_member(event, "args"), known[i].argument);
    if (!value || value->type != known[i].type) {
        problem(trace, trace->events, "names", "%s without \"%s\" of the right type", name, known[i].argument);
        return;
    }
    if (strcmp(name, "process_name") == 0)
        names_put(&trace->named_pids, &row.pid, sizeof(row.pid));
    else if (strcmp(name, "thread_name") == 0)
        names_put(&trace->named_rows, &row, sizeof(row));
    if (value->type == JSON_STRING)
        names_put(&trace->titles, value->text, value->length);
}

static void see_slice_phase(struct trace *trace, const struct json *event, char phase)
{
    (void)phase;
    see_slice(trace, event);
}

void trace_event(struct trace *trace, const struct json *event)
{
    static const struct {
        char phase;
        void (*see)(struct trace *trace, const struct json *event, char phase);
    } phases[] = {{'X', see_slice_phase}, {'s', see_flow},    {'f', see_flow},    {'b', see_range},
                  {'e', see_range},       {'i', see_instant}, {'C', see_counter}, {'M', see_name}};
    trace->events++;
    if (event->type != JSON_OBJECT) {
        problem(trace, trace->events, "fields", "an event is no object");
        return;
    }
    const char *phase = text_of(trace, event, "ph");
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        if (phase[0] != phases[i].phase || phase[1])
            continue;
        const struct json *cat = json_member(event, "cat");
        tally(trace, 0, "%s events%s%s", phase, cat ? " of category " : "", cat ? cat->text : "");
        if (phase[0] != 'M')
            tally(trace, 0, "events");
        phases[i].see(trace, event, phase[0]);
        return;
    }
    problem(trace, trace->events, "fields", "unknown phase \"%s\"", phase);
}
