#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/metadata.h"
#include "analysis/table.h"
#include "analysis/trace.h"

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static void write_file(struct buffer *out, const char *file, int64_t line)
{
    buffer_text(out, file);
    if (line != EVENT_NONE)
        buffer_format(out, ":%lld", (long long)line);
}

/* BRIEF: without the folders of the file. */
static void write_frame(struct buffer *out, const cJSON *frame, bool brief)
{
    const char *function = metadata_text(frame, "function"), *file = metadata_text(frame, "file"),
               *offset = metadata_text(frame, "offset");
    const char *module = base_name(metadata_text(frame, "module")), *address = metadata_text(frame, "address");
    bool placed = file || module;
    buffer_text(out, function ? function : "");
    buffer_text(out, function && placed ? " (" : "");
    if (file)
        write_file(out, brief ? base_name(file) : file, metadata_number(frame, "line"));
    else if (module)
        buffer_format(out, "%s+%s", module, offset ? offset : "?");
    else if (!function)
        buffer_text(out, address ? address : "?");
    buffer_text(out, function && placed ? ")" : "");
}

static const cJSON *first_inlined(const cJSON *frame)
{
    const cJSON *inlined = cJSON_GetObjectItemCaseSensitive(frame, "inlined");
    return cJSON_IsArray(inlined) ? inlined->child : NULL;
}

/* Writes as much as is known: "main (/src/leak.cu:42)", "compute (libmath.so+0x1234)" or "0x7f0012345678". Before it,
 * the calls that the compiler inlined: "inner (/src/a.cu:1) < outer (/src/a.cu:9)". */
static void write_frame_calls(struct buffer *out, const cJSON *frame)
{
    for (const cJSON *call = first_inlined(frame); call; call = call->next) {
        write_frame(out, call, false);
        buffer_text(out, " < ");
    }
    write_frame(out, frame, false);
}

/* Writes the innermost of these, its file without folders: "inner (a.cu:1)". */
static void write_frame_place(struct buffer *out, const cJSON *frame)
{
    const cJSON *inlined = first_inlined(frame);
    write_frame(out, inlined ? inlined : frame, true);
}

static bool starts_with(const char *text, const char *start)
{
    return text && strncmp(text, start, strlen(start)) == 0;
}

/* Whether a frame belongs to CUDA or to the tracing, not to the program. */
static bool frame_is_cuda(const cJSON *frame)
{
    static const char *const modules[] = {"libcuda.so", "libcudart.so", "libcupti.so", "libgputrace.so",
                                          "libgputrace-allocator.so"};
    const char *module = base_name(metadata_text(frame, "module")), *function = metadata_text(frame, "function");
    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
        if (starts_with(module, modules[i]))
            return true;
    /* The runtime linked into the program, which has no debugging information. */
    bool of_runtime = starts_with(function, "cuda") && function[4] >= 'A' && function[4] <= 'Z';
    return starts_with(function, "libcudart_static_") || (of_runtime && !metadata_text(frame, "file"));
}

/* --- call stacks in gputrace's metadata: frames once each, and stacks that are lists of them --- */

/* How many frames of the code that reported the call may come before CUDA's own. */
#define FRAMES_ABOVE_CUDA 8

static int read_words(struct trace *trace, const cJSON *frame, void (*put)(struct buffer *, const cJSON *),
                      uint32_t *text)
{
    struct buffer words;
    buffer_init_memory(&words);
    put(&words, frame);
    buffer_char(&words, '\0');
    int status = -1;
    if (buffer_finish(&words) == 0) {
        *text = intern(&trace->strings, words.data, words.length - 1);
        status = *text == INTERN_NO_MEMORY ? -1 : 0;
    }
    buffer_release(&words);
    return status;
}

static int read_frame(struct trace *trace, const cJSON *frame)
{
    struct trace_frame *added = array_push(&trace->frames);
    if (!added)
        return -1;
    added->is_cuda = frame_is_cuda(frame);
    if (read_words(trace, frame, write_frame_calls, &added->words) < 0)
        return -1;
    return read_words(trace, frame, write_frame_place, &added->place);
}

static int read_stack(struct trace *trace, const cJSON *stack)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(stack, "stack");
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(stack, "frames");
    if (!cJSON_IsNumber(number) || number->valueint < 0 || !cJSON_IsArray(frames))
        return 0;
    uint64_t *index = map_put(&trace->stack_of_number, (uint64_t)number->valueint, NULL);
    struct trace_stack *added = index ? array_push(&trace->stacks) : NULL;
    if (!added)
        return -1;
    *index = trace->stacks.count;
    added->first = trace->stack_frames.count;
    for (const cJSON *frame = frames->child; frame; frame = frame->next) {
        if (!cJSON_IsNumber(frame) || frame->valueint < 0 || (size_t)frame->valueint >= trace->frames.count)
            continue;
        uint32_t *place = array_push(&trace->stack_frames);
        if (!place)
            return -1;
        *place = (uint32_t)frame->valueint;
        added->count++;
    }
    return 0;
}

