/*
 * What a thread that writes a piece of a sink puts beside the events, for the thread that has the whole: records, one
 * after another. They hold the texts of the piece, which are numbered in the order in which they are first used.
 */
#ifndef GPUTRACE_TRACE_PIECE_RECORDS_H
#define GPUTRACE_TRACE_PIECE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/map.h"
#include "trace/names.h"

enum record_kind {
    RECORD_TEXT,     /* bytes of valid UTF-8 */
    RECORD_METADATA, /* a key, NUL, a JSON value */
};

/* The head of each record; nothing is aligned. */
struct record {
    uint32_t kind, size; /* bytes that follow */
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

/* Puts those that are not in RECORDS yet. */
void record_texts_write(struct record_texts *texts, struct buffer *records);
/* Returns the number of a text, which is put into RECORDS if it is new; EVENT_NO_TEXT: no memory, as RECORDS then says.
 */
uint32_t record_texts_put(struct record_texts *texts, struct buffer *records, const char *text, size_t length);
/* There was no memory. */
void record_fail(struct buffer *records);

static inline uint32_t record_texts_put_name(struct record_texts *texts, struct buffer *records,
                                             const struct name *name)
{
    if (!name->kept)
        return record_texts_put(texts, records, name->text, name->length);
    uintptr_t address = (uintptr_t)name->text;
    struct known_name *known = &texts->names[(address >> 4 ^ address >> 14) % RECORD_NAMES];
    if (known->text != name->text || known->length != name->length)
        *known =
            (struct known_name){name->text, name->length, record_texts_put(texts, records, name->text, name->length)};
    return known->number;
}

void record_put(struct buffer *records, enum record_kind kind, const void *data, size_t size);
/* A key of the trace's object and its value, SIZE bytes of JSON. */
void record_put_metadata(struct buffer *records, const char *key, const char *value, size_t size);

#endif
