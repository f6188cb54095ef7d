#include "tests/trace/meaning/trace_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "common/text.h"

#define REQUIRE(condition, ...)                             \
    do {                                                    \
        if (!(condition)) {                                 \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
            fprintf(stderr, __VA_ARGS__);                   \
            fprintf(stderr, "\n");                          \
            abort();                                        \
        }                                                   \
    } while (0)

static void read_text(struct trace *trace, const char *path)
{
    gzFile file = gzopen(path, "rb"); /* reads plain files as they are */
    REQUIRE(file, "cannot open %s", path);
    size_t capacity = 1 << 16;
    trace->text = malloc(capacity + 1);
    int got;
    while ((got = gzread(file, trace->text + trace->length, (unsigned)(capacity - trace->length))) > 0) {
        trace->length += (size_t)got;
        if (trace->length == capacity)
            trace->text = realloc(trace->text, (capacity *= 2) + 1);
    }
    REQUIRE(got == 0 && gzclose(file) == Z_OK, "cannot read %s", path);
    trace->text[trace->length] = '\0';
}

static void check_utf8(const struct trace *trace)
{
    for (size_t i = 0; i < trace->length;) {
        size_t size = utf8_size(trace->text + i, trace->length - i);
        REQUIRE(size > 0, "invalid UTF-8 at byte %zu", i);
        i += size;
    }
}

static void check_numbers(const struct trace *trace)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, trace->events)
    {
        static const char *const ids[] = {"pid", "tid", "id"};
        for (size_t i = 0; i < 3; i++) {
            const cJSON *id = cJSON_GetObjectItemCaseSensitive(event, ids[i]);
            REQUIRE(!id || (id->valuedouble >= 0 && id->valuedouble <= 4294967295.0), "%s out of range: %f", ids[i],
                    id->valuedouble);
        }
        REQUIRE(event_number(event, "ts") >= 0, "negative time");
    }
}

struct placed {
    double pid, tid;
    long start, end;
    size_t order;
};

static int by_row_and_time(const void *a, const void *b)
{
    const struct placed *left = a, *right = b;
    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    if (left->tid != right->tid)
        return left->tid < right->tid ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Times of a spool whose header is damaged may be years apart, more than a double tells to the nanosecond. */
static long slack(long time)
{
    return time >= 1L << 52 ? time >> 50 : 0;
}

/* Slices of one row, in order of their start and then of the file, must nest. */
static void check_row(const struct placed *slices, size_t count)
{
    long *ends = malloc((count + 1) * sizeof(*ends));
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        while (depth > 0 && ends[depth - 1] <= slices[i].start + slack(slices[i].start))
            depth--;
        REQUIRE(depth == 0 || ends[depth - 1] + slack(slices[i].end) >= slices[i].end,
                "a slice at %ld..%ld of row %.0f/%.0f goes beyond the one around it, which ends at %ld",
                slices[i].start, slices[i].end, slices[i].pid, slices[i].tid, ends[depth - 1]);
        ends[depth++] = slices[i].end;
    }
    free(ends);
}

static struct placed *list_slices(const struct trace *trace, size_t *count)
{
    struct placed *slices = calloc((size_t)cJSON_GetArraySize(trace->events) + 1, sizeof(*slices));
    const cJSON *event;
    *count = 0;
    cJSON_ArrayForEach(event, trace->events)
    {
        if (strcmp(event_text(event, "ph"), "X") != 0)
            continue;
        long start = event_ns(event, "ts");
        slices[*count] = (struct placed){.pid = event_number(event, "pid"),
                                         .tid = event_number(event, "tid"),
                                         .start = start,
                                         .end = start + event_ns(event, "dur"),
                                         .order = *count};
        REQUIRE(slices[*count].tid != 0, "tid 0");
        (*count)++;
    }
    qsort(slices, *count, sizeof(*slices), by_row_and_time);
    return slices;
}

static void check_nesting(const struct trace *trace)
{
    size_t count, first = 0;
    struct placed *slices = list_slices(trace, &count);
    for (size_t i = 1; i <= count; i++) {
        if (i < count && slices[i].pid == slices[first].pid && slices[i].tid == slices[first].tid)
            continue;
        check_row(slices + first, i - first);
        first = i;
    }
    free(slices);
}

static bool on_slice(const struct trace *trace, const cJSON *flow)
{
    const cJSON *event;
    long time = event_ns(flow, "ts");
    cJSON_ArrayForEach(event, trace->events)
    {
        if (strcmp(event_text(event, "ph"), "X") == 0 && event_number(event, "pid") == event_number(flow, "pid") &&
            event_number(event, "tid") == event_number(flow, "tid") && event_ns(event, "ts") <= time &&
            time <= event_ns(event, "ts") + event_ns(event, "dur"))
            return true;
    }
    return false;
}

