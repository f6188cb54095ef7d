/*
 * Events' fields on their way from the threads that write pieces of a sink to the thread that has it: records, one
 * after another.
 */
#ifndef GPUTRACE_TRACE_FIELDS_RECORDS_H
#define GPUTRACE_TRACE_FIELDS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/map.h"
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

#define RECORD_NAMES 1024 /* that are known by their address */

/* The texts of a piece. All zero: there are none. */
struct record_texts {
    struct interner texts;
    uint32_t written; /* texts of these that are in the records */
    struct known_name {
        const char *text;
        size_t length;
        uint32_t number;
    } names[RECORD_NAMES];
};

/* Puts those that are not in the records of SINK. */
void record_texts_write(struct record_texts *texts, struct sink *sink);
/* Returns the number of a text, which is put into the records of SINK if it is new; EVENT_NO_TEXT: no memory. */
uint32_t record_texts_put(struct record_texts *texts, struct sink *sink, const char *text, size_t length);
/* There was no memory. */
void record_fail(struct sink *sink);

static inline uint32_t record_texts_put_name(struct record_texts *texts, struct sink *sink, const struct name *name)
{
    if (!name->kept)
        return record_texts_put(texts, sink, name->text, name->length);
    uintptr_t address = (uintptr_t)name->text;
    struct known_name *known = &texts->names[(address >> 4 ^ address >> 14) % RECORD_NAMES];
    if (known->text != name->text || known->length != name->length)
        *known = (struct known_name){name->text, name->length, record_texts_put(texts, sink, name->text, name->length)};
    return known->number;
}

void fields_put_record(struct buffer *buffer, enum record_kind kind, const void *data, size_t size);
/* A key of the trace's object and its value, SIZE bytes of JSON: a sink's function `metadata`. */
void fields_put_metadata(struct sink *sink, const char *key, const char *value, size_t size);

/* fields_sink.c: writes all of them. */
extern const struct sink_format fields_format;

#endif
