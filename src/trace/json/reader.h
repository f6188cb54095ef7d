/*
 * Reads a trace in JSON from end to end. Several threads read most events ahead (blocks.h); the calling thread passes
 * all events on in the file's order. Memory does not grow with the file: at most some blocks, or the window of one
 * large value, are held.
 *
 * Both forms of the format are read: an object with "traceEvents" and other keys, and a bare array of events. If a file
 * ends too early, its complete events are passed on with a warning; an object without any is an error.
 *
 * json_read_fields() skips flow events unread, except PyTorch's "fwdbwd", and passes on slices with separate begin and
 * end events as slices (rows.h).
 */
#ifndef GPUTRACE_TRACE_JSON_READER_H
#define GPUTRACE_TRACE_JSON_READER_H

#include <stdbool.h>

#include "trace/json/text.h"

struct fields_receiver;
struct interner;
struct sink;

/* Passes all events of a trace to SINK and finishes SINK (source.c). A sink that writes a file needs names of rows, ids
 * of flows and metadata before the events: for such a sink the file is read twice, and must not be stdin. A warning
 * counts the events that SINK has no form for. PATH, WORKERS and the result are those of the functions below. */
int json_read(const char *path, struct sink *sink, unsigned workers);

/* The functions below leave out an element of the array that is not JSON or not an event, and continue at the next element
 * that seems to be an event. One warning says how many elements were left out and why most of them were. If nothing is
 * left, that is an error. They return 0, or -1 after error(), which names the file, the line and byte, and what was
 * expected. PATH may be "-", stdin. WORKERS threads read ahead; 0: one for each processor. */

/* Passes RECEIVER the fields of all events, and puts their texts into STRINGS. */
int json_read_fields(const char *path, struct interner *strings, const struct fields_receiver *receiver,
                     unsigned workers);

/* Functions that receive the text of each event, including flows, and each other value of the object with its key, as
 * in the file. Texts are valid during the call. The functions return 0, or -1 to stop. */
struct json_texts {
    void *context;
    int (*event)(void *context, struct json_text event);
    int (*metadata)(void *context, const char *key, struct json_text value); /* NULL: values are skipped */
    bool quiet;     /* print no warnings: an earlier reading did */
    int64_t *start; /* set at the end to the start of the first event, ns, at most 0; flows do not count; may be NULL */
};

int json_read_texts(const char *path, const struct json_texts *texts, unsigned workers);

#endif
