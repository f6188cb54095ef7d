/*
 * Call stacks as people read them.
 */
#ifndef GPUTRACE_ANALYSIS_STACK_TEXT_H
#define GPUTRACE_ANALYSIS_STACK_TEXT_H

#include <stddef.h>

#include "trace/frames.h"

struct buffer;

/*
 * Writes a stack, innermost frame first, a line each that begins with INDENT: function, and file:line or module+offset.
 * What says nothing about the program is left out: CUDA's own inner frames above its calls, and what started main() or
 * the thread. Paths of sources below the working directory are relative to it.
 */
void frames_write(struct buffer *out, const struct stack_frame *frames, size_t count, const char *indent);

/*
 * What a frame belongs to: CUDA or the tracing, which made the call, or the program. In a stack with functions of
 * Python the line to look at is the innermost of the highest rank: a line of the user's files, which lie neither among
 * installed packages nor in Python's own library; else one of code that is in no file; else that of any function.
 */
enum frame_rank { RANK_CUDA, RANK_NATIVE, RANK_LIBRARY, RANK_NO_FILE, RANK_USER };
/* What is not known is NULL. */
enum frame_rank frame_rank(const char *module, const char *function, const char *file);

#endif
