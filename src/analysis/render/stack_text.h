/*
 * Call stacks as people read them.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_STACK_TEXT_H
#define GPUTRACE_ANALYSIS_RENDER_STACK_TEXT_H

#include <stddef.h>

#include "trace/frames.h"

struct buffer;

/*
 * Writes a stack, innermost frame first, a line each that begins with INDENT: function, and file:line or module+offset.
 * Frames that are not the program's are left out: CUDA's inner frames above its calls, and those that started main() or
 * the thread. Paths of sources below the working directory are relative to it.
 */
void frames_write(struct buffer *out, const struct stack_frame *frames, size_t count, const char *indent);

#endif
