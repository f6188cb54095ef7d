/*
 * Stands for SQLite's header where the library is missing: no database can be opened, and the message says why.
 */
#ifndef GPUTRACE_PACKAGING_WITHOUT_SQLITE3_H
#define GPUTRACE_PACKAGING_WITHOUT_SQLITE3_H

#include <stddef.h>
#include <stdint.h>

enum { SQLITE_OK, SQLITE_ERROR, SQLITE_DONE, SQLITE_CONFIG_MEMSTATUS, SQLITE_PREPARE_PERSISTENT };
enum { SQLITE_OPEN_READWRITE = 1, SQLITE_OPEN_NOMUTEX = 2 };
#define SQLITE_STATIC NULL

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

static inline const char *sqlite3_errmsg(sqlite3 *handle)
{
    (void)handle;
    return "this gputrace was built without SQLite";
}

#define sqlite3_open_v2(path, handle, flags, system) ((void)(path), (void)(handle), (void)(flags), SQLITE_ERROR)
#define sqlite3_config(what, value) ((void)(what), (void)(value))
#define sqlite3_prepare_v3(handle, text, size, flags, statement, rest) \
    ((void)(handle), (void)(text), (void)(statement), SQLITE_ERROR)
#define sqlite3_exec(handle, text, callback, data, message) ((void)(handle), (void)(text), SQLITE_ERROR)
#define sqlite3_step(statement) ((void)(statement), SQLITE_ERROR)
#define sqlite3_reset(statement) ((void)(statement))
#define sqlite3_clear_bindings(statement) ((void)(statement))
#define sqlite3_finalize(statement) ((void)(statement))
#define sqlite3_close(handle) ((void)(handle))
#define sqlite3_bind_null(statement, column) ((void)(statement), (void)(column))
#define sqlite3_bind_int64(statement, column, value) ((void)(statement), (void)(column), (void)(value))
#define sqlite3_bind_double(statement, column, value) ((void)(statement), (void)(column), (void)(value))
#define sqlite3_bind_text(statement, column, text, size, release) \
    ((void)(statement), (void)(column), (void)(text), (void)(size))

#endif
