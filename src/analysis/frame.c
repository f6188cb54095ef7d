#include "analysis/frame.h"

#include <string.h>

#include "common/sink.h"
#include "analysis/metadata.h"

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static void put_file(struct sink *out, const char *file, int64_t line)
{
    sink_text(out, file);
    if (line != EVENT_NONE)
        sink_format(out, ":%lld", (long long)line);
}

/* SHORTLY: without the folders of the file. */
static void put_frame(struct sink *out, const cJSON *frame, bool shortly)
{
    const char *function = metadata_text(frame, "function"), *file = metadata_text(frame, "file"),
               *offset = metadata_text(frame, "offset");
    const char *module = base_name(metadata_text(frame, "module")), *address = metadata_text(frame, "address");
    bool placed = file || module;
    sink_text(out, function ? function : "");
    sink_text(out, function && placed ? " (" : "");
    if (file)
        put_file(out, shortly ? base_name(file) : file, metadata_number(frame, "line"));
    else if (module)
        sink_format(out, "%s+%s", module, offset ? offset : "?");
    else if (!function)
        sink_text(out, address ? address : "?");
    sink_text(out, function && placed ? ")" : "");
}

static const cJSON *first_inlined(const cJSON *frame)
{
    const cJSON *inlined = cJSON_GetObjectItemCaseSensitive(frame, "inlined");
    return cJSON_IsArray(inlined) ? inlined->child : NULL;
}

void frame_put_calls(struct sink *out, const cJSON *frame)
{
    for (const cJSON *call = first_inlined(frame); call; call = call->next) {
        put_frame(out, call, false);
        sink_text(out, " < ");
    }
    put_frame(out, frame, false);
}

void frame_put_place(struct sink *out, const cJSON *frame)
{
    const cJSON *inlined = first_inlined(frame);
    put_frame(out, inlined ? inlined : frame, true);
}

static bool starts_with(const char *text, const char *start)
{
    return text && strncmp(text, start, strlen(start)) == 0;
}

bool frame_is_cuda(const cJSON *frame)
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
