/*
 * A trace file format as a struct of functions. Errors are sticky: they stay in the sink's buffer.
 *
 *     metadata* begin (process | thread)*
 *     (piece (slice | instant | async | counter | flow)*)*
 *     finish
 *
 * The order of events is free but for two things: of slices that begin at the same time on the same row, the enclosing
 * one comes first; and a flow's end follows its slice, with nothing but other flows' between them.
 *
 * Pieces are written by several threads at once, each with a sink and a buffer of its own (sink_piece()), and their
 * bytes stand one after another between those of begin() with its rows and those of finish(). A piece of no events may
 * be left out. So a piece may know nothing of what another one holds.
 */
#ifndef GPUTRACE_TRACE_SINK_H
#define GPUTRACE_TRACE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct arg;
struct buffer;
struct sink;

struct sink_format {
    const char *name;
    unsigned piece_scale; /* pieces shall be so many times larger than JSON's: each has names of its own */
    bool one_thread;      /* pieces are written one after another by one thread, and their buffers stay empty */
    bool all_flows;       /* it has flows that do not follow their slice, too */
    /* VALUE is one JSON value of SIZE bytes. */
    void (*metadata)(struct sink *sink, const char *key, const char *value, size_t size);
    /* No event is earlier than BASE, ns of CLOCK_REALTIME. */
    void (*begin)(struct sink *sink, uint64_t base);
    void (*process)(struct sink *sink, const struct row_name *process);
    void (*thread)(struct sink *sink, const struct row_name *thread);
    /* Begins a piece: called once on each sink that sink_piece() made, whose state is the whole's until this gives
     * it its own; what it takes from the whole's may not change as long as there are pieces. NULL: nothing to do. */
    void (*piece)(struct sink *sink);
    void (*slice)(struct sink *sink, const struct slice *slice);
    void (*instant)(struct sink *sink, const struct slice *instant);
    void (*async)(struct sink *sink, const struct async_slice *slice);
    void (*counter)(struct sink *sink, const struct counter *counter);
    void (*flow)(struct sink *sink, const struct flow *flow);
    void (*finish)(struct sink *sink);
    /* Writes what was held back, and frees the sink's state. NULL: it has none. */
    void (*release)(struct sink *sink);
};

struct sink {
    const struct sink_format *format;
    struct buffer *buffer;
    uint64_t base;
    uint64_t events; /* slices, instants, asynchronous ranges and counters written */
    bool any;        /* something stands before the next event; true for every piece: rows come first */
    void *state;     /* of the format, for this sink alone; released by `release` */
    void *context;   /* of the format, for the whole and its pieces; not owned */
};

/* Trace Event JSON, the object form: one event per line. Flows are flow events, "s" and "f", as Kineto writes them. */
extern const struct sink_format chrome_json;
/* Perfetto's own format: trace/pftrace/fields.h. */
extern const struct sink_format pftrace;
/* Rows of an SQLite database (trace/sqlite/database.h), which is `context`: output_sink(). */
extern const struct sink_format sqlite_rows;
/* Fields for the analysis: fields_sink_new() of trace/fields_receiver.h makes the whole. Batches of events are taken
 * from `context`, the pool of these; a buffer holds their addresses. */
extern const struct sink_format fields_format;

/* Appends the member of a JSON object that chrome_json writes for one argument: "key":value. */
void chrome_json_put_arg(struct buffer *buffer, const struct arg *arg);

static inline void sink_init(struct sink *sink, const struct sink_format *format, struct buffer *buffer)
{
    *sink = (struct sink){.format = format, .buffer = buffer};
}

static inline void sink_release(struct sink *sink)
{
    if (sink->format && sink->format->release)
        sink->format->release(sink);
}

/* For formats that have nothing to write of these. */
static inline void sink_set_base(struct sink *sink, uint64_t base)
{
    sink->base = base;
}
static inline void sink_pass_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    (void)sink, (void)key, (void)value, (void)size;
}
static inline void sink_pass_row(struct sink *sink, const struct row_name *row)
{
    (void)sink, (void)row;
}
static inline void sink_pass_flow(struct sink *sink, const struct flow *flow)
{
    (void)sink, (void)flow;
}
static inline void sink_pass_end(struct sink *sink)
{
    (void)sink;
}

/* Names a row, that of a process or a thread. */
static inline void sink_name_row(struct sink *sink, bool process, const struct row_name *name)
{
    (process ? sink->format->process : sink->format->thread)(sink, name);
}

/* Begins a piece of what WHOLE writes, after its begin() and rows, into BUFFER. */
static inline void sink_piece(struct sink *piece, const struct sink *whole, struct buffer *buffer)
{
    *piece = (struct sink){.format = whole->format,
                           .buffer = buffer,
                           .base = whole->base,
                           .any = true,
                           .state = whole->state,
                           .context = whole->context};
    if (piece->format->piece)
        piece->format->piece(piece);
}

#define SQLITE_APPLICATION_ID 0x67707472 /* of a database that is a trace: "gptr" */

#endif
