/*
 * The database that a trace becomes: an SQLite file, which is written by one transaction and has its indexes and views
 * when it is finished. No journal is kept, as the file is of no use before. One thread writes it, in the order of the
 * trace. Its first failure is printed; what is written after that is dropped.
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

/* PATH is an empty file, and stays the caller's to remove. Returns NULL after error(). */
struct database *database_open(const char *path);

/* After the last row. Returns 0, or -1 after error(). */
int database_finish(struct database *database);

/* Closes it, finished or not. DATABASE may be NULL. */
void database_free(struct database *database);

/* The row of an event, while its values are set. */
struct database_row {
    struct database *database;
    enum sqlite_table_number table;
    struct row row;        /* of the trace */
    struct buffer args;    /* in memory, for the caller: an object of JSON without its '}', for the column "args" */
    struct buffer scratch; /* in memory, for the caller */
    struct sqlite3_stmt *statement;
    int64_t stream[3]; /* of a GPU operation: device, context and stream, as far as they are set */
    bool has_stream;
};

/* Begins the row of the next event, which has no values yet. The row is the database's, and the only one. */
struct database_row *database_begin_row(struct database *database, enum sqlite_table_number table, struct row row);

/* Set the value of a column; SQLITE_NO_COLUMN drops it. Names and other texts of columns of names become numbers. */
void database_set_integer(struct database_row *row, uint8_t column, int64_t value);
void database_set_real(struct database_row *row, uint8_t column, double value);
void database_set_name(struct database_row *row, uint8_t column, const char *text, size_t length);
void database_set_null(struct database_row *row, uint8_t column);

/* Adds the row. Returns 0, or -1 if this or anything before has failed, after error(). */
int database_end_row(struct database_row *row);

/* Name a process, or the thread or stream of a row, and add a pair of metadata, VALUE being one JSON value of SIZE
 * bytes. Return as database_end_row(). */
int database_put_process(struct database *database, const struct row_name *process);
int database_put_thread(struct database *database, const struct row_name *thread);
int database_put_metadata(struct database *database, const char *key, const char *value, size_t size);

#endif
