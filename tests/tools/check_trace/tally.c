/*
 * What happened, counted under the keys that a statement uses: "kernel add", "memcpy HtoD", "api cudaMalloc".
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 1024

static struct count *count_of(struct trace *trace, const char *key)
{
    uint32_t number = names_put(&trace->keys, key, strlen(key));
    size_t capacity = trace->counts_capacity;
    trace->counts = grow(trace->counts, number, &trace->counts_capacity, sizeof(*trace->counts));
    if (capacity != trace->counts_capacity)
        memset(trace->counts + capacity, 0, (trace->counts_capacity - capacity) * sizeof(*trace->counts));
    return &trace->counts[number];
}

void tally(struct trace *trace, uint64_t bytes, const char *format, ...)
{
    char key[KEY_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(key, sizeof(key), format, args);
    va_end(args);
    struct count *count = count_of(trace, key);
    count->events++;
    count->bytes += bytes;
}

void tally_count(struct trace *trace, uint64_t events, const char *format, ...)
{
    char key[KEY_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(key, sizeof(key), format, args);
    va_end(args);
    count_of(trace, key)->events += events;
}

const struct count *tally_of(const struct trace *trace, const char *key)
{
    static const struct count none;
    uint32_t number = names_find(&trace->keys, key, strlen(key));
    return number == NAMES_NONE ? &none : &trace->counts[number];
}

static void tally_number(struct trace *trace, const char *key, uint64_t number)
{
    count_of(trace, key)->events = number;
}

/* A kernel's name without what is returned and taken: "void scale<float>(float*, int)" is "scale". */
static void tally_kernel(struct trace *trace, const char *name, const struct json *args)
{
    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    static const char unnamed[] = "(anonymous namespace)";
    size_t length = strcspn(name, "(<");
    while (strncmp(name + length, unnamed, sizeof(unnamed) - 1) == 0) {
        length += sizeof(unnamed) - 1;
        length += strcspn(name + length, "(<");
    }
    tally(trace, 0, "kernel %.*s", (int)length, name);
    tally(trace, 0, "kernels");
    if (json_member(args, "graph id"))
        tally(trace, 0, "graph-kernels");
}

uint64_t bytes_of(const struct json *args)
{
    int64_t bytes = 0;
    return json_integer(json_member(args, "bytes"), &bytes) && bytes > 0 ? (uint64_t)bytes : 0;
}

/* "Memcpy HtoD (Pinned -> Device)": the word after the first. */
static void tally_copy(struct trace *trace, const char *name, const struct json *args)
{
    const char *direction = strchr(name, ' ');
    direction = direction ? direction + 1 : name;
    tally(trace, bytes_of(args), "memcpy %.*s", (int)strcspn(direction, " "), direction);
    tally(trace, 0, "memcpys");
}

/* A range that the program put into the stream, or one of NVTX's that is shown there. */
static void tally_gpu_range(struct trace *trace, const char *name, const struct json *args)
{
    const struct json *from = json_member(args, "from");
    bool device = from && from->type == JSON_STRING && strcmp(from->text, "gputrace_device_range") == 0;
    tally(trace, 0, device ? "device-range \"%s\"" : "nvtx gpu \"%s\"", name);
    if (device)
        tally(trace, 0, "device-ranges");
}

void tally_slice(struct trace *trace, const struct json *event, enum category category)
{
    const struct json *args = json_member(event, "args"), *named = json_member(event, "name");
    const char *name = named ? named->text : "";
    switch (category) {
    case CATEGORY_KERNEL: tally_kernel(trace, name, args); break;
    case CATEGORY_MEMCPY: tally_copy(trace, name, args); break;
    case CATEGORY_MEMSET: tally(trace, bytes_of(args), "memset"); break;
    case CATEGORY_GRAPH: tally(trace, 0, "graphs"); break;
    case CATEGORY_RUNTIME:
    case CATEGORY_DRIVER:
        tally(trace, 0, "api %s", name);
        if (json_member(args, "return value"))
            tally(trace, 0, "failure %s", name);
        break;
    case CATEGORY_SYNC:
        tally(trace, 0, "sync \"%s\"", name);
        tally_event_name(trace, event, "wait_on_cuda_event_name", "wait-on");
        break;
    case CATEGORY_ANNOTATION: tally_nvtx(trace, event, "push", "pushes"); break;
    case CATEGORY_GPU_ANNOTATION: tally_gpu_range(trace, name, args); break;
    case CATEGORY_COMPILATION: tally(trace, 0, "compilation \"%s\"", name); break;
    case CATEGORY_PLUGIN: tally_plugin(trace, event, "slice"); break;
    default: break;
    }
}

