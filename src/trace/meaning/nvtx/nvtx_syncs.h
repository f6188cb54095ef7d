/*
 * Synchronisation objects of NVTX: which threads waited for one, and which held it. Threads write for themselves, so
 * their steps are collected, sorted by time and matched. A wait ends on its own thread. Another thread may release what
 * is held, as it does with a semaphore: then the oldest hold ends.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_SYNCS_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_SYNCS_H

#include <stdint.h>

struct capture_intervals;
struct event;
struct nvtx_syncs;
struct piece_writer;
struct process;

/* An EVENT_NVTX of such a step. Returns 0, or -1 after error(). */
int nvtx_syncs_index(struct nvtx_syncs *syncs, const struct event *event);
/* After the last. What is open ends at TIME, or with its capture interval. Returns 0, or -1 after error(). */
int nvtx_syncs_match(struct nvtx_syncs *syncs, const struct capture_intervals *capture_intervals, uint64_t time);
int write_nvtx_syncs(struct piece_writer *out, struct process *process);

#endif
