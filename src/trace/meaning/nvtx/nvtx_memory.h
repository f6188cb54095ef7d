/* Memory that the program annotates through NVTX: heaps, and regions in them. */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_MEMORY_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_MEMORY_H

struct event;
struct nvtx_heap;
struct nvtx_heaps;
struct nvtx_region;
struct piece_writer;
struct process;
struct spool_nvtx_memory;

int nvtx_heaps_index(struct nvtx_heaps *heaps, const struct event *event);
/* Applies a step. Sets *HEAP and *REGION to those that the step is about, or NULL; both are valid until the next step.
 * Returns 0, or -1 after error(). */
int nvtx_heaps_apply(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, const struct nvtx_heap **heap,
                     const struct nvtx_region **region);
int write_nvtx_memory(struct piece_writer *out, struct process *process);

#endif
