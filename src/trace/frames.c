/*
 * Decides whose code a frame is (the program's, PyTorch's, CUDA's, the system's, …) by the path of its module or
 * file, and which frame is shown for a stack.
 */
#include "trace/frames.h"

#include <string.h>

#include "common/buffer.h"
#include "common/text.h"

const char *frame_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *start)
{
    return text && strncmp(text, start, strlen(start)) == 0;
}

static bool starts_with_one_of(const char *text, const char *const *starts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (starts_with(text, starts[i]))
            return true;
    return false;
}

#define STARTS_WITH_ONE_OF(text, starts) starts_with_one_of(text, starts, sizeof(starts) / sizeof(*(starts)))

static bool is_of_python(const struct stack_frame *frame)
{
    return frame->module && strcmp(frame->module, FRAME_PYTHON) == 0;
}

bool frame_is_start(const struct stack_frame *frame)
{
    static const char *const starts[] = {"_start", "__libc_start_", "start_thread", "clone", "__clone"};
    return !is_of_python(frame) && STARTS_WITH_ONE_OF(frame->function, starts);
}

bool frame_is_backward(const struct stack_frame *frame)
{
    const char *function = frame->function;
    if (!is_of_python(frame) || !function || !frame->file)
        return false;
    if (text_ends_with(frame->file, "/torch/autograd/graph.py"))
        return strcmp(function, "_engine_run_backward") == 0;
    return text_ends_with(frame->file, "/torch/autograd/__init__.py") &&
           (strcmp(function, "backward") == 0 || strcmp(function, "grad") == 0);
}

/* Whether a file or module is in Python's own library or an installed package, or is code that torch.compile writes or
 * that CUDA's headers add to every program. */
static bool is_installed(const char *path)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3",
                                          "<frozen ",        "/torchinductor_", "/include/crt/"};
    for (size_t i = 0; path && i < sizeof(folders) / sizeof(*folders); i++)
        if (strstr(path, folders[i]))
            return true;
    return false;
}

enum frame_owner frame_owner(const struct stack_frame *frame)
{
    static const char *const cuda[] = {"libcuda.so", "libcudart.so", "libcupti.so", "libgputrace.so",
                                       "libgputrace-allocator.so"};
    static const char *const libraries[] = {
        "libcu",   "libnv",      "libnccl", "libtorch", "libc10", "libpython", "python3",    "python2",
        "libc.so", "libc-2",     "libm.so", "libm-2",   "libdl",  "librt",     "libpthread", "libstdc++",
        "libgcc_", "libgomp.so", "libomp",  "libiomp",  "libffi", "ld-linux",  "ld-2",
    };
    const char *module = frame_base_name(frame->module), *function = frame->function;
    if (is_of_python(frame)) {
        if (!frame->file || is_installed(frame->file))
            return FRAME_PYTHON_LIBRARY;
        return *frame->file == '<' ? FRAME_PYTHON_NO_FILE : FRAME_SCRIPT;
    }
    /* A runtime that is linked into the program has functions of these names without debugging information. */
    bool call = starts_with(function, "cuda") && function[4] >= 'A' && function[4] <= 'Z' && !frame->file;
    if (STARTS_WITH_ONE_OF(module, cuda) || call || starts_with(function, "libcudart_static_"))
        return FRAME_CUDA;
    if (starts_with(function, "__device_stub__") || starts_with(function, "__wrapper__device_stub_"))
        return FRAME_STUB;
    if (!frame->module && !function)
        return FRAME_LIBRARY;
    bool library = STARTS_WITH_ONE_OF(module, libraries) || is_installed(frame->module) || is_installed(frame->file);
    return library || frame_is_start(frame) ? FRAME_LIBRARY : FRAME_PROGRAM;
}

size_t frames_begin(enum frame_owner (*owner)(const void *data, size_t i), const void *data, size_t count)
{
    size_t first = 0;
    while (first < count && first < FRAMES_BEFORE_CUDA && owner(data, first) != FRAME_CUDA)
        first++;
    if (first == count || owner(data, first) != FRAME_CUDA)
        return 0;
    while (first < count && owner(data, first) == FRAME_CUDA)
        first++;
    return first;
}

size_t frames_place(enum frame_owner (*owner)(const void *data, size_t i), const void *data, size_t count)
{
    size_t first = frames_begin(owner, data, count), place = first < count ? first : 0;
    enum frame_owner best = FRAME_LIBRARY;
    for (size_t i = first; i < count; i++) {
        enum frame_owner here = owner(data, i);
        if (here <= best || (i > 0 && owner(data, i - 1) == FRAME_STUB))
            continue;
        best = here;
        place = i;
    }
    return place;
}

static enum frame_owner owner_of(const void *data, size_t i)
{
    return frame_owner((const struct stack_frame *)data + i);
}

size_t stack_frames_place(const struct stack_frame *frames, size_t count)
{
    return frames_place(owner_of, frames, count);
}

static void put_offset(struct buffer *buffer, const struct stack_frame *frame)
{
    if (frame->module)
        buffer_format(buffer, "%s+0x%llx", frame_base_name(frame->module), (unsigned long long)frame->offset);
    else
        buffer_format(buffer, "0x%llx", (unsigned long long)frame->address);
}

void frame_put_name(struct buffer *buffer, const struct stack_frame *frame)
{
    if (frame->function)
        buffer_text(buffer, frame->function);
    else
        put_offset(buffer, frame);
}

void frame_put_place(struct buffer *buffer, const struct stack_frame *frame)
{
    frame_put_name(buffer, frame);
    if (!frame->file && !(frame->function && frame->module))
        return;
    buffer_text(buffer, " (");
    if (frame->file)
        buffer_text(buffer, frame_base_name(frame->file));
    if (frame->file && frame->line > 0)
        buffer_format(buffer, ":%u", frame->line);
    else if (!frame->file)
        put_offset(buffer, frame);
    buffer_char(buffer, ')');
}
