/*
 * The database that a trace becomes: an SQLite file, written in one transaction; indexes and views are created at the
 * end. There is no journal, because an incomplete file is of no use. One thread writes it, in the order of the trace.
 * The first failure is printed; whatever is written after it is dropped.
 */
#ifndef GPUTRACE_TRACE_SQLITE_DATABASE_H
#define GPUTRACE_TRACE_SQLITE_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "trace/sqlite/schema.h"
#include "trace/tracks.h"

struct database;
struct sqlite3_stmt;

/* Opens PATH, an empty file, which the caller still has to remove after a failure. Returns NULL after error(). */
struct database *database_open(const char *path);

/* Completes the database, after the last row. Returns 0, or -1 after error(). */
int database_finish(struct database *database);

/* Closes the database, complete or not. DATABASE may be NULL. */
void database_free(struct database *database);

/* The row of an event while its values are being set. */
struct database_row {
    struct database *database;
    enum sqlite_table_number table;
    struct row row;        /* the trace's row of the event */
    struct buffer args;    /* in memory, for the caller: a JSON object without its '}', for the column "args" */
    struct buffer scratch; /* in memory, for the caller */
    struct sqlite3_stmt *statement;
    int64_t stream[3]; /* device, context and stream of a GPU operation; unset ones are 0 */
    bool has_stream;
};

/* Begins the row of the next event, without values. The database owns the row; there is only one. */
struct database_row *database_begin_row(struct database *database, enum sqlite_table_number table, struct row row);

/* Set the value of a column; SQLITE_NO_COLUMN drops the value. Columns of names get the number of their text. */
void database_set_integer(struct database_row *row, uint8_t column, int64_t value);
void database_set_real(struct database_row *row, uint8_t column, double value);
void database_set_name(struct database_row *row, uint8_t column, const char *text, size_t length);
void database_set_null(struct database_row *row, uint8_t column);

/* Adds the row. Returns 0, or -1 if this or anything before it failed, after error(). */
int database_end_row(struct database_row *row);

/* Set the name of a process, or of the thread or stream of a row, and a pair of metadata, whose VALUE is JSON of SIZE
 * bytes. Return 0, or -1 if this or anything before it failed, after error(). */
int database_put_process(struct database *database, const struct row_name *process);
int database_put_thread(struct database *database, const struct row_name *thread);
int database_put_metadata(struct database *database, const char *key, const char *value, size_t size);

#endif