static void check_flows(const struct trace *trace)
{
    const cJSON *event, *other;
    cJSON_ArrayForEach(event, trace->events)
    {
        const char *phase = event_text(event, "ph");
        bool start = strcmp(phase, "s") == 0;
        if (!start && strcmp(phase, "f") != 0)
            continue;
        int starts = 0, ends = 0;
        cJSON_ArrayForEach(other, trace->events)
        {
            const char *kind = event_text(other, "ph");
            if ((kind[0] == 's' || kind[0] == 'f') && event_number(other, "id") == event_number(event, "id")) {
                starts += kind[0] == 's';
                ends += kind[0] == 'f';
                long wait = event_ns(other, "ts") - event_ns(event, "ts");
                REQUIRE(kind[0] == phase[0] || (start ? wait >= 0 : wait <= 0), "flow %.0f ends before it starts",
                        event_number(event, "id"));
            }
        }
        REQUIRE(starts == 1 && ends == 1, "flow %.0f has %d tails and %d heads", event_number(event, "id"), starts,
                ends);
        REQUIRE(on_slice(trace, event), "an end of flow %.0f is on no slice", event_number(event, "id"));
    }
}

struct trace trace_convert_to(const char *directory, const char *file)
{
    return trace_convert_named(directory, file, NULL);
}

struct trace trace_convert_named(const char *directory, const char *file, const struct frame_namer *namer)
{
    struct trace trace = {0};
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", directory, file);
    struct convert_options options = {
        .spool_directory = directory, .output = path, .exit_text = "exit 0", .namer = namer};
    REQUIRE(convert_spool(&options, &trace.summary) == 0, "%s was not converted", directory);
    read_text(&trace, path);
    trace.json = cJSON_ParseWithLengthOpts(trace.text, trace.length + 1, NULL, 1);
    REQUIRE(trace.json, "no JSON from here on: %.200s", cJSON_GetErrorPtr());
    trace.events = cJSON_GetObjectItemCaseSensitive(trace.json, "traceEvents");
    REQUIRE(cJSON_IsArray(trace.events), "no traceEvents");
    check_utf8(&trace);
    check_numbers(&trace);
    check_nesting(&trace);
    check_flows(&trace);
    return trace;
}

struct trace trace_convert(const char *directory)
{
    return trace_convert_to(directory, "trace.json");
}

struct trace trace_of(struct make_spool *spool)
{
    return trace_of_named(spool, NULL);
}

struct trace trace_of_done(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_DONE);
    return trace_of(spool);
}

struct trace trace_of_named(struct make_spool *spool, const struct frame_namer *namer)
{
    char directory[] = "/tmp/gputrace-unit.XXXXXX", command[64];
    REQUIRE(mkdtemp(directory), "no directory");
    make_spool_save(spool, directory);
    make_spool_release(spool);
    struct trace trace = trace_convert_named(directory, "trace.json", namer);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    REQUIRE(system(command) == 0, "%s", command);
    return trace;
}

void trace_release(struct trace *trace)
{
    convert_plugins_release(&trace->summary.plugins);
    cJSON_Delete(trace->json);
    free(trace->text);
}

static bool has_text(const cJSON *event, const char *key, const char *text, bool whole)
{
    if (!text)
        return true;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, key);
    if (!cJSON_IsString(item))
        return false;
    return whole ? strcmp(item->valuestring, text) == 0 : strncmp(item->valuestring, text, strlen(text)) == 0;
}

const cJSON *trace_event(const struct trace *trace, const char *phase, const char *category, const char *name, int n)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, trace->events)
    {
        if (has_text(event, "ph", phase, true) && has_text(event, "cat", category, true) &&
            has_text(event, "name", name, false) && n-- == 0)
            return event;
    }
    return NULL;
}

int trace_count(const struct trace *trace, const char *phase, const char *category, const char *name)
{
    int count = 0;
    while (trace_event(trace, phase, category, name, count))
        count++;
    return count;
}

double event_number(const cJSON *event, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, key);
    if (!item && (strcmp(key, "tid") == 0 || strcmp(key, "ts") == 0))
        return 0; /* counters have no tid */
    REQUIRE(cJSON_IsNumber(item), "no number '%s'", key);
    return item->valuedouble;
}

long event_ns(const cJSON *event, const char *key)
{
    return (long)(event_number(event, key) * 1000 + 0.5);
}

const char *event_text(const cJSON *event, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, key);
    REQUIRE(cJSON_IsString(item), "no text '%s'", key);
    return item->valuestring;
}

const cJSON *event_arg(const cJSON *event, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(event, "args"), key);
}

bool arg_is(const cJSON *event, const char *key, double value)
{
    const cJSON *arg = event_arg(event, key);
    return cJSON_IsNumber(arg) && arg->valuedouble == value;
}

bool arg_text_is(const cJSON *event, const char *key, const char *text)
{
    const cJSON *arg = event_arg(event, key);
    return cJSON_IsString(arg) && strcmp(arg->valuestring, text) == 0;
}

const char *row_name(const struct trace *trace, const cJSON *event)
{
    const cJSON *row;
    for (int i = 0; (row = trace_event(trace, "M", NULL, "thread_name", i)); i++)
        if (event_number(row, "pid") == event_number(event, "pid") &&
            event_number(row, "tid") == event_number(event, "tid"))
            return event_arg(row, "name")->valuestring;
    return NULL;
}
