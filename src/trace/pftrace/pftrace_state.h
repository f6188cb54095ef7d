/*
 * What a sink of .pftrace remembers: of the whole trace, the names of rows; of its own piece, sequences and the slice
 * that may still get flows.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_PFTRACE_STATE_H
#define GPUTRACE_TRACE_PFTRACE_PFTRACE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/buffer.h"
#include "trace/pftrace/pftrace_args.h"
#include "trace/pftrace/pftrace_sequence.h"
#include "trace/sink.h"

/* Written while there are no pieces, read by all of them. */
struct pftrace_rows {
    struct map by_uuid; /* of a row, or of a process with tid 0 -> index + 1 in names */
    ARRAY(struct pftrace_row {
        char *name;
        uint32_t owner; /* of a GPU's process */
    })
    items;
};

struct pftrace_state {
    const struct pftrace_rows *rows;
    struct pftrace_rows own_rows;       /* of the whole; not of a piece */
    struct pftrace_sequences sequences; /* of the section */
    bool in_section;
    uint64_t section_start; /* bytes that were written before it */
    struct buffer body, launch, shared, text, name;
    struct pftrace_pending {
        enum { PFTRACE_NOTHING, PFTRACE_CALL, PFTRACE_WORK } what;
        struct pftrace_put put;
        struct row row;
        uint64_t start, end; /* ns since the base */
        ARRAY(uint64_t) flows;
        uint64_t delay; /* from the start to the flow's head */
    } pending;
};

/* pftrace_rows.c: remembers a row, and tells its track. */
void pftrace_write_process(struct sink *sink, const struct row_name *process);
void pftrace_write_thread(struct sink *sink, const struct row_name *thread);
void pftrace_rows_release(struct pftrace_rows *rows);
/* A track for a row that was not told of, without a name. */
void pftrace_describe_row(struct sink *sink, struct row row);

/* NULL: it was not told of. */
const struct pftrace_row *pftrace_row(const struct pftrace_rows *rows, struct row row);

/* pftrace_rows.c: what JSON has as "deviceProperties". */
void pftrace_write_gpus(struct sink *sink, const char *value, size_t size);

/* An event of its own, where one may begin: pftrace_events.c */
void pftrace_write_instant(struct sink *sink, const struct slice *instant);
void pftrace_write_async(struct sink *sink, const struct async_slice *slice);
void pftrace_write_counter(struct sink *sink, const struct counter *counter);

/* The state of SINK, with the ROWS of the whole; NULL: its own. NULL without memory: then the sink's buffer has
 * failed. */
struct pftrace_state *pftrace_state_new(struct sink *sink, const struct pftrace_rows *rows);
/* Writes what was held back, and frees it. */
void pftrace_state_release(struct sink *sink);
/* There was no memory. */
void pftrace_fail(struct sink *sink);

/* pftrace.c: writes the slice that waited for its flows. */
void pftrace_flush(struct sink *sink);
/* The sequence, begun. NULL after error(), then the sink's buffer has failed. */
struct pftrace_sequence *pftrace_sequence_of(struct sink *sink, struct row row, enum pftrace_lane lane);

/* The body that was put together, as a packet. */
void pftrace_send(struct sink *sink, struct pftrace_sequence *sequence, uint64_t time, uint32_t field);
uint64_t pftrace_name_hash(const struct name *name);
/* A text that may not be valid UTF-8. */
void pftrace_put_valid(struct pftrace_state *state, struct buffer *buffer, uint32_t field, const char *text,
                       size_t length);
/* Whether the first flow tells the argument "correlation". */
bool pftrace_told_by_flow(const struct pftrace_pending *pending);

/* pftrace_events.c: begins a slice that is no work of a GPU, and writes it once its flows are known. */
void pftrace_put_call(struct pftrace_state *state, struct pftrace_pending *pending, const struct slice *slice);
void pftrace_flush_call(struct sink *sink, struct pftrace_state *state, struct pftrace_pending *pending);
/* A thread's ranges are told below it, in each section that has some. */
void pftrace_describe_ranges(struct sink *sink, struct row row);

/* pftrace_events.c: begins a slice of GPU work, and writes it once its flows are known. */
void pftrace_put_work(struct pftrace_state *state, struct pftrace_pending *pending, const struct slice *slice);
void pftrace_flush_work(struct sink *sink, struct pftrace_state *state, struct pftrace_pending *pending);

static inline uint64_t pftrace_time(const struct sink *sink, uint64_t time)
{
    return time > sink->base ? time - sink->base : 0;
}

#endif
