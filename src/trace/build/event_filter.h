/* Which records the trace shows. */
#ifndef GPUTRACE_TRACE_BUILD_EVENT_FILTER_H
#define GPUTRACE_TRACE_BUILD_EVENT_FILTER_H

#include <stdbool.h>

struct event;
struct process;

/* shows.c: whether the trace shows what CUPTI recorded here: it started, or was launched, while recording was on, and
 * is not of a plugin. The calls of the process must be known. */
bool event_is_shown(struct process *process, const struct event *event);
/* Whether the call was made by a plugin. */
bool call_is_plugins(const struct process *process, const struct event *api);
/* Whether there are calls that are not the program's: of plugins, and of the library where device ranges start and end.
 */
bool has_suppressed_calls(const struct process *process);

#endif
