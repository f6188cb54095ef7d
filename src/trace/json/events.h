/*
 * The members of an event as they stand in the text of a trace, and the ids of flows, which become numbers of ours.
 */
#ifndef GPUTRACE_TRACE_JSON_EVENTS_H
#define GPUTRACE_TRACE_JSON_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event.h"
#include "trace/json/text.h"

struct buffer;

struct json_event {
    char phase;                          /* 0: it is not an event */
    struct json_text category, name;     /* without quotes, in JSON's escapes */
    struct json_text pid, tid, id, args; /* values; length 0: not there */
    struct json_text scope;              /* of the id, with its quotes: likewise */
    struct json_text bind_id;            /* of the flow that a slice is an end of: likewise */
    bool flow_out, flow_in;              /* it begins there, ends there */
    bool id_is_local;                    /* to the process */
    bool is_open;                        /* it is a slice without a duration */
    int64_t time;                        /* ns */
    uint64_t duration;                   /* likewise; what is negative is 0 */
};

struct json_event json_event_read(struct json_text text);

/* A value of the args. False: there is none. */
bool json_event_arg(const struct json_event *event, const char *key, struct json_text *value);

/* A number that stands for an id, be it a number or a text; 0: there is none. */
uint64_t json_id(struct json_text text);

/* A number that stands for the id of a range: its scope, and its process if the id is local, distinguish ids. */
uint64_t json_range_id(const struct json_event *event);

/* Microseconds as ns, rounded. */
int64_t json_ns(struct json_text text);

/* The text of a value, without its quotes and escapes, which is to be freed; NULL without memory. */
char *json_unescaped(struct json_text text);

/* Sets COUNTER's value, or its values, which are then those of VALUES, made anew; their names are the event's, or in
 * TEXTS, a buffer in memory. Returns 0, or -1 after error(). */
int json_counter_read(struct counter *counter, const struct json_event *event, struct counter_values *values,
                      struct buffer *texts);

/* What INSIDE, the inside of a string, says: without escapes, where it has some in SCRATCH, a buffer in memory that is
 * overwritten. Empty without memory, as SCRATCH then says. */
struct json_text json_plain(struct json_text inside, struct buffer *scratch);

/* Sets ARG to a number that begins as one: integers keep all digits that 64 bits hold, others are doubles. What is
 * beyond these stays text, of ARG_TYPE_RAW. */
void json_number(struct json_text text, struct arg *arg);

/* Reads an array of three integers from 0 on. False: VALUE is something else. */
bool json_triple(struct json_text value, int32_t triple[3]);

/* --- flows --- */

/* A call with several GPU operations. */
struct flow_fan {
    uint32_t further; /* GPU operations beyond the first */
    uint32_t first;   /* id of the first of these; 0: there are no ids left */
    uint32_t met;     /* GPU operations that asked for their id */
};

/* All zero: there are none. */
struct flow_ids {
    struct map seen;    /* bind_id / 64 -> a bit for each that leads to a GPU operation */
    struct map several; /* bind_id -> index of its fan + 1 */
    ARRAY(struct flow_fan) fans;
    uint32_t highest;
};

void flow_ids_release(struct flow_ids *ids);

/* Notes a slice of this bind_id, which is not 0; IS_HEAD: the flow ends there. Returns 0, or -1 after error(). */
int flow_ids_note(struct flow_ids *ids, uint32_t bind_id, bool is_head);

/* Numbers the flows, after the last slice was noted. */
void flow_ids_number(struct flow_ids *ids);

/* How many flows begin at the call of BIND_ID, as far as there are ids, and the id of number I of them. */
uint32_t flow_ids_count(const struct flow_ids *ids, uint32_t bind_id);
uint32_t flow_ids_tail(const struct flow_ids *ids, uint32_t bind_id, uint32_t i);

/* The id of the flow to the next GPU operation of BIND_ID; 0: no id is left. */
uint32_t flow_ids_head(struct flow_ids *ids, uint32_t bind_id);

#endif
