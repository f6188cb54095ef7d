/*
 * One event of a trace in JSON: its members as they stand there.
 */
#ifndef GPUTRACE_TRACE_JSON_JSON_EVENT_H
#define GPUTRACE_TRACE_JSON_JSON_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/json/text.h"

struct json_event {
    char phase;                          /* 0: it is no event */
    struct json_text category, name;     /* without quotes, in JSON's escapes */
    struct json_text pid, tid, id, args; /* values; length 0: not there */
    struct json_text bind_id;            /* of the flow that a slice is an end of: likewise */
    bool flow_out, flow_in;              /* it begins there, ends there */
    uint64_t time, duration;             /* ns; what is negative is 0 */
};

struct json_event json_event_read(struct json_text text);

/* A value of the args. False: there is none. */
bool json_event_arg(const struct json_event *event, const char *key, struct json_text *value);

/* A number that stands for an id, be it a number or a text; 0: there is none. */
uint64_t json_id(struct json_text text);

/* Microseconds as ns, rounded. */
uint64_t json_ns(struct json_text text);

/* The text of a value, without its quotes and escapes, which is to be freed; NULL without memory. */
char *json_unescaped(struct json_text text);

/* Sets COUNTER's value, or its values, which are then those of VALUES, made anew; their names are the event's, or in
 * TEXTS, a buffer in memory. Returns 0, or -1 after error(). */
int json_counter_read(struct counter *counter, const struct json_event *event, struct counter_values *values,
                      struct buffer *texts);

#endif
