/*
 * Ids for the arrows of a trace that has them on its slices. There all works of a call share its bind_id, while as
 * events, and in Perfetto's format, every arrow has an id of its own: the first keeps the bind_id, further ones get ids
 * beyond all.
 *
 * All are told once, numbered, and then asked for in the same order. Needs memory by the bind_id, a bit for each where
 * they are dense, and for each call with several works.
 */
#ifndef GPUTRACE_TRACE_JSON_FLOW_IDS_H
#define GPUTRACE_TRACE_JSON_FLOW_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

/* A call with several works. */
struct flow_fan {
    uint32_t further; /* works beyond the first */
    uint32_t first;   /* id of the first of these; 0: there are no ids left */
    uint32_t met;     /* works that asked for their id */
};

/* All zero: there are none. */
struct flow_ids {
    struct map seen;    /* bind_id / 64 -> a bit for each that leads to some work */
    struct map several; /* bind_id -> index of its fan + 1 */
    ARRAY(struct flow_fan) fans;
    uint32_t highest;
};

void flow_ids_release(struct flow_ids *ids);

/* Tells of a slice of this bind_id, which is not 0; IS_HEAD: the arrow ends there. Gives 0, or -1 after error(). */
int flow_ids_note(struct flow_ids *ids, uint32_t bind_id, bool is_head);

/* After the last was told. */
void flow_ids_number(struct flow_ids *ids);

/* How many arrows begin at the call of BIND_ID, as far as there are ids, and the id of number I of them. */
uint32_t flow_ids_count(const struct flow_ids *ids, uint32_t bind_id);
uint32_t flow_ids_tail(const struct flow_ids *ids, uint32_t bind_id, uint32_t i);

/* The id of the arrow to the next work of BIND_ID; 0: no id is left. */
uint32_t flow_ids_head(struct flow_ids *ids, uint32_t bind_id);

#endif
