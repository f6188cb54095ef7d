/* NVTX's counters: their samples as events, and what the counters are. */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_COUNTERS_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_COUNTERS_H

struct conversion;
struct event;
struct json_out;
struct nvtx_counters;
struct piece_writer;
struct process;

int nvtx_counters_index(struct nvtx_counters *counters, const struct event *event);
int nvtx_counters_close(struct nvtx_counters *counters);
/* Times of samples. Returns 0, or -1 after error(). */
int resolve_counters(struct process *process);
int write_nvtx_counters(struct piece_writer *out, struct process *process);
/* Within an object: "nvtx_counters" is an array of what is known of each counter. */
void put_nvtx_counters(const struct conversion *conversion, struct json_out *json);

#endif