int trace_stacks(struct trace *trace, const cJSON *frames, const cJSON *stacks)
{
    for (const cJSON *frame = cJSON_IsArray(frames) ? frames->child : NULL; frame; frame = frame->next)
        if (read_frame(trace, frame) < 0)
            return -1;
    for (const cJSON *stack = cJSON_IsArray(stacks) ? stacks->child : NULL; stack; stack = stack->next)
        if (read_stack(trace, stack) < 0)
            return -1;
    return 0;
}

static const struct trace_stack *stack_of(const struct trace *trace, int64_t number)
{
    const uint64_t *index = number == EVENT_NONE ? NULL : map_get(&trace->stack_of_number, (uint64_t)number);
    return index && *index ? &trace->stacks.items[*index - 1] : NULL;
}

static const struct trace_frame *frame_of(const struct trace *trace, const struct trace_stack *stack, size_t i)
{
    return &trace->frames.items[trace->stack_frames.items[stack->first + i]];
}

/* The innermost frame of the program: the first after those of CUDA, and of whoever reported the call. */
static size_t first_of_program(const struct trace *trace, const struct trace_stack *stack)
{
    size_t first = 0;
    while (first < stack->count && first < FRAMES_ABOVE_CUDA && !frame_of(trace, stack, first)->is_cuda)
        first++;
    if (first == stack->count || !frame_of(trace, stack, first)->is_cuda)
        return 0;
    while (first < stack->count && frame_of(trace, stack, first)->is_cuda)
        first++;
    return first < stack->count ? first : 0;
}

struct cell trace_place_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_stack *stack = stack_of(trace, number);
    if (!stack || stack->count == 0)
        return (struct cell){0};
    return trace_text_cell(trace, table, frame_of(trace, stack, first_of_program(trace, stack))->place);
}

struct cell trace_stack_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_stack *stack = stack_of(trace, number);
    struct buffer words;
    if (!stack || stack->count == 0)
        return (struct cell){0};
    buffer_init_memory(&words);
    for (size_t i = 0; i < stack->count; i++) {
        buffer_text(&words, i > 0 ? " < " : "");
        buffer_text(&words, interned(&trace->strings, frame_of(trace, stack, i)->words));
    }
    return table_sink(table, &words);
}

/* --- plugins in gputrace's metadata: see section_plugins.c --- */

static int read_text(struct trace *trace, const char *text, size_t length, uint32_t *number)
{
    *number = intern(&trace->strings, text, length);
    return *number == INTERN_NO_MEMORY ? -1 : 0;
}

static int read_plugin_stack(struct trace *trace, const cJSON *stack, uint32_t *number)
{
    struct buffer text;
    if (!cJSON_IsArray(stack) || !stack->child)
        return 0;
    buffer_init_memory(&text);
    for (const cJSON *frame = stack->child; frame; frame = frame->next) {
        if (frame != stack->child)
            buffer_text(&text, " < ");
        write_frame_calls(&text, frame);
    }
    int status = buffer_finish(&text) == 0 ? read_text(trace, text.data, text.length, number) : -1;
    buffer_release(&text);
    return status;
}

static int read_line(struct trace *trace, const cJSON *line)
{
    const char *text = metadata_text(line, "text");
    struct trace_plugin_line *added = array_push(&trace->plugin_lines);
    if (!added)
        return -1;
    added->text = added->stack = EVENT_NO_TEXT;
    if (text && read_text(trace, text, strlen(text), &added->text) < 0)
        return -1;
    return read_plugin_stack(trace, cJSON_GetObjectItemCaseSensitive(line, "stack"), &added->stack);
}

static int read_plugin(struct trace *trace, const cJSON *plugin)
{
    const char *name = metadata_text(plugin, "name");
    if (!name)
        return 0;
    struct trace_plugin *added = array_push(&trace->plugins);
    if (!added || read_text(trace, name, strlen(name), &added->name) < 0)
        return -1;
    added->pid = metadata_number(plugin, "pid");
    added->calls = metadata_number(plugin, "calls");
    added->ns = metadata_number(plugin, "time_ns");
    const cJSON *lines = cJSON_GetObjectItemCaseSensitive(plugin, "lines");
    for (const cJSON *line = cJSON_IsArray(lines) ? lines->child : NULL; line; line = line->next, added->lines++)
        if (read_line(trace, line) < 0)
            return -1;
    return 0;
}

int trace_plugins(struct trace *trace, const cJSON *plugins)
{
    for (const cJSON *plugin = cJSON_IsArray(plugins) ? plugins->child : NULL; plugin; plugin = plugin->next)
        if (read_plugin(trace, plugin) < 0)
            return -1;
    return 0;
}
