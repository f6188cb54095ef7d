/*
 * Who writes events in the third pass (passes.h), and places in the ranges of threads.
 *
 * What the conversion and its processes know changes no more by then, but for what one function alone uses; so pieces
 * of the walk can be written by several threads at once.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_PIECE_WRITER_H
#define GPUTRACE_TRACE_MEANING_BASE_PIECE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/base/process.h"

/* Where one thread's last searches ended, in some of the tracks: the next begin there. Starts as zeros. */
struct nvtx_places {
    struct nvtx_place {
        uint32_t track; /* index + 1 */
        uint32_t open;  /* the last that was found: index + 1 of the innermost range that had not ended … */
        size_t started; /* … of so many that had started … */
        uint64_t ended; /* … and when the last of those within it had ended; 0: there were none */
    } of_track[16];
};

/* One thread's: its sink, and what it remembers while it is at a piece. */
struct piece_writer {
    struct conversion *conversion;
    struct sink sink;
    struct spool_scratch scratch;
    struct tracks_recent tracks;
    struct nvtx_places operators; /* around the calls that are written */
    uint32_t part;                /* of CUPTI's records: its index in the spool */
    struct map gpu_ops;           /* of this part, by correlation: how many GPU operations were met + 1 */
    uint64_t kernels;             /* written in this piece */
    size_t passed;                /* since pages were given back: things … */
    uint64_t rested;              /* … and bytes that were written until then */
};

/* Text that is written, and events, before the pages of what was read for them are given back. */
#define PIECE_WRITER_EVICT_BYTES ((uint64_t)32 << 20)
#define PIECE_WRITER_EVICT_EVENTS ((size_t)1 << 16)
/* For who writes all there are: that much is written of it, and what was read for that need not stay in memory. */
static inline void piece_writer_passed(struct piece_writer *out, const struct process *process)
{
    uint64_t written = out->sink.buffer->total;
    if (++out->passed < PIECE_WRITER_EVICT_EVENTS && written - out->rested < PIECE_WRITER_EVICT_BYTES)
        return;
    process_evict(process);
    out->passed = 0;
    out->rested = written;
}

/* Writes a slice from START to END. */
static inline void piece_writer_slice(struct piece_writer *out, enum category category, struct name name,
                                      struct row row, uint64_t start, uint64_t end, const struct args *args)
{
    const struct slice slice = {
        .category = category, .name = name, .row = row, .start = start, .end = end, .args = args};
    out->sink.format->slice(&out->sink, &slice);
}

/* Writes an instant, on the first row of TRACK. */
static inline void piece_writer_instant(struct piece_writer *out, enum category category, struct name name,
                                        const struct track *track, uint64_t time, const struct args *args)
{
    const struct slice instant = {
        .category = category, .name = name, .row = {track->pid, track->tids[0]}, .start = time, .args = args};
    out->sink.format->instant(&out->sink, &instant);
}

static inline struct track *piece_writer_track(struct piece_writer *out, struct process *process, enum track_kind kind,
                                               uint32_t device, uint32_t context, uint32_t number)
{
    return tracks_look(&process->tracks, &out->tracks, kind, device, context, number);
}

#endif
