/*
 * Synchronisation objects of NVTX: which threads waited for an object, and which held it. Each thread records its own
 * steps, so these are collected, sorted by time and matched. A wait ends on its own thread. Another thread may release
 * an object, as with a semaphore: then the oldest hold ends.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_SYNCS_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_SYNCS_H

#include <stdint.h>

struct capture_intervals;
struct event;
struct nvtx_syncs;
struct piece_writer;
struct process;

/* Adds a step, an EVENT_NVTX with an object. Returns 0, or -1 after error(). */
int nvtx_syncs_index(struct nvtx_syncs *syncs, const struct event *event);
/* Matches the steps, after the last one. Open spans end at TIME, or with their capture interval. Returns 0, or -1 after
 * error(). */
int nvtx_syncs_match(struct nvtx_syncs *syncs, const struct capture_intervals *capture_intervals, uint64_t time);
int write_nvtx_syncs(struct piece_writer *out, struct process *process);

#endif
