/*
 * The third walk (conversion.h): who writes events, and what is written.
 *
 * What the conversion and its processes know changes no more by then, but for what one function alone uses; so pieces
 * of the walk can be written by several threads at once.
 */
#ifndef GPUTRACE_TRACE_BUILD_EMITTER_H
#define GPUTRACE_TRACE_BUILD_EMITTER_H

#include <stdint.h>

#include "common/map.h"
#include "trace/build/conversion.h"
#include "trace/sink.h"

struct output;

/* One thread's: its writer, and what it remembers while it is at a piece. */
struct emitter {
    struct conversion *conversion;
    struct writer writer;
    struct spool_scratch scratch;
    struct tracks_recent tracks;
    uint32_t part;    /* of CUPTI's records: its index in the spool */
    struct map works; /* of this part, by correlation: how many works were met + 1 */
    uint64_t kernels; /* written in this piece */
    size_t passed;    /* since pages were given back: things … */
    uint64_t rested;  /* … and bytes that were written until then */
};

/* emitter.c */

/* The next events go to SINK. */
void emitter_begin(struct emitter *emitter, struct conversion *conversion, struct sink *sink);
void emitter_end(struct emitter *emitter);
/* Of one that is all zero, too. */
void emitter_release(struct emitter *emitter);

/* Text that is written, and events, before the pages of what was read for them are given back. */
#define EMITTER_REST_BYTES ((uint64_t)32 << 20)
#define EMITTER_REST_EVENTS ((size_t)1 << 16)
/* For who writes all there are: that much is written of it, and what was read for that need not stay in memory. */
void emitter_passed(struct emitter *emitter, const struct process *process);

/* The next events are of this part. */
void emitter_enter_part(struct emitter *emitter, uint32_t part);
/* How many works with an arrow this launch had before this one. */
uint32_t emitter_meet_work(struct emitter *emitter, const struct process *process, uint32_t correlation);
static inline struct track *emitter_track(struct emitter *emitter, struct process *process, enum track_kind kind,
                                          uint32_t device, uint32_t context, uint32_t number)
{
    return tracks_look(&process->tracks, &emitter->tracks, kind, device, context, number);
}

/* emission.c: the rows of all processes, then their events. Gives 0, or -1 after error(). */
int emit_all(struct conversion *conversion, struct output *output);

/* All below write what they are named after, and give 0, or -1 after error(). */
int emit_rows(struct conversion *conversion, struct process *process);

/* Events of CUPTI's records, and of ours. */
int emit_gpu_work(struct emitter *emitter, struct process *process, const struct event *event);
int emit_cuda_event(struct emitter *emitter, struct process *process, const struct event *event);
int emit_sync(struct emitter *emitter, struct process *process, const struct event *event);
int emit_api(struct emitter *emitter, struct process *process, const struct event *event);
int emit_overhead(struct emitter *emitter, struct process *process, const struct event *event);
int emit_nvtx_mark(struct emitter *emitter, struct process *process, const struct event *event);
int emit_capture(struct emitter *emitter, struct process *process, const struct event *event);
int emit_plugin_event(struct emitter *emitter, struct process *process, const struct event *event);

/* emit_parts.c: the events of CUPTI's parts of the spool, of ours, from FIRST to END, without END itself. */
int emit_cupti_parts(struct emitter *emitter, struct process *process, size_t first, size_t end);
int emit_own_parts(struct emitter *emitter, struct process *process, size_t first, size_t end);

/* Those of the numbers FIRST to END, without END itself; on the GPU, ranges of NVTX's and device ranges. */
int emit_nvtx_ranges(struct emitter *emitter, struct process *process, size_t first, size_t end);
int emit_nvtx_started(struct emitter *emitter, struct process *process, size_t first, size_t end);
int emit_gpu_ranges(struct emitter *emitter, struct process *process, size_t first, size_t end);
size_t gpu_range_count(const struct process *process);
/* One of NVTX's on the GPU. */
void emit_projection(struct emitter *emitter, struct process *process, const struct projection *projection);

/* All there are, by one thread at a time. */
int emit_nvtx_syncs(struct emitter *emitter, struct process *process);
int emit_deferred(struct emitter *emitter, struct process *process);
int emit_compilation(struct emitter *emitter, struct process *process);
int emit_plugin_slices(struct emitter *emitter, struct process *process);
int emit_nvtx_counters(struct emitter *emitter, struct process *process);
int emit_nvtx_memory(struct emitter *emitter, struct process *process);
int emit_memory(struct emitter *emitter, struct process *process);
int emit_pools(struct emitter *emitter, struct process *process);

#endif
