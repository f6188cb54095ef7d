/*
 * Call stacks of torch.profiler(with_stack=True), which are ranges of Python functions.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_PYTHON_STACKS_H
#define GPUTRACE_ANALYSIS_ENGINE_PYTHON_STACKS_H

struct trace;

/* Sets the stacks of launched_ops, and of calls in python_calls, by the ranges of `python`, for trace_finish(). Returns
 * 0, or -1: no memory, or after error(). */
int trace_place_python(struct trace *trace);

#endif
