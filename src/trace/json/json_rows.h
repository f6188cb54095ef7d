/*
 * The rows that a trace in JSON names, in events anywhere in the file, gathered before they are written.
 */
#ifndef GPUTRACE_TRACE_JSON_JSON_ROWS_H
#define GPUTRACE_TRACE_JSON_JSON_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event.h"
#include "trace/json/json_event.h"

struct writer;

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
struct row json_rows_tell(struct json_rows *rows, const struct json_event *event, struct writer *writer);

/* Processes, then threads. */
void json_rows_write(struct json_rows *rows, struct writer *writer);

#endif
