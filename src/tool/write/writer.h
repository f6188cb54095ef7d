/*
 * A trace file format as a struct of functions. Errors are sticky in the writer's sink and told by finish().
 *
 *     metadata* begin (process | thread | slice | instant | async | counter | arrow_start | arrow_end)* finish
 *
 * The order of events is free but for one thing: of slices that begin at the same time on the same row, the enclosing
 * one comes first.
 */
#ifndef GPUTRACE_TOOL_WRITE_WRITER_H
#define GPUTRACE_TOOL_WRITE_WRITER_H

#include <stdint.h>

#include "tool/model/slice.h"

struct sink;
struct writer;

struct writer_format {
    const char *name;
    /* VALUE is one JSON value of SIZE bytes. */
    void (*metadata)(struct writer *writer, const char *key, const char *value, size_t size);
    /* No event is earlier than BASE, ns of CLOCK_REALTIME. */
    void (*begin)(struct writer *writer, uint64_t base);
    void (*process)(struct writer *writer, const struct row_name *process);
    void (*thread)(struct writer *writer, const struct row_name *thread);
    void (*slice)(struct writer *writer, const struct slice *slice);
    void (*instant)(struct writer *writer, const struct slice *instant);
    void (*async)(struct writer *writer, const struct async_slice *slice);
    void (*counter)(struct writer *writer, const struct counter *counter);
    void (*arrow_start)(struct writer *writer, const struct arrow *arrow);
    void (*arrow_end)(struct writer *writer, const struct arrow *arrow);
    void (*finish)(struct writer *writer);
};

struct writer {
    const struct writer_format *format;
    struct sink *sink;
    uint64_t base;
    uint64_t events; /* slices, instants, asynchronous ranges and counters written */
    bool any;        /* something stands before the next event */
};

/* Trace Event JSON, the object form: one event per line. */
extern const struct writer_format chrome_json;

void writer_init(struct writer *writer, const struct writer_format *format, struct sink *sink);

#endif
