/* The call stacks of a trace: a tree of frames, in which a stack is a frame and all its callers. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TRACE_STACKS_H
#define GPUTRACE_ANALYSIS_ENGINE_TRACE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/engine/trace.h"

struct cJSON;
struct cell;
struct stack_frame;
struct table;

/* Adds a frame without a parent. Returns NULL without memory. */
struct trace_frame *trace_add_frame(struct trace *trace, const struct stack_frame *frame);
/* Read "stackFrames", and the lists "frames" and "stacks" of earlier traces. They return 0, or -1: no memory. */
int trace_read_frames(struct trace *trace, const struct cJSON *frames);
int trace_read_stacks(struct trace *trace, const struct cJSON *frames, const struct cJSON *stacks);
/* Sets TEXT to the frames of a list that belongs to no stack, innermost first. Returns 0, or -1: no memory. */
int trace_read_frame_list(struct trace *trace, const struct cJSON *frames, uint32_t *text);

/* Records the operator around a launch, for trace_stack_operator(). Returns 0, or -1: no memory. */
int trace_add_stack_operator(struct trace *trace, const struct event_fields *event);
/* The operator that launched with a stack without a line of the program; EVENT_NO_TEXT if none or several did. */
uint32_t trace_stack_operator(const struct trace *trace, int64_t number);

/* Sets the stacks of launched_ops, and of calls in python_calls, by the ranges of `python`, for trace_finish(). Returns
 * 0, or -1: no memory, or after error(). */
int trace_place_python(struct trace *trace);

#define TRACE_STACK_FRAMES 512 /* the tree of a damaged trace may have a cycle */
/* Copies at most MOST frames of stack NUMBER to FRAMES, innermost first. Returns their number. */
size_t trace_stack(const struct trace *trace, int64_t number, const struct trace_frame **frames, size_t most);
/* As trace_stack(), without frames inside CUDA and those that start the program or a thread. */
size_t trace_program_frames(const struct trace *trace, int64_t number, const struct trace_frame **frames, size_t most);
/* The frame that represents a stack (frames_place()), or NULL if the stack is not known. */
const struct trace_frame *trace_stack_place(const struct trace *trace, int64_t number);

/* Cells of a call stack; empty if it is not known. The place in the program: "keep (leak.cu:12)"; */
struct cell trace_place_cell(const struct trace *trace, struct table *table, int64_t stack);
/* all frames; */
struct cell trace_stack_cell(const struct trace *trace, struct table *table, int64_t stack);
/* the frames from that place outwards: functions of the program, or a few others if there are none. */
struct cell trace_callers_cell(const struct trace *trace, struct table *table, int64_t stack);

#endif
