/*
 * Rows of profilers whose events have no category that says what they are: JAX, TensorFlow, rocprof, Ascend's, and
 * PyTorch before 1.8. The names of a process and a thread say it.
 */
#ifndef GPUTRACE_TRACE_GPU_ROWS_H
#define GPUTRACE_TRACE_GPU_ROWS_H

#include <stdint.h>

#include "trace/event.h"

struct gpu_row {
    enum category category;
    int64_t device, stream; /* -1: not known */
};

/* What a slice NAME is, in thread TID of this name, which may be empty, of a process. A category of CATEGORY_OTHER:
 * the names do not say it. */
struct gpu_row gpu_row_find(const char *process, const char *thread, int64_t tid, const char *name);

#endif
