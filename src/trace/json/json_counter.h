/*
 * The values of an event of a counter in JSON.
 */
#ifndef GPUTRACE_TRACE_JSON_JSON_COUNTER_H
#define GPUTRACE_TRACE_JSON_JSON_COUNTER_H

#include "trace/event.h"
#include "trace/json/json_event.h"

/* Sets COUNTER's value, or its values, which are then those of VALUES, made anew; their names are the event's, or in
 * TEXTS, a sink in memory. Returns 0, or -1 after error(). */
int json_counter_read(struct counter *counter, const struct json_event *event, struct counter_values *values,
                      struct sink *texts);

#endif
