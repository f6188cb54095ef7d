/*
 * Events of a trace as records: how threads that make events pass them to the one that gives them to an event buffer.
 * `event_records` is a format like any other, whose writers are used by several threads; event_feed_take() takes the
 * bytes in the order of the trace.
 */
#ifndef GPUTRACE_TRACE_EVENT_RECORDS_H
#define GPUTRACE_TRACE_EVENT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "trace/json/parse.h"
#include "trace/sink.h"
#include "trace/trace_event.h"

enum event_record_kind {
    EVENT_RECORD_PIECE,    /* texts are numbered from 0 again */
    EVENT_RECORD_TEXT,     /* bytes */
    EVENT_RECORD_RUN,      /* struct event_record_run, then its events; their texts are numbers of the texts above */
    EVENT_RECORD_METADATA, /* a key, NUL, a JSON value */
};

/* The head of each record; nothing is aligned. */
struct event_record {
    uint32_t kind, size; /* bytes that follow */
};

/* The head of the events of a run (struct event_run). */
struct event_record_run {
    uint32_t count, categories;
};

extern const struct writer_format event_records;

/* Where the records in a buffer end, if the last one is a run. All zero: it is not. */
struct event_record_end {
    uint64_t drained; /* the buffer's total then */
    size_t run, end;  /* where the run's record begins, and all records end, in the buffer; 0: there is no run */
};

/* Each writes a record into BUFFER. The number of a text is how many texts the piece had before it. Consecutive events
 * go into one run as long as END is not changed by others. */
void event_records_put_piece(struct buffer *buffer);
void event_records_put_text(struct buffer *buffer, const char *text, size_t length);
void event_records_put_event(struct buffer *buffer, struct event_record_end *end, struct trace_event *event);
void event_records_put_metadata(struct buffer *buffer, const char *key, const char *value, size_t size);

/* Calls PUT for each event of TEXT, events of JSON with ',' between them as chrome_json writes them. Their texts are
 * numbers of the parser's strings. For arguments whose meaning JSON alone says. Returns 0 or -1: no memory. */
int event_records_parse(struct parser *parser, struct buffer *text,
                        void (*put)(void *context, struct trace_event *event), void *context);

/* Takes records and gives an event buffer what is in them. */
struct event_feed {
    const struct event_sink *buffer;
    struct parser parser;
    ARRAY(uint32_t) numbers; /* of texts, in the reader's strings */
    struct buffer rest;      /* a record that is not whole yet */
};

void event_feed_init(struct event_feed *feed, struct interner *strings, const struct event_sink *buffer);
void event_feed_release(struct event_feed *feed);

/* CONTEXT is the feed. Returns 0, or -1 after error(). */
int event_feed_take(void *context, const char *data, size_t size);

#endif
