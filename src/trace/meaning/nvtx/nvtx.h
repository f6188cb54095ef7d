/*
 * NVTX of one process: its ranges, and the records that it is read from.
 *
 * Ranges of push and pop are matched for each thread and domain; events of one thread come in order. A range that is
 * open when recording is switched off ends then, because its end is not recorded.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/nvtx/nvtx_data.h"

/* DIRECTORY is for what memory cannot hold. A struct of zeros is empty, too, except for projections_begin(). */
void nvtx_init(struct nvtx *nvtx, const char *directory);
void nvtx_release(struct nvtx *nvtx);
/* Lets the kernel take the pages of the process's NVTX back. */
void nvtx_evict(const struct nvtx *nvtx);

/* Indexes an EVENT_NVTX or an event that names something. Returns 0, or -1 after error(). */
int nvtx_index(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, const struct event *event);
/* Closes what the extensions recorded, after the last EVENT_NVTX_EXTENSION. Returns 0, or -1 after error(). */
int index_nvtx_extensions_end(struct process *process);
/* Returns the track of event->thread in DOMAIN, creating it if it is new. First ends open ranges whose capture interval
 * was over before the event. Returns NULL after error(). */
struct nvtx_track *nvtx_track_at(struct nvtx *nvtx, const struct capture_intervals *capture_intervals,
                                 const struct event *event, uint32_t domain);
/* Begins a range on the track, with the event. Returns 0, or -1 after error(). */
int nvtx_push(struct nvtx *nvtx, struct nvtx_track *track, const struct event *event, enum nvtx_range_kind kind);
/* Ends ranges and waits that are still open, at TIME or with their capture interval. Returns 0, or -1 after error(). */
int nvtx_close(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, uint64_t time);

/* Returns the first track of a thread, or NULL if it has no ranges. */
const struct nvtx_track *nvtx_first_track(const struct nvtx *nvtx, uint32_t thread);

/* Returns index + 1 of the innermost range of THREAD and DOMAIN at TIME, or 0. */
uint32_t nvtx_innermost(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint32_t domain,
                        uint64_t time);

/* Whether a slice of THREAD can share a row with the thread's ranges of push and pop: none of them begins or ends
 * within it. False as well if the thread has ranges of very many domains. Call it before nvtx_close(), after the last
 * event. */
bool nvtx_fits(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint64_t start, uint64_t end);

/* Calls UNFIT, at least once, for each thread whose ranges of push and pop do not nest across domains. Call it after
 * nvtx_close(). Returns 0, or -1 after error(). */
int nvtx_check_nesting(const struct nvtx *nvtx, void (*unfit)(void *context, uint32_t thread), void *context);

#endif
