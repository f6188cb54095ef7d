/*
 * The members of an event as texts in a trace, and new ids for flows: in a trace several flows may have one id.
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
    char phase;                          /* 0: not an event */
    struct json_text category, name;     /* without quotes, escaped */
    struct json_text pid, tid, id, args; /* values; length 0: absent */
    struct json_text scope;              /* scope of the id, with quotes; length 0: absent */
    struct json_text bind_id;            /* id of a flow that starts or ends at the slice; length 0: absent */
    bool flow_out, flow_in;              /* the flow with bind_id starts here, ends here */
    bool id_is_local;                    /* the id is local to the process */
    bool is_open;                        /* a slice without a duration */
    int64_t time;                        /* ns */
    uint64_t duration;                   /* ns; 0 if negative */
};

struct json_event json_event_read(struct json_text text);

/* Sets *VALUE to the argument KEY. Returns false if the event does not have it. */
bool json_event_arg(const struct json_event *event, const char *key, struct json_text *value);

/* Returns a number for an id that is a number or a text; 0 if TEXT is empty. */
uint64_t json_id(struct json_text text);

/* Returns a number for the id of a range. It also depends on the scope of the id, and on the process of a local id. */
uint64_t json_range_id(const struct json_event *event);

/* Converts microseconds to ns, rounded. Returns 0 if they do not fit. */
int64_t json_ns(struct json_text text);

/* Returns a value without quotes and escapes, which the caller frees; NULL without memory. */
char *json_unescaped(struct json_text text);

/* Sets COUNTER's value, or its values, which are then stored in VALUES. The names of values point to the event's text
 * or to TEXTS, a buffer in memory. Returns 0, or -1 after error(). */
int json_counter_read(struct counter *counter, const struct json_event *event, struct counter_values *values,
                      struct buffer *texts);

/* Returns INSIDE, the inside of a string, without escapes: INSIDE itself, or a copy in SCRATCH, a buffer in memory that
 * is overwritten. Without memory returns an empty text and sets SCRATCH's failure. */
struct json_text json_plain(struct json_text inside, struct buffer *scratch);

/* Sets ARG to the number TEXT. Integers of up to 64 bits keep all digits, other numbers become doubles. A number that
 * neither holds stays text, of ARG_TYPE_RAW. */
void json_number(struct json_text text, struct arg *arg);

/* Reads an array of three integers, none negative. Returns false if VALUE is anything else. */
bool json_triple(struct json_text value, int32_t triple[3]);

/* --- flows --- */

/* The flows of a call with several GPU operations. */
struct flow_fan {
    uint32_t further; /* number of GPU operations beyond the first */
    uint32_t first;   /* id of the flow to the first of these; 0: no ids left */
    uint32_t met;     /* GPU operations that flow_ids_head() has numbered */
};

/* The ids of flows, which share their call's bind_id in the file. All zero is empty. */
struct flow_ids {
    struct map seen;    /* bind_id / 64 -> a bit for each bind_id with a GPU operation */
    struct map several; /* bind_id with several GPU operations -> index of its fan + 1 */
    ARRAY(struct flow_fan) fans;
    uint32_t highest;
};

void flow_ids_release(struct flow_ids *ids);

/* Records a slice with BIND_ID, which is not 0. IS_HEAD: the flow ends at the slice. Returns 0, or -1 after error(). */
int flow_ids_note(struct flow_ids *ids, uint32_t bind_id, bool is_head);

/* Assigns ids to the flows. Must be called after the last flow_ids_note(). */
void flow_ids_number(struct flow_ids *ids);

/* Return how many flows start at the call of BIND_ID, or 1 if ids ran out, and the id of flow I of them, counted from
 * 0. */
uint32_t flow_ids_count(const struct flow_ids *ids, uint32_t bind_id);
uint32_t flow_ids_tail(const struct flow_ids *ids, uint32_t bind_id, uint32_t i);

/* Returns the id of the flow to the next GPU operation of BIND_ID, or 0 if ids ran out. */
uint32_t flow_ids_head(struct flow_ids *ids, uint32_t bind_id);

#endif
