/* Fills struct trace with events and metadata, and makes calls, operations and ranges ready. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TRACE_READER_H
#define GPUTRACE_ANALYSIS_ENGINE_TRACE_READER_H

#include <stddef.h>

#include "common/threads.h"
#include "analysis/base/options.h"
#include "trace/event_fields.h"

struct cJSON;
struct trace;

void trace_init(struct trace *trace, const struct report_options *options);
void trace_release(struct trace *trace);

/* These read an event. Both are called with all events, each in its own thread: trace_gpu_op() reads slices of GPU
 * operations and ignores others, trace_event() the reverse. They return 0, or -1: no memory. */
int trace_event(struct trace *trace, const struct event_fields *event);
int trace_gpu_op(struct trace *trace, const struct event_fields *event);

/* Functions for a struct fields_receiver whose context is a struct trace. They return 0, or -1 after error(). */
int trace_receive_event(void *trace, struct event_fields *event);
int trace_receive_metadata(void *trace, const char *key, const struct cJSON *value);

/* Sets the start and the end of the trace after the last event, and makes calls, GPU operations and ranges ready in
 * WORKERS threads. Returns 0, or -1: no memory. */
int trace_finish(struct trace *trace, unsigned workers);

#define TRACE_LAST_TASKS 2
/* Sets TASKS to the tasks that are left after trace_finish(), which may run while sections read what is ready. Returns
 * their number. */
size_t trace_last_tasks(struct trace *trace, struct task tasks[TRACE_LAST_TASKS]);

#endif
