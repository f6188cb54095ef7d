/*
 * The database that the rows of a trace become: an SQLite file, which is written by one transaction and has its indexes
 * and views when it is finished. No journal is kept, as the file is of no use before.
 */
#ifndef GPUTRACE_TRACE_SQLITE_DATABASE_H
#define GPUTRACE_TRACE_SQLITE_DATABASE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/piece_records.h"
#include "trace/sqlite/schema.h"
#include "trace/tracks.h"

/*
 * Rows come from the threads that write pieces of a sink as records of trace/piece_records.h, one after another. A
 * record is never split by the buffer: it is put there at once. RECORD_PIECE, RECORD_TEXT and RECORD_METADATA are as
 * there. RECORD_ROW is one row: struct row_head, then its values, then their texts.
 */

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

struct database;

/* PATH is an empty file, and stays the caller's to remove. NULL after error(). */
struct database *database_open(const char *path);

/* Adds these records, the drain of a buffer: CONTEXT is the database. Returns 0, or -1 after error(), with errno
 * ECANCELED. */
int database_drain(void *context, const char *data, size_t size);

/* After the last record. Returns 0, or -1 after error(). */
int database_finish(struct database *database);

/* Closes it, finished or not. NULL: nothing. */
void database_free(struct database *database);

#endif
