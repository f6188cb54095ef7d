#ifndef GPUTRACE_TRACE_JSON_SOURCE_INDEX_H
#define GPUTRACE_TRACE_JSON_SOURCE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event.h"
#include "trace/json/json_event.h"

struct sink;

struct json_row {
    struct row row;
    bool is_process;
    char *name, *label; /* NULL: not told */
    int64_t sort_index;
};

struct json_rows {
    ARRAY(struct json_row) items;
    struct map by_row;     /* hash of row and sort -> index + 1 */
    struct interner words; /* pids and tids that are no numbers of 31 bits */
};

void json_rows_release(struct json_rows *rows);

/* The number of a pid or tid. */
uint32_t json_row_number(struct json_rows *rows, struct json_text text);
struct row json_row_of(struct json_rows *rows, const struct json_event *event);

/* Takes an event of phase 'M'. Gives 0, or -1 after error(). */
int json_rows_take(struct json_rows *rows, const struct json_event *event);

/* The row of an event, whose pid or tid may be a word, such as the "Spans" of Kineto: it is then the row's name,
 * written when it comes first. */
struct row json_rows_tell(struct json_rows *rows, const struct json_event *event, struct sink *sink);

/* Processes, then threads. */
void json_rows_write(struct json_rows *rows, struct sink *sink);

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

/* Tells of a slice of this bind_id, which is not 0; IS_HEAD: the flow ends there. Gives 0, or -1 after error(). */
int flow_ids_note(struct flow_ids *ids, uint32_t bind_id, bool is_head);

/* After the last was told. */
void flow_ids_number(struct flow_ids *ids);

/* How many flows begin at the call of BIND_ID, as far as there are ids, and the id of number I of them. */
uint32_t flow_ids_count(const struct flow_ids *ids, uint32_t bind_id);
uint32_t flow_ids_tail(const struct flow_ids *ids, uint32_t bind_id, uint32_t i);

/* The id of the flow to the next work of BIND_ID; 0: no id is left. */
uint32_t flow_ids_head(struct flow_ids *ids, uint32_t bind_id);

#endif
