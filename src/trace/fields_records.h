/*
 * Events' fields on their way from the threads that write pieces of a sink to the thread that has it: records, one
 * after another.
 */
#ifndef GPUTRACE_TRACE_FIELDS_RECORDS_H
#define GPUTRACE_TRACE_FIELDS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/sink.h"

enum record_kind {
    RECORD_PIECE,    /* texts are numbered from 0 again */
    RECORD_TEXT,     /* bytes */
    RECORD_RUN,      /* struct run_head, then its events; their texts are numbers of the texts above */
    RECORD_METADATA, /* a key, NUL, a JSON value */
};

/* The head of each record; nothing is aligned. */
struct record {
    uint32_t kind, size; /* bytes that follow */
};

struct run_head {
    struct record record;
    uint32_t count, categories; /* as of struct event_run */
};

void fields_put_record(struct buffer *buffer, enum record_kind kind, const void *data, size_t size);
/* A key of the trace's object and its value, SIZE bytes of JSON: a sink's function `metadata`. */
void fields_put_metadata(struct sink *sink, const char *key, const char *value, size_t size);
/* A text as JSON would give it: valid UTF-8, up to its first NUL. */
void fields_put_text(struct buffer *buffer, const char *text, size_t length);

/* fields_sink.c: writes all of them. */
extern const struct sink_format fields_format;

#endif
