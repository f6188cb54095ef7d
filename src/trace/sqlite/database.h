/*
 * The database that the rows of a trace become: an SQLite file, which is written by one transaction and has its indexes
 * and views when it is finished. No journal is kept, as the file is of no use before.
 */
#ifndef GPUTRACE_TRACE_SQLITE_DATABASE_H
#define GPUTRACE_TRACE_SQLITE_DATABASE_H

#include <stddef.h>

struct database;

/* PATH is an empty file, and stays the caller's to remove. NULL after error(). */
struct database *database_open(const char *path);

/* Adds the records of trace/sqlite/row.h, the drain of a buffer: CONTEXT is the database. Returns 0, or -1 after
 * error(), with errno ECANCELED. */
int database_drain(void *context, const char *data, size_t size);

/* After the last record. Returns 0, or -1 after error(). */
int database_finish(struct database *database);

/* Closes it, finished or not. NULL: nothing. */
void database_free(struct database *database);

#endif
