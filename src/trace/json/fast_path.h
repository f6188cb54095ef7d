/*
 * Reads an event and finds its border in one go, where it is written as programs write events: keys and texts without
 * escapes, numbers of usual size. Whatever else there is, valid or not, is left to the scan and to cJSON (parse.h), who
 * say what it means; so this never gives anything that they would not.
 */
#ifndef GPUTRACE_TRACE_JSON_FAST_PATH_H
#define GPUTRACE_TRACE_JSON_FAST_PATH_H

#include <stddef.h>

struct interner;
struct event_fields;

/* Behind what is read stand so many bytes of zero. */
#define FAST_PATH_PADDING 16

enum fast_path_result {
    FAST_PATH_EVENT,
    FAST_PATH_FLOW, /* of the phases s, t and f: nothing is told of it */
    FAST_PATH_NOT,  /* it is not of this form, or does not end here */
};

/* The event that starts at TEXT[0]; sets *LENGTH to its bytes. STRINGS takes its texts. */
enum fast_path_result fast_path_event(const char *text, struct interner *strings, struct event_fields *event,
                                      size_t *length);

#endif
