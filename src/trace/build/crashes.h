/* Processes that did not end by exit. */
#ifndef GPUTRACE_TRACE_BUILD_CRASHES_H
#define GPUTRACE_TRACE_BUILD_CRASHES_H

struct conversion;
struct json_out;
struct process;

/* Index pass; then within an object, what is known of a process that did not end by exit. */
void write_crash_records(const struct conversion *conversion, const struct process *process, struct json_out *json);
/* How it ended, if it did. */
const char *process_state(const struct conversion *conversion, const struct process *process);

#endif