/* Appends TEXT in quotes, with a backslash before quotes and backslashes. */
static size_t put_quoted(char *out, size_t at, size_t capacity, const char *text)
{
    if (at + 1 < capacity)
        out[at++] = '"';
    for (; *text && at + 3 < capacity; text++) {
        if (*text == '"' || *text == '\\')
            out[at++] = '\\';
        out[at++] = *text;
    }
    if (at + 1 < capacity)
        out[at++] = '"';
    out[at] = '\0';
    return at;
}

/* A number as it is written, but in the shortest form when it is a fraction: 0.1, not 0.10000000000000001. */
static void put_number(char *out, size_t capacity, const char *text)
{
    snprintf(out, capacity, "%s", text);
    double value = strtod(text, NULL);
    for (int digits = 1; strpbrk(text, ".eE") && digits <= 17; digits++) {
        snprintf(out, capacity, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

void tally_number_words(char *out, size_t capacity, const char *text)
{
    put_number(out, capacity, text);
}

void tally_quote(char *out, size_t capacity, const char *text)
{
    put_quoted(out, 0, capacity, text);
}

static bool is_true(const struct json *args, const char *key)
{
    const struct json *value = json_member(args, key);
    return value && value->type == JSON_TRUE;
}

/* WHAT "NAME" */
static void tally_plain(struct trace *trace, const char *what, const struct json *name)
{
    char quoted[KEY_MAX];
    put_quoted(quoted, 0, sizeof(quoted), name ? name->text : "");
    tally(trace, 0, "%s %s", what, quoted);
}

/* WHAT "message" domain "…" category "…" color "…" payload N failed, of these what the event has. */
void tally_nvtx(struct trace *trace, const struct json *event, const char *what, const char *total)
{
    static const char *const attributes[] = {"domain", "category", "color", "payload"};
    char key[KEY_MAX];
    const struct json *args = json_member(event, "args"), *name = json_member(event, "name");
    size_t at = put_quoted(key, 0, sizeof(key), name ? name->text : "");
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        const struct json *value = json_member(args, attributes[i]);
        if (!value || value->type == JSON_OBJECT || value->type == JSON_ARRAY || value->type == JSON_NULL)
            continue;
        int length = snprintf(key + at, sizeof(key) - at, " %s ", attributes[i]);
        at = at + (size_t)length < sizeof(key) ? at + (size_t)length : sizeof(key) - 1;
        if (value->type == JSON_STRING)
            at = put_quoted(key, at, sizeof(key), value->text);
        else
            put_number(key + at, sizeof(key) - at, value->text);
        at += strlen(key + at);
    }
    if (is_true(args, "failed") && at + sizeof(" failed") <= sizeof(key))
        strcpy(key + at, " failed");
    if (is_true(args, "open at end"))
        tally_plain(trace, "open", name);
    tally_payload(trace, args, what, name);
    tally(trace, 0, "nvtx %s %s", what, key);
    tally(trace, 0, "%s", total);
}

void tally_plugin(struct trace *trace, const struct json *event, const char *what)
{
    char quoted[KEY_MAX];
    const struct json *name = json_member(event, "name");
    put_quoted(quoted, 0, sizeof(quoted), name ? name->text : "");
    tally(trace, 0, "plugin %s %s", what, quoted);
}

/* Processes are counted by the pids of threads that called CUDA or NVTX: GPUs have pids here as well. */
static uint64_t count_processes(const struct trace *trace)
{
    struct names pids = {0};
    for (size_t i = 0; i < trace->slices_count; i++) {
        enum category category = (enum category)trace->slices[i].category;
        struct row row;
        if (!category_is_api(category) && category != CATEGORY_ANNOTATION)
            continue;
        memcpy(&row, names_get(&trace->rows, trace->slices[i].row), sizeof(row));
        names_put(&pids, &row.pid, sizeof(row.pid));
    }
    uint64_t count = pids.count;
    names_release(&pids);
    return count;
}

void tally_end(struct trace *trace)
{
    uint64_t flows = 0;
    trace_memory_end(trace);
    for (size_t i = 0; i < trace->slices_count; i++)
        flows += trace->slices[i].has_flow;
    tally_number(trace, "flows", flows);
    tally_number(trace, "streams", trace->used_streams.count);
    tally_number(trace, "devices", trace->used_devices.count);
    tally_number(trace, "threads", trace->api_rows.count);
    tally_number(trace, "processes", count_processes(trace));
}

void tally_print(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->keys.count; i++) {
        printf("%12" PRIu64 "  %s", trace->counts[i].events, names_get(&trace->keys, i));
        if (trace->counts[i].bytes)
            printf(", %" PRIu64 " bytes", trace->counts[i].bytes);
        putchar('\n');
    }
}
