/*
 * The tables of a trace as an SQLite database: a row for each event, and a column for each argument that many events
 * have. The column "args", a JSON object, has the other arguments. gputrace-convert(1) describes the tables for users.
 *
 * A table T of events is stored as "raw_T", whose columns of names have numbers of the table "names". The view T has
 * the names themselves and, for GPU operations, the call that launched them.
 */
#ifndef GPUTRACE_TRACE_SQLITE_SCHEMA_H
#define GPUTRACE_TRACE_SQLITE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define SQLITE_SCHEMA_VERSION 2 /* the database's user_version; increases when queries may have to change */

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
    SQLITE_NUMBER_COLUMN, /* integer or real */
    SQLITE_NAME_COLUMN,   /* a number of the table "names" */
    SQLITE_TEXT_COLUMN,
};

/* The source of a column's values. */
enum sqlite_role {
    SQLITE_ROLE_ID, /* the number of the event in the trace, from 1; unique across tables */
    SQLITE_ROLE_NAME,
    SQLITE_ROLE_START, /* ns since the trace's base */
    SQLITE_ROLE_END,
    SQLITE_ROLE_PID,
    SQLITE_ROLE_TID,
    SQLITE_ROLE_END_TID, /* for a range of start and end */
    SQLITE_ROLE_KIND,    /* the writer's word for the sort of event */
    SQLITE_ROLE_CATEGORY,
    SQLITE_ROLE_ROW, /* the name of the row that shows the event */
    SQLITE_ROLE_VALUE,
    SQLITE_ROLE_SERIES, /* for a counter with several values */
    SQLITE_ROLE_ARGS,   /* arguments without a column */
    SQLITE_ROLE_ARG,    /* an argument, or a part of it */
    SQLITE_ROLE_COUNT = SQLITE_ROLE_ARG,
};

struct sqlite_column {
    const char *name;
    enum sqlite_type type;
    enum sqlite_role role;
    enum arg_key key; /* for SQLITE_ROLE_ARG */
};

#define SQLITE_COLUMNS 32 /* a table has no more */
#define SQLITE_NO_COLUMN 255

struct sqlite_table {
    const char *name;
    const struct sqlite_column *columns;
    size_t count;
    bool gpu_ops; /* its events are GPU operations, which calls launch */
};

extern const struct sqlite_table sqlite_tables[SQLITE_TABLE_COUNT];

/* The column of a role, and the first column of an argument; SQLITE_NO_COLUMN if the table has none. */
extern uint8_t sqlite_role_columns[SQLITE_TABLE_COUNT][SQLITE_ROLE_COUNT];
extern uint8_t sqlite_arg_columns[SQLITE_TABLE_COUNT][ARG_KEY_COUNT];

struct buffer;

/* Append the statement, with a NUL, that creates a table, adds a row to it, or creates its view. */
void sqlite_put_create(struct buffer *sql, enum sqlite_table_number table);
void sqlite_put_insert(struct buffer *sql, enum sqlite_table_number table);
void sqlite_put_view(struct buffer *sql, enum sqlite_table_number table);

/* Appends the statement that fills the table "launches" for the GPU operations of one table. */
void sqlite_put_launches(struct buffer *sql, enum sqlite_table_number table);

/* Statements, with a NULL after the last: for an empty database; for when all events are there, before "launches" is
 * filled; and for after that. */
extern const char *const sqlite_begin[], *const sqlite_before_launches[], *const sqlite_after_launches[];

#endif
