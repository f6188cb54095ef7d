/*
 * Reads a trace in JSON from end to end: finds the borders of each event, parses it, and hands it on. Several threads
 * read most events ahead (blocks.h); the calling thread hands all of them on, in the file's order. Memory does not grow
 * with the file: at most some blocks of it, or the window of one large value, are held.
 *
 * Flow events are skipped unread, except PyTorch's "fwdbwd", unless the events' texts are wanted.
 *
 * Both forms of the format are read: an object with "traceEvents" and other keys around it, and a bare array of events.
 * A file that ends too early gives its whole events, and a warning; an object that has none is an error.
 *
 * Slices whose begin and end are events of their own are handed on as slices (pairs.h), unless texts are wanted.
 */
#ifndef GPUTRACE_TRACE_JSON_READER_H
#define GPUTRACE_TRACE_JSON_READER_H

#include <stdbool.h>

#include "trace/json/text.h"

struct fields_receiver;
struct interner;

/* An element of the array that is not JSON or not an event is left out, and reading goes on at the next one that seems
 * to be an event; one warning says how many were, and why most. It is an error if nothing else is there. Both
 * return 0, or -1 after error(), which names the file, the line and byte, and what was expected. PATH may be "-",
 * stdin; WORKERS threads read ahead, 0: as many as there are processors. */

/* Gives RECEIVER the fields of all events, and puts their texts into STRINGS. */
int json_read_fields(const char *path, struct interner *strings, const struct fields_receiver *receiver,
                     unsigned workers);

/* Takes the text of each event, flows among them, and of each other value of the object with its key, as it stands in
 * the file. Both are valid during the call. They return 0, or -1 to stop. */
struct json_texts {
    void *context;
    int (*event)(void *context, struct json_text event);
    int (*metadata)(void *context, const char *key, struct json_text value); /* NULL: they are not wanted */
    bool quiet;     /* warnings were printed when the file was read before */
    int64_t *start; /* set at the end to when the first event begins that is no flow, or 0; NULL: it is not wanted */
};

int json_read_texts(const char *path, const struct json_texts *texts, unsigned workers);

#endif
