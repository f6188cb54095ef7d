/*
 * Reads a trace file from end to end: finds the borders of each event, has it parsed, and hands it on. Most events are
 * read ahead by several threads (blocks.h); all are handed on by the calling one, in the file's order. Memory does not
 * grow with the file: at no time more than some blocks of it, or the window of one large value, are held.
 *
 * Flows are passed over unread, but for PyTorch's "fwdbwd"; a reader that wants the events' texts gets them, too.
 *
 * Both forms of the format are read: an object with "traceEvents" and other keys around it, and a bare array of events.
 * The array may lack its end, as the format allows for programs that die; the object may not.
 */
#ifndef GPUTRACE_ANALYSIS_READER_H
#define GPUTRACE_ANALYSIS_READER_H

#include <stdbool.h>

#include "trace/json/text.h"

struct cJSON;
struct event_run;
struct interner;
struct trace_event;

struct reader_sink {
    void *context;
    unsigned workers; /* threads that read ahead, whatever else there is; 0: as many as there are processors */
    /* Where the next event may be put, so that event() need not copy it. NULL: anywhere will do. */
    struct trace_event *(*place)(void *context);
    /* Each event in the file's order; it may be changed, and is valid during the call. Gives 0, or -1 to stop. */
    int (*event)(void *context, struct trace_event *event);
    /* As event() for all of RUN, which is valid during the call. NULL: they are to come one by one. */
    int (*run)(void *context, const struct event_run *run);
    /* Each other key of the object, and its value, which is valid during the call. Gives 0, or -1 to stop. */
    int (*metadata)(void *context, const char *key, const struct cJSON *value);
    /* Instead of the four above, the text of each event, and of each other value of the object with its key, as it
     * stands in the file: exactly those that the functions above would get. Both valid during the call. */
    int (*text)(void *context, struct json_text event);
    int (*metadata_text)(void *context, const char *key, struct json_text value);
    bool quiet; /* warnings were printed when the file was read before */
};

/* Where to put the next event, of which OWN is one. */
static inline struct trace_event *reader_place(const struct reader_sink *sink, struct trace_event *own)
{
    return sink->place ? sink->place(sink->context) : own;
}

/*
 * Reads PATH ("-": stdin), putting the events' texts into STRINGS. An element of the array that is JSON but no event is
 * left out, with one warning that tells how many and why. Gives 0, or -1 after error(), which names the file, the line
 * and byte, and what was expected.
 */
int reader_read(const char *path, struct interner *strings, const struct reader_sink *sink);

#endif
