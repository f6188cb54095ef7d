/*
 * The functions that the passes call with an event: those that the rows of trace/spool/record_table.h name. Each is in
 * the file of its topic. They return 0, or -1 after error().
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_EVENT_FUNCTIONS_H
#define GPUTRACE_TRACE_MEANING_BASE_EVENT_FUNCTIONS_H

#include "trace/spool/event_record.h"
#include "trace/spool/record_table.h"

struct piece_writer;
struct process;

#define FUNCTIONS(index, resolve, write)                             \
    int index(struct process *process, const struct event *event);   \
    int resolve(struct process *process, const struct event *event); \
    int write(struct piece_writer *out, struct process *process, const struct event *event);
#define CUPTI_ROW(kind, event, decode, type, last, index, resolve, write, cause) FUNCTIONS(index, resolve, write)
#define AGENT_ROW(record, event, decode, index, resolve, write) FUNCTIONS(index, resolve, write)
#define ALSO(...)
CUPTI_RECORDS(CUPTI_ROW, ALSO)
AGENT_RECORDS(AGENT_ROW, ALSO)
#undef ALSO
#undef AGENT_ROW
#undef CUPTI_ROW
#undef FUNCTIONS

#endif
