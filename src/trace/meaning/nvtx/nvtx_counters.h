/* NVTX's counters: their samples as events, and descriptions of the counters. */
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
/* Finds the times of samples. Returns 0, or -1 after error(). */
int resolve_counters(struct process *process);
int write_nvtx_counters(struct piece_writer *out, struct process *process);
/* Writes "nvtx_counters", an array that describes each counter, as a key of the object that JSON is in. */
void put_nvtx_counters(const struct conversion *conversion, struct json_out *json);

#endif
