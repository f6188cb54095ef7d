/* Processes that did not end by exit. */
#ifndef GPUTRACE_TRACE_BUILD_CRASHES_H
#define GPUTRACE_TRACE_BUILD_CRASHES_H

struct conversion;
struct piece_writer;
struct event;
struct json_out;
struct process;

/* Index pass; then within an object, what is known of a process that did not end by exit. */
int index_crash_record(struct conversion *conversion, struct process *process, const struct event *event);
void write_crash_records(const struct conversion *conversion, const struct process *process, struct json_out *json);
/* How it ended, if it did. */
const char *process_state(const struct conversion *conversion, const struct process *process);

#endif
