/*
 * NVTX of one process: its ranges, and the records that it is read from.
 *
 * Ranges of push and pop are matched for each thread and domain; events of one thread come in order. A range that was
 * open when recording was switched off ends there, for its end was not recorded.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/nvtx/nvtx_data.h"

/* DIRECTORY is for what memory cannot hold. Only projections_begin() needs this: a struct that is all zero is empty. */
void nvtx_init(struct nvtx *nvtx, const char *directory);
void nvtx_release(struct nvtx *nvtx);
/* What is known need not stay in memory for now. */
void nvtx_evict(const struct nvtx *nvtx);

/* An EVENT_NVTX or one of the names. Returns 0, or -1 after error(). */
int nvtx_index(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, const struct event *event);
/* After the last EVENT_NVTX_EXTENSION. Returns 0, or -1 after error(). */
int index_nvtx_extensions_end(struct process *process);
/* The track of event->thread in DOMAIN, made when it is new; what was open in a capture interval that was over before
 * the event has ended. NULL after error(). */
struct nvtx_track *nvtx_track_at(struct nvtx *nvtx, const struct capture_intervals *capture_intervals,
                                 const struct event *event, uint32_t domain);
/* A range begins with the event on the track. Returns 0, or -1 after error(). */
int nvtx_push(struct nvtx *nvtx, struct nvtx_track *track, const struct event *event, enum nvtx_range_kind kind);
/* Ends what is still open. Returns 0, or -1 after error(). */
int nvtx_close(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, uint64_t time);

/* The first track of a thread, or of no thread at all: NULL. */
const struct nvtx_track *nvtx_first_track(const struct nvtx *nvtx, uint32_t thread);

/* Index + 1 of the innermost range of the THREAD and DOMAIN at TIME; 0: there is none. */
uint32_t nvtx_innermost(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint32_t domain,
                        uint64_t time);

/* Whether a slice of THREAD can stand on one row with its ranges of push and pop: none of them begins or ends within
 * it. False, too, if the thread has ranges of very many domains. Before nvtx_close(), when all were read. */
bool nvtx_fits(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint64_t start, uint64_t end);

/* Whether all ranges of push and pop of a thread nest: calls UNFIT for a thread of which they do not, at least once.
 * After nvtx_close(). Returns 0, or -1 after error(). */
int nvtx_check_nesting(const struct nvtx *nvtx, void (*unfit)(void *context, uint32_t thread), void *context);

#endif
