/*
 * A trace as records of its events, as the report takes them: how `gputrace report` reads a spool without a file in
 * between. The writer's side is a format like any other, and is used by several threads; the reader's side takes the
 * bytes in their order.
 */
#ifndef GPUTRACE_CLI_EVENT_RECORDS_H
#define GPUTRACE_CLI_EVENT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/sink.h"
#include "trace/json/parse.h"
#include "trace/sink.h"

struct event_sink;

enum event_record_kind {
    EVENT_RECORD_PIECE,    /* texts are numbered from 0 again */
    EVENT_RECORD_TEXT,     /* bytes */
    EVENT_RECORD_RUN,      /* struct event_record_run, and its events with numbers of these texts */
    EVENT_RECORD_JSON,     /* events of JSON, with ',' between them, and FAST_PATH_PADDING: what has no other form */
    EVENT_RECORD_METADATA, /* a key, NUL, a JSON value */
};

/* Before each; nothing is aligned. */
struct event_record {
    uint32_t kind, size; /* bytes that follow */
};

/* Of the events that follow (report/event_run.h). */
struct event_record_run {
    uint32_t count, categories;
};

extern const struct writer_format event_records;

/* Where the records of a sink end that were put so far, if the last one is a run. All zero: it is none. */
struct event_record_end {
    uint64_t drained; /* the sink's total then */
    size_t run, end;  /* where the run's record begins, and all records end, in the sink; 0: there is no run */
};

/* event_records_put.c: records into SINK. The number of a text is how many there were before it since the piece began.
 * Events that come one after another go into one record, as long as nobody else looks at END. */
void event_records_put_piece(struct sink *sink);
void event_records_put_text(struct sink *sink, const char *text, size_t length);
void event_records_put_event(struct sink *sink, struct event_record_end *end, struct trace_event *event);
void event_records_put_json(struct sink *sink, struct sink *text);
void event_records_put_metadata(struct sink *sink, const char *key, const char *value, size_t size);

/* The number of a text in the records of WRITER, of this format. */
uint32_t event_records_text(struct writer *writer, const char *text, size_t length);

/* Takes records and hands on what they tell. */
struct event_feed {
    const struct event_sink *sink;
    struct parser parser;
    ARRAY(uint32_t) numbers; /* of texts, in the reader's strings */
    struct sink rest;        /* a record that is not whole */
};

void event_feed_init(struct event_feed *feed, struct interner *strings, const struct event_sink *sink);
void event_feed_release(struct event_feed *feed);

/* CONTEXT is the feed. Gives 0, or -1 after error(). */
int event_feed_take(void *context, const char *data, size_t size);

#endif
