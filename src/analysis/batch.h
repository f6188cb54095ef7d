/*
 * The events of a piece of a trace file, read on the guess that the piece begins with one: whether it does is known to
 * the reader alone, who has come there from the start of the file.
 */
#ifndef GPUTRACE_ANALYSIS_BATCH_H
#define GPUTRACE_ANALYSIS_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/event.h"
#include "analysis/parse.h"

struct batch_text {
    size_t at, length; /* of the piece */
};

struct batch {
    bool keeps_texts; /* set before batch_read(): of what is an event or an arrow the text alone is wanted */
    ARRAY(struct batch_text) texts;   /* where these are; then `events` is empty */
    ARRAY(struct trace_event) events; /* in the file's order, without arrows; their texts are numbers of `strings` */
    struct interner strings;
    size_t length;        /* bytes read of the piece, from its start */
    bool after_event;     /* what comes next is the ',' or ']' after an event, else an event or ']' */
    uint64_t left_out;    /* elements that are JSON but no events */
    size_t left_out_at;   /* where the first of them starts */
    const char *expected; /* instead of it */
};

/* All zero is empty. */
void batch_release(struct batch *batch);

/* Reads events from TEXT[0..length), with zeros behind it (QUICK_PADDING), up to its end or to what is no whole element
 * followed by ',': that is left to the reader, who says what is wrong with it. The parser has no memory of its own
 * beyond its arena. */
void batch_read(struct batch *batch, struct parser *parser, const char *text, size_t length);

#endif
