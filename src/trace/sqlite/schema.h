/*
 * The tables of a trace as an SQLite database: a row for each event, and a column for each argument that many events
 * have. Others are in the column "args", an object of JSON. gputrace-convert(1) describes them for the user.
 *
 * A table T of events is stored as "raw_T", whose columns of names are numbers of the table "names". The view T has the
 * names themselves, and of GPU operations the call that launched them.
 */
#ifndef GPUTRACE_TRACE_SQLITE_SCHEMA_H
#define GPUTRACE_TRACE_SQLITE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define SQLITE_SCHEMA_VERSION 2 /* the database's user_version; changes when queries may have to */

/*      constant          name of the view */
#define SQLITE_TABLES(X)                  \
    X(KERNELS, "kernels")                 \
    X(MEMCPY, "memcpy")                   \
    X(MEMSET, "memset")                   \
    X(GRAPH_LAUNCHES, "graph_launches")   \
    X(API_CALLS, "api_calls")             \
    X(RANGES, "ranges")                   \
    X(MARKS, "marks")                     \
    X(GPU_RANGES, "gpu_ranges")           \
    X(SYNCHRONISATION, "synchronisation") \
    X(MEMORY_EVENTS, "memory_events")     \
    X(OPERATORS, "operators")             \
    X(CPU_SAMPLES, "cpu_samples")         \
    X(THREAD_STATES, "thread_states")     \
    X(COUNTERS, "counters")               \
    X(OTHER_EVENTS, "other_events")

enum sqlite_table_number {
#define TABLE(constant, name) SQLITE_##constant,
    SQLITE_TABLES(TABLE)
#undef TABLE
        SQLITE_TABLE_COUNT
};

enum sqlite_type {
    SQLITE_INTEGER_COLUMN,
    SQLITE_REAL_COLUMN,
    SQLITE_NUMBER_COLUMN, /* either */
    SQLITE_NAME_COLUMN,   /* a number of "names" */
    SQLITE_TEXT_COLUMN,
};

/* What a column is filled from. */
enum sqlite_role {
    SQLITE_ROLE_ID, /* the number of the event, from 1, in the order of the trace; no two tables share one */
    SQLITE_ROLE_NAME,
    SQLITE_ROLE_START, /* ns since the trace's base */
    SQLITE_ROLE_END,
    SQLITE_ROLE_PID,
    SQLITE_ROLE_TID,
    SQLITE_ROLE_END_TID, /* of a range that is started and ended */
    SQLITE_ROLE_KIND,    /* a word of the writer's for what else the event is */
    SQLITE_ROLE_CATEGORY,
    SQLITE_ROLE_ROW, /* the name of the row that shows the event */
    SQLITE_ROLE_VALUE,
    SQLITE_ROLE_SERIES, /* of a counter with several values */
    SQLITE_ROLE_ARGS,   /* arguments without a column */
    SQLITE_ROLE_ARG,    /* an argument, or one part of it */
    SQLITE_ROLE_COUNT = SQLITE_ROLE_ARG,
};

struct sqlite_column {
    const char *name;
    enum sqlite_type type;
    enum sqlite_role role;
    enum arg_key key; /* of SQLITE_ROLE_ARG */
};

#define SQLITE_COLUMNS 32 /* of a table, at most */
#define SQLITE_NO_COLUMN 255

struct sqlite_table {
    const char *name;
    const struct sqlite_column *columns;
    size_t count;
    bool gpu_ops; /* it has GPU operations, which calls launch */
};

extern const struct sqlite_table sqlite_tables[SQLITE_TABLE_COUNT];

/* The column of a role, and (the first) of an argument; SQLITE_NO_COLUMN: the table has none. */
extern uint8_t sqlite_role_columns[SQLITE_TABLE_COUNT][SQLITE_ROLE_COUNT];
extern uint8_t sqlite_arg_columns[SQLITE_TABLE_COUNT][ARG_KEY_COUNT];

struct buffer;

/* Append the statements, with a NUL, that make a table, add a row to it, and make its view. */
void sqlite_put_create(struct buffer *sql, enum sqlite_table_number table);
void sqlite_put_insert(struct buffer *sql, enum sqlite_table_number table);
void sqlite_put_view(struct buffer *sql, enum sqlite_table_number table);

/* Fills the table "launches" for the GPU operations of one table. */
void sqlite_put_launches(struct buffer *sql, enum sqlite_table_number table);

/* Statements, with a NULL after the last: for an empty database; and when it has all events, before "launches" is
 * filled and after that. */
extern const char *const sqlite_begin[], *const sqlite_before_launches[], *const sqlite_after_launches[];

#endif
