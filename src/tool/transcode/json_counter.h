/*
 * The values of an event of a counter in JSON.
 */
#ifndef GPUTRACE_TOOL_TRANSCODE_JSON_COUNTER_H
#define GPUTRACE_TOOL_TRANSCODE_JSON_COUNTER_H

#include "tool/model/slice.h"
#include "tool/transcode/json_event.h"

#define JSON_COUNTER_VALUES 64 /* what is beyond these is not read */

/* Sets COUNTER's value, or its values, which are then those of VALUES; their names are the event's. */
void json_counter_read(struct counter *counter, const struct json_event *event,
                       struct counter_value values[JSON_COUNTER_VALUES]);

#endif
