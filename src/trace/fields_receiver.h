/*
 * Who takes the events of a trace as fields, and the sink that gives them to it, whatever the trace is read from.
 */
#ifndef GPUTRACE_TRACE_FIELDS_RECEIVER_H
#define GPUTRACE_TRACE_FIELDS_RECEIVER_H

#include "trace/event_batch.h"

struct cJSON;
struct interner;
struct sink;

/* What the analysis takes of a trace: the functions are called on one thread. */
struct fields_receiver {
    void *context;
    /* Returns where the next event should be put, so that event() need not copy it. NULL: anywhere. */
    struct event_fields *(*place)(void *context);
    /* Takes each event, in the trace's order. EVENT may be changed, and is valid during the call. Returns 0, or -1 to
     * stop. */
    int (*event)(void *context, struct event_fields *event);
    /* Takes all events of BATCH, whose texts are to be translated, and gives it back to `batches`. NULL: event() is
     * called for each. */
    int (*batch)(void *context, struct event_batch *batch);
    struct event_batches *batches; /* the pool of these, where there is such a function */
    /* Takes each other key of the trace's object, and its value, which is valid during the call. Returns 0, or -1 to
     * stop. */
    int (*metadata)(void *context, const char *key, const struct cJSON *value);
};

/* Where to put the next event: where the receiver wants it, or in OWN. */
static inline struct event_fields *fields_receiver_place(const struct fields_receiver *receiver,
                                                         struct event_fields *own)
{
    return receiver->place ? receiver->place(receiver->context) : own;
}

/* A sink that gives RECEIVER the fields of all events, those that a reader of the events' JSON would find. Their texts
 * are put into STRINGS. Pieces may be written by several threads, as those of any sink. NULL after error(). */
struct sink *fields_sink_new(struct interner *strings, const struct fields_receiver *receiver);
void fields_sink_free(struct sink *sink);

/* For a source that has fields anyway: whom SINK, made by fields_sink_new(), gives events, and where texts are put.
 * NULL: SINK is another. */
const struct fields_receiver *fields_sink_receiver(const struct sink *sink, struct interner **strings);

#endif
