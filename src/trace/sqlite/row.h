/*
 * Rows on their way from the threads that write pieces of a sink to the thread that has the database: records of
 * trace/fields_records.h, one after another. A record is never split by the buffer: it is put there at once.
 *
 * RECORD_PIECE, RECORD_TEXT and RECORD_METADATA are as there. RECORD_RUN is one row: struct row_head, then its values,
 * then their texts.
 */
#ifndef GPUTRACE_TRACE_SQLITE_ROW_H
#define GPUTRACE_TRACE_SQLITE_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/map.h"
#include "trace/fields_records.h"
#include "trace/names.h"
#include "trace/sqlite/schema.h"
#include "trace/tracks.h"

struct arg;
struct sink;

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

/*
 * A row in the making: values by column, from fields and arguments of an event. It is the state of the sink that writes
 * a piece.
 */

/* Of a piece, or of the whole. */
struct sqlite_row {
    struct record_texts texts;
    struct buffer args;    /* in memory: members of the row's object of JSON */
    struct buffer scratch; /* in memory: a text without its escapes */
    /* The row at hand */
    enum sqlite_table_number table;
    struct row row;
    uint64_t set; /* a bit for each column */
    struct row_value values[SQLITE_COLUMNS];
};

/* The state of SINK, made when it is first needed. NULL after a failure, which the buffer has. */
struct sqlite_row *sqlite_row_of(struct sink *sink);
void sqlite_row_release(struct sink *sink);

/* Begins a row of TABLE, whose event is in ROW of the trace; and puts its record into the sink's buffer. */
void sqlite_row_begin(struct sqlite_row *state, enum sqlite_table_number table, struct row row);
void sqlite_row_end(struct sink *sink);

/* The column of the row's table that has this role; SQLITE_NO_COLUMN: it has none, and then the value is dropped. */
uint8_t sqlite_row_column(const struct sqlite_row *state, enum sqlite_role role);

void sqlite_row_set_integer(struct sqlite_row *state, uint8_t column, int64_t integer);
void sqlite_row_set_real(struct sqlite_row *state, uint8_t column, double real);
void sqlite_row_set_text(struct sink *sink, uint8_t column, const char *text, size_t length);
void sqlite_row_set_name(struct sink *sink, uint8_t column, const struct name *name);

/* Arguments go to their columns; those without go to the column "args". */
void sqlite_row_take_args(struct sink *sink, const struct arg *args, size_t count);

/* Puts a record of those VALUES whose bits are SET. */
void sqlite_row_put(struct sink *sink, uint32_t table, struct row row, uint64_t set, struct row_value *values);

#endif
