/*
 * Cuts the frames that are not the program's from both ends of the stack, and aligns what is left.
 */
#include "analysis/render/stack_text.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "analysis/render/render.h"

#define FRAMES_SHOWN 32   /* enough for all stacks but deep recursions */
#define FUNCTION_WIDTH 40 /* longer names push their place to the right */

/* Whether FRAME is between a call of CUDA and the agent. The function that the program called is not. */
static bool is_inside_cuda(const struct stack_frame *frame)
{
    bool is_called = frame->function && strncmp(frame->function, "cuda", 4) == 0;
    return frame_owner(frame) == FRAME_CUDA && !is_called;
}

/* The number of innermost frames that are inside CUDA. */
static size_t count_inside_cuda(const struct stack_frame *frames, size_t count)
{
    size_t first = 0;
    while (first < count && first < FRAMES_BEFORE_CUDA && !is_inside_cuda(&frames[first]))
        first++;
    if (first == count || first == FRAMES_BEFORE_CUDA)
        return 0;
    while (first < count && is_inside_cuda(&frames[first]))
        first++;
    return first;
}

/* Whether FRAME is one of the C library that started main() or a thread. */
static bool is_beginning(const struct stack_frame *frame)
{
    const char *module = frame_base_name(frame->module);
    bool libc = module && (strncmp(module, "libc.so", 7) == 0 || strncmp(module, "libpthread", 10) == 0);
    return frame_is_start(frame) || (libc && !frame->function);
}

/* The frames that are shown. */
struct shown {
    const struct stack_frame *frames;
    size_t count;
};

static const char *below_working_directory(const char *path)
{
    char here[PATH_MAX];
    if (!getcwd(here, sizeof(here)))
        return path;
    size_t length = strlen(here);
    return strncmp(path, here, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static size_t function_width(const struct stack_frame *frame)
{
    size_t width = frame->function ? render_width(frame->function, strlen(frame->function)) : 0;
    return width <= FUNCTION_WIDTH ? width : 0;
}

static void write_frame(struct buffer *out, const struct stack_frame *frame, const char *indent, size_t width)
{
    buffer_text(out, indent);
    if (frame->function) {
        render_visible(out, frame->function, "");
        size_t used = render_width(frame->function, strlen(frame->function));
        buffer_format(out, "%*s  ", used < width ? (int)(width - used) : 0, "");
    }
    if (frame->file) {
        render_visible(out, below_working_directory(frame->file), "");
        if (frame->line > 0)
            buffer_format(out, ":%u", frame->line);
    } else if (frame_is_python(frame)) {
        buffer_text(out, FRAME_PYTHON);
    } else if (frame->module) {
        render_visible(out, frame_base_name(frame->module), "");
        buffer_format(out, "+0x%llx", (unsigned long long)frame->offset);
    } else {
        buffer_format(out, "0x%llx", (unsigned long long)frame->address);
    }
    buffer_char(out, '\n');
}

void frames_write(struct buffer *out, const struct stack_frame *frames, size_t count, const char *indent)
{
    if (count == 0)
        return;
    /* The program's own frames; all frames if there would be none. */
    size_t inside = count_inside_cuda(frames, count);
    struct shown shown = {frames + inside, count - inside};
    for (size_t i = 0; i < shown.count; i++)
        if (!frame_is_python(&shown.frames[i]) && shown.frames[i].function &&
            strcmp(shown.frames[i].function, "main") == 0)
            shown.count = i + 1;
    while (shown.count > 0 && is_beginning(&shown.frames[shown.count - 1]))
        shown.count--;
    shown = shown.count > 0 ? shown : (struct shown){frames, count};
    size_t more = shown.count > FRAMES_SHOWN ? shown.count - FRAMES_SHOWN : 0;
    shown.count -= more;
    /* The widest function, so that places are aligned. */
    size_t width = 0;
    for (size_t i = 0; i < shown.count; i++) {
        for (size_t k = 0; k < shown.frames[i].inlined_count; k++) {
            size_t inlined = function_width(&shown.frames[i].inlined[k]);
            width = inlined > width ? inlined : width;
        }
        size_t own = function_width(&shown.frames[i]);
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < shown.count; i++) {
        for (size_t k = 0; k < shown.frames[i].inlined_count; k++)
            write_frame(out, &shown.frames[i].inlined[k], indent, width);
        write_frame(out, &shown.frames[i], indent, width);
    }
    if (more > 0)
        buffer_format(out, "%s… and %zu more\n", indent, more);
}
