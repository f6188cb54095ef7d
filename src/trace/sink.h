/*
 * A trace file format as a struct of functions. Errors are sticky: they stay in the sink's buffer.
 *
 *     metadata* begin (process | thread)*
 *     (piece (slice | instant | async | counter | flow)*)*
 *     finish
 *
 * Events may come in any order, with two exceptions: of slices that begin at the same time on the same row, the
 * enclosing slice comes first; and a flow's end follows its slice, with at most ends of other flows between them.
 *
 * Several threads write pieces at once, each with its own sink and buffer (sink_piece()). The pieces' bytes follow one
 * another in the file, between the bytes of begin() with its rows and those of finish(). An empty piece may be left
 * out, so a piece must not depend on the content of another piece.
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
    unsigned piece_scale; /* how much larger pieces are than JSON's: >1 if each piece repeats names */
    bool one_thread;      /* one thread writes all pieces in order, and their buffers stay empty */
    bool all_flows;       /* also accepts flows that do not follow their slice */
    /* VALUE is one JSON value of SIZE bytes. */
    void (*metadata)(struct sink *sink, const char *key, const char *value, size_t size);
    /* No event is earlier than BASE, ns of CLOCK_REALTIME. */
    void (*begin)(struct sink *sink, uint64_t base);
    void (*process)(struct sink *sink, const struct row_name *process);
    void (*thread)(struct sink *sink, const struct row_name *thread);
    /* Begins a piece: called once on each sink that sink_piece() made. Until then the piece shares the whole's state;
     * the function gives the piece its own. State that pieces share must not change while there are pieces. NULL:
     * nothing to do. */
    void (*piece)(struct sink *sink);
    void (*slice)(struct sink *sink, const struct slice *slice);
    void (*instant)(struct sink *sink, const struct slice *instant);
    void (*async)(struct sink *sink, const struct async_slice *slice);
    void (*counter)(struct sink *sink, const struct counter *counter);
    void (*flow)(struct sink *sink, const struct flow *flow);
    void (*finish)(struct sink *sink);
    /* Writes what the format held back and frees the sink's state. NULL: the format has no state. */
    void (*release)(struct sink *sink);
};

struct sink {
    const struct sink_format *format;
    struct buffer *buffer;
    uint64_t base;
    uint64_t events; /* slices, instants, asynchronous ranges and counters that were written */
    bool any;        /* bytes precede the next event; true for every piece, as rows come first */
    void *state;     /* the format's state of this sink, freed by `release` */
    void *context;   /* the format's context, shared by the whole and its pieces; not owned */
};

/* Trace Event JSON in the object form, one event per line. Flows are events "s" and "f", as Kineto writes them. */
extern const struct sink_format chrome_json;
/* Perfetto's protobuf format (trace/pftrace/fields.h). */
extern const struct sink_format pftrace;
/* Rows of an SQLite database. `context` is its struct database (trace/sqlite/database.h), set by output_sink(). */
extern const struct sink_format sqlite_rows;
/* Fields for the analysis; fields_sink_new() of trace/fields_receiver.h makes the whole. `context` is the pool that
 * batches of events are taken from, and the buffer holds the addresses of the batches. */
extern const struct sink_format fields_format;

/* Appends an argument as chrome_json writes it: "key":value. */
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

/* Functions for formats that do not write metadata, rows, flows or an end. */
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

/* Writes the name of a row, of a process or a thread. */
static inline void sink_name_row(struct sink *sink, bool process, const struct row_name *name)
{
    (process ? sink->format->process : sink->format->thread)(sink, name);
}

/* Makes PIECE write a piece of WHOLE's output into BUFFER, after WHOLE's begin() and rows. */
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

#define SQLITE_APPLICATION_ID 0x67707472 /* "gptr", the application_id of databases that are traces */

#endif
