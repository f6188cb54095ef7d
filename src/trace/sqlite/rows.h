/*
 * Rows on their way from the threads that write pieces of a sink to the thread that has the database: records of
 * trace/fields_records.h, one after another. A record is never split by the buffer: it is put there at once.
 *
 * RECORD_PIECE, RECORD_TEXT and RECORD_METADATA are as there. RECORD_RUN is one row: struct row_head, then its values,
 * then their texts.
 */
#ifndef GPUTRACE_TRACE_SQLITE_ROWS_H
#define GPUTRACE_TRACE_SQLITE_ROWS_H

#include <stdint.h>

#include "trace/fields_records.h"
#include "trace/sqlite/schema.h"
#include "trace/tracks.h"

/* A row's table may be one of these instead of an event's. */
enum {
    ROW_PROCESS = SQLITE_TABLE_COUNT, /* values: name, label; pid as in the head */
    ROW_GPU,                          /* the same of a GPU's rows */
    ROW_THREAD,                       /* value: name */
};

struct row_head {
    uint32_t table, count;
    struct row row; /* of the trace */
};

enum row_type {
    ROW_INTEGER,
    ROW_REAL,
    ROW_NAME, /* integer: the number of a text of the piece */
    ROW_TEXT, /* LENGTH bytes of the texts */
};

struct row_value {
    uint8_t column, type;
    uint32_t length;
    union {
        int64_t integer;
        double real;
        const char *text; /* until it is put into the record */
    };
};

#endif
