/* The call stacks of a trace are a tree of frames. A stack is a frame and all its callers. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TRACE_STACKS_H
#define GPUTRACE_ANALYSIS_ENGINE_TRACE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/engine/trace.h"

struct cJSON;
struct cell;
struct stack_frame;
struct table;

/* Adds FRAME without a parent, and returns it. Returns NULL without memory. */
struct trace_frame *trace_add_frame(struct trace *trace, const struct stack_frame *frame);
/* trace_read_frames() reads "stackFrames", trace_read_stacks() the lists "frames" and "stacks" of earlier versions of
 * gputrace. Both return 0, or -1: no memory. */
int trace_read_frames(struct trace *trace, const struct cJSON *frames);
int trace_read_stacks(struct trace *trace, const struct cJSON *frames, const struct cJSON *stacks);
/* Sets TEXT to the words of a list of frames that is not in the tree, innermost first. Returns 0, or -1: no memory. */
int trace_read_frame_list(struct trace *trace, const struct cJSON *frames, uint32_t *text);

/* Records the operator around a launch, for trace_stack_operator(). Returns 0, or -1: no memory. */
int trace_add_stack_operator(struct trace *trace, const struct event_fields *event);
/* Returns the operator around the launches with stack NUMBER, or EVENT_NO_TEXT if none or several operators launched
 * with it. */
uint32_t trace_stack_operator(const struct trace *trace, int64_t number);

/* Sets the stacks of trace.launched_ops, and fills python_calls, from the ranges in trace.python. Called by
 * trace_finish(). Returns 0, or -1: no memory, or after error(). */
int trace_place_python(struct trace *trace);

#define TRACE_STACK_FRAMES 512 /* limits walks, because the tree of a damaged trace may have cycles */
/* Copies at most MOST frames of stack NUMBER to FRAMES, innermost first. Returns their number. */
size_t trace_stack(const struct trace *trace, int64_t number, const struct trace_frame **frames, size_t most);
/* As trace_stack(), but without the frames inside CUDA and the frames that start the program or a thread. */
size_t trace_program_frames(const struct trace *trace, int64_t number, const struct trace_frame **frames, size_t most);
/* Returns the frame that represents a stack (frames_place()), or NULL if the stack is not known. */
const struct trace_frame *trace_stack_place(const struct trace *trace, int64_t number);

/* Returns a cell with the place of a stack in the program: "keep (leak.cu:12)". This and the next two cells are empty
 * if the stack is not known. */
struct cell trace_place_cell(const struct trace *trace, struct table *table, int64_t stack);
/* Returns a cell with all frames. */
struct cell trace_stack_cell(const struct trace *trace, struct table *table, int64_t stack);
/* Returns a cell with the functions of the program from trace_stack_place() outwards; if there are none, with a few
 * other frames. */
struct cell trace_callers_cell(const struct trace *trace, struct table *table, int64_t stack);

#endif
