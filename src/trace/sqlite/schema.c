/*
 * The tables as lists of columns, and the SQL that is composed from these: CREATE, INSERT, views, and the search for
 * launches.
 */
#include "trace/sqlite/schema.h"

#include <string.h>

#include "common/buffer.h"

/* --- columns --- */

#define FIELD(name, type, role) {name, SQLITE_##type##_COLUMN, SQLITE_ROLE_##role, ARG_OTHER}
#define ARGUMENT(name, type, key) {name, SQLITE_##type##_COLUMN, SQLITE_ROLE_ARG, ARG_##key}

#define EVENT FIELD("id", INTEGER, ID), FIELD("name", NAME, NAME)
#define SPAN FIELD("start", INTEGER, START), FIELD("end", INTEGER, END)
#define MOMENT FIELD("time", INTEGER, START)
#define THREAD FIELD("pid", INTEGER, PID), FIELD("tid", INTEGER, TID)
#define STREAM                                                                                                       \
    ARGUMENT("device", INTEGER, DEVICE), ARGUMENT("context", INTEGER, CONTEXT), ARGUMENT("stream", INTEGER, STREAM), \
        ARGUMENT("correlation", INTEGER, CORRELATION)
#define GRAPH ARGUMENT("graph", INTEGER, GRAPH), ARGUMENT("graph_node", INTEGER, GRAPH_NODE)
#define CAPTURED_IN ARGUMENT("captured_in", NAME, CAPTURED_IN)
#define CALLED ARGUMENT("stack", INTEGER, STACK), ARGUMENT("called_at", NAME, CALLED_AT)
#define ARGS FIELD("args", TEXT, ARGS)

#define NUMBER(name, text, type, field, categories, member, ...) , ARGUMENT(#member, INTEGER, name)

/* The columns of an argument of three parts are adjacent. */
static const struct sqlite_column kernels[] = {
    EVENT,
    SPAN,
    STREAM,
    ARGUMENT("grid_x", INTEGER, GRID),
    ARGUMENT("grid_y", INTEGER, GRID),
    ARGUMENT("grid_z", INTEGER, GRID),
    ARGUMENT("block_x", INTEGER, BLOCK),
    ARGUMENT("block_y", INTEGER, BLOCK),
    ARGUMENT("block_z", INTEGER, BLOCK) KERNEL_NUMBERS(NUMBER),
    ARGUMENT("shared_memory", INTEGER, SHARED_MEMORY),
    ARGUMENT("blocks_per_sm", REAL, BLOCKS_PER_SM),
    ARGUMENT("warps_per_sm", REAL, WARPS_PER_SM),
    ARGUMENT("occupancy", REAL, OCCUPANCY),
    ARGUMENT("queued", INTEGER, QUEUED),
    GRAPH,
    CAPTURED_IN,
    ARGUMENT("mangled_name", NAME, MANGLED_NAME),
    CALLED,
    ARGS,
};

static const struct sqlite_column memory_operations[] = {
    EVENT,       SPAN,   STREAM, ARGUMENT("bytes", INTEGER, BYTES), ARGUMENT("bandwidth", REAL, BANDWIDTH), GRAPH,
    CAPTURED_IN, CALLED, ARGS,
};

static const struct sqlite_column graph_launches[] = {EVENT, SPAN, STREAM, GRAPH, CALLED, ARGS};

static const struct sqlite_column api_calls[] = {
    EVENT,
    SPAN,
    THREAD,
    FIELD("api", NAME, KIND),
    ARGUMENT("correlation", INTEGER, CORRELATION),
    ARGUMENT("cbid", INTEGER, CBID),
    ARGUMENT("return_value", INTEGER, RETURN_VALUE),
    ARGUMENT("error", NAME, ERROR),
    CALLED,
    ARGS,
};

static const struct sqlite_column ranges[] = {
    EVENT,
    SPAN,
    THREAD,
    FIELD("end_tid", INTEGER, END_TID),
    FIELD("kind", NAME, KIND),
    ARGUMENT("domain", NAME, DOMAIN),
    ARGUMENT("category", NAME, CATEGORY),
    ARGUMENT("open_at_end", INTEGER, OPEN_AT_END),
    ARGS,
};

static const struct sqlite_column marks[] = {
    EVENT, MOMENT, THREAD, ARGUMENT("domain", NAME, DOMAIN), ARGUMENT("category", NAME, CATEGORY), ARGS,
};

static const struct sqlite_column gpu_ranges[] = {
    EVENT,
    SPAN,
    FIELD("device", INTEGER, PID),
    FIELD("row", NAME, ROW),
    ARGUMENT("tid", INTEGER, THREAD),
    ARGUMENT("domain", NAME, DOMAIN),
    ARGUMENT("category", NAME, CATEGORY),
    ARGS,
};

static const struct sqlite_column synchronisation[] = {
    EVENT,
    SPAN,
    STREAM,
    ARGUMENT("kind", NAME, SYNC_KIND),
    ARGUMENT("wait_on_stream", INTEGER, WAIT_ON_STREAM),
    ARGUMENT("wait_on_event", INTEGER, WAIT_ON_EVENT),
    ARGUMENT("wait_on_correlation", INTEGER, WAIT_ON_CORRELATION),
    ARGS,
};

static const struct sqlite_column memory_events[] = {
    EVENT,
    MOMENT,
    THREAD,
    ARGUMENT("address", INTEGER, ADDRESS),
    ARGUMENT("bytes", INTEGER, BYTES),
    ARGUMENT("kind", NAME, KIND),
    ARGUMENT("device", INTEGER, DEVICE),
    ARGUMENT("correlation", INTEGER, CORRELATION),
    ARGUMENT("result", INTEGER, RESULT),
    ARGUMENT("error", NAME, ERROR),
    ARGUMENT("held", INTEGER, HELD),
    CALLED,
    ARGUMENT("total_allocated", INTEGER, TOTAL_ALLOCATED),
    ARGUMENT("total_reserved", INTEGER, TOTAL_RESERVED),
    ARGS,
};

static const struct sqlite_column operators[] = {
    EVENT, SPAN, THREAD, FIELD("kind", NAME, CATEGORY), ARGUMENT("sequence", INTEGER, SEQUENCE), ARGS,
};

static const struct sqlite_column cpu_samples[] = {EVENT, MOMENT, THREAD, CALLED, ARGS};

static const struct sqlite_column thread_states[] = {
    EVENT, SPAN, THREAD, ARGUMENT("waker", INTEGER, WAKER), CALLED, ARGS,
};

static const struct sqlite_column counters[] = {
    EVENT, MOMENT, FIELD("pid", INTEGER, PID), FIELD("series", NAME, SERIES), FIELD("value", NUMBER, VALUE),
};

static const struct sqlite_column other_events[] = {
    EVENT,
    FIELD("kind", NAME, KIND),
    FIELD("category", NAME, CATEGORY),
    SPAN,
    THREAD,
    FIELD("end_tid", INTEGER, END_TID),
    FIELD("row", NAME, ROW),
    ARGUMENT("correlation", INTEGER, CORRELATION),
    CALLED,
    ARGS,
};

#define COLUMNS(list) .columns = (list), .count = sizeof(list) / sizeof(*(list))

const struct sqlite_table sqlite_tables[SQLITE_TABLE_COUNT] = {
    [SQLITE_KERNELS] = {"kernels", COLUMNS(kernels), .gpu_ops = true},
    [SQLITE_MEMCPY] = {"memcpy", COLUMNS(memory_operations), .gpu_ops = true},
    [SQLITE_MEMSET] = {"memset", COLUMNS(memory_operations), .gpu_ops = true},
    [SQLITE_GRAPH_LAUNCHES] = {"graph_launches", COLUMNS(graph_launches), .gpu_ops = true},
    [SQLITE_API_CALLS] = {"api_calls", COLUMNS(api_calls)},
    [SQLITE_RANGES] = {"ranges", COLUMNS(ranges)},
    [SQLITE_MARKS] = {"marks", COLUMNS(marks)},
    [SQLITE_GPU_RANGES] = {"gpu_ranges", COLUMNS(gpu_ranges)},
    [SQLITE_SYNCHRONISATION] = {"synchronisation", COLUMNS(synchronisation)},
    [SQLITE_MEMORY_EVENTS] = {"memory_events", COLUMNS(memory_events)},
    [SQLITE_OPERATORS] = {"operators", COLUMNS(operators)},
    [SQLITE_CPU_SAMPLES] = {"cpu_samples", COLUMNS(cpu_samples)},
    [SQLITE_THREAD_STATES] = {"thread_states", COLUMNS(thread_states)},
    [SQLITE_COUNTERS] = {"counters", COLUMNS(counters)},
    [SQLITE_OTHER_EVENTS] = {"other_events", COLUMNS(other_events)},
};

#define FITS(list) _Static_assert(sizeof(list) / sizeof(*(list)) <= SQLITE_COLUMNS, "a row has these columns")
FITS(kernels);
FITS(memory_events);

uint8_t sqlite_role_columns[SQLITE_TABLE_COUNT][SQLITE_ROLE_COUNT];
uint8_t sqlite_arg_columns[SQLITE_TABLE_COUNT][ARG_KEY_COUNT];

/* PyTorch's arguments that share the column of one of ours. */
static const struct {
    enum arg_key key, ours;
} same[] = {{ARG_PYTORCH_ADDRESS, ARG_ADDRESS}, {ARG_PYTORCH_BYTES, ARG_BYTES}, {ARG_PYTORCH_DEVICE, ARG_DEVICE}};

__attribute__((constructor)) static void find_columns(void)
{
    memset(sqlite_role_columns, SQLITE_NO_COLUMN, sizeof(sqlite_role_columns));
    memset(sqlite_arg_columns, SQLITE_NO_COLUMN, sizeof(sqlite_arg_columns));
    for (size_t i = 0; i < SQLITE_TABLE_COUNT; i++) {
        for (size_t k = sqlite_tables[i].count; k-- > 0;) { /* backwards: an argument's first column wins */
            const struct sqlite_column *column = &sqlite_tables[i].columns[k];
            if (column->role == SQLITE_ROLE_ARG)
                sqlite_arg_columns[i][column->key] = (uint8_t)k;
            else
                sqlite_role_columns[i][column->role] = (uint8_t)k;
        }
        for (size_t k = 0; k < sizeof(same) / sizeof(*same); k++)
            sqlite_arg_columns[i][same[k].key] = sqlite_arg_columns[i][same[k].ours];
    }
}

/* --- statements --- */

void sqlite_put_create(struct buffer *sql, enum sqlite_table_number number)
{
    static const char *const types[] = {"INTEGER", "REAL", "NUMERIC", "INTEGER", "TEXT"};
    const struct sqlite_table *table = &sqlite_tables[number];
    buffer_format(sql, "CREATE TABLE raw_%s(", table->name);
    for (size_t i = 0; i < table->count; i++) {
        const struct sqlite_column *column = &table->columns[i];
        buffer_format(sql, "%s\"%s\" %s%s", i ? ", " : "", column->name, types[column->type],
                      column->role == SQLITE_ROLE_ID ? " PRIMARY KEY" : "");
    }
    buffer_bytes(sql, ")", 2);
}

void sqlite_put_insert(struct buffer *sql, enum sqlite_table_number number)
{
    const struct sqlite_table *table = &sqlite_tables[number];
    buffer_format(sql, "INSERT INTO raw_%s VALUES(", table->name);
    for (size_t i = 0; i < table->count; i++)
        buffer_text(sql, i ? ",?" : "?");
    buffer_bytes(sql, ")", 2);
}

void sqlite_put_view(struct buffer *sql, enum sqlite_table_number number)
{
    const struct sqlite_table *table = &sqlite_tables[number];
    buffer_format(sql, "CREATE VIEW %s AS SELECT ", table->name);
    for (size_t i = 0; i < table->count; i++) {
        buffer_text(sql, i ? ", " : "");
        /* A column of a subquery costs nothing unless it is selected. The name of an event, and the call of a GPU
         * operation, are joined instead, so that a query for one name, or by calls, uses the index. */
        const struct sqlite_column *column = &table->columns[i];
        if (column->role == SQLITE_ROLE_NAME)
            buffer_text(sql, "event_name.name");
        else if (column->type == SQLITE_NAME_COLUMN)
            buffer_format(sql, "(SELECT name FROM names WHERE id = raw.\"%s\") AS \"%s\"", column->name, column->name);
        else
            buffer_format(sql, "raw.\"%s\"", column->name);
        if (column->role == SQLITE_ROLE_END)
            buffer_text(sql, ", raw.\"end\" - raw.start AS duration");
    }
    if (table->gpu_ops)
        buffer_text(sql, ", launch.call, (SELECT pid FROM raw_api_calls WHERE id = launch.call) AS pid"
                         ", (SELECT tid FROM raw_api_calls WHERE id = launch.call) AS tid");
    buffer_format(sql, " FROM raw_%s AS raw JOIN names AS event_name ON event_name.id = raw.name", table->name);
    if (table->gpu_ops)
        buffer_text(sql, " LEFT JOIN launches AS launch ON launch.gpu_op = raw.id");
    buffer_char(sql, '\0');
}

const char *const sqlite_begin[] = {
    "CREATE TABLE metadata(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE names(id INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TABLE processes(pid INTEGER PRIMARY KEY, name TEXT, label TEXT)",
    "CREATE TABLE threads(pid INTEGER, tid INTEGER, name TEXT, PRIMARY KEY(pid, tid)) WITHOUT ROWID",
    "CREATE TABLE streams(device INTEGER, context INTEGER, stream INTEGER, name TEXT)",
    "CREATE TABLE devices(device INTEGER PRIMARY KEY, name TEXT, memory INTEGER, compute_major INTEGER,"
    " compute_minor INTEGER, multiprocessors INTEGER, properties TEXT)",
    "CREATE TABLE launches(gpu_op INTEGER PRIMARY KEY, call INTEGER)",
    "CREATE TABLE frames(id INTEGER PRIMARY KEY, parent INTEGER, function TEXT, file TEXT, line INTEGER, module TEXT)",
    NULL,
};

/*
 * The call of a GPU operation is the outermost one with its correlation id: the first to start, and of those the last
 * to end.
 */
void sqlite_put_launches(struct buffer *sql, enum sqlite_table_number number)
{
    buffer_format(sql,
                  "INSERT INTO launches SELECT id, call FROM (SELECT id, (SELECT call.id FROM raw_api_calls AS call"
                  " WHERE call.correlation = op.correlation ORDER BY call.start, call.\"end\" DESC LIMIT 1) AS call"
                  " FROM raw_%s AS op WHERE correlation IS NOT NULL) WHERE call IS NOT NULL",
                  sqlite_tables[number].name);
    buffer_char(sql, '\0');
}

const char *const sqlite_before_launches[] = {
    "INSERT OR IGNORE INTO devices SELECT json_extract(value, '$.id'), json_extract(value, '$.name'),"
    " json_extract(value, '$.totalGlobalMem'), json_extract(value, '$.computeMajor'),"
    " json_extract(value, '$.computeMinor'), json_extract(value, '$.numSms'), value"
    " FROM json_each((SELECT value FROM metadata WHERE key = 'deviceProperties' AND json_valid(value)))"
    " WHERE type = 'object'",
    /* Other tools may write numbers of frames as text. */
    "INSERT OR IGNORE INTO frames SELECT CAST(key AS INTEGER), CAST(json_extract(value, '$.parent') AS INTEGER),"
    " json_extract(value, '$.name'), json_extract(value, '$.file'), json_extract(value, '$.line'),"
    " json_extract(value, '$.category')"
    " FROM json_each((SELECT value FROM metadata WHERE key = 'stackFrames' AND json_valid(value)))"
    " WHERE type = 'object' AND key NOT GLOB '*[^0-9]*'",
    "CREATE INDEX api_calls_correlation ON raw_api_calls(correlation, start, \"end\" DESC, pid)",
    NULL,
};

/* If several processes have calls with one correlation id, the process that called last before the operation started is
 * taken. */
const char *const sqlite_after_launches[] = {
    "CREATE TEMP TABLE shared AS SELECT id, start, correlation FROM"
    " (SELECT id, start, correlation FROM raw_kernels"
    "  UNION ALL SELECT id, start, correlation FROM raw_memcpy"
    "  UNION ALL SELECT id, start, correlation FROM raw_memset"
    "  UNION ALL SELECT id, start, correlation FROM raw_graph_launches)"
    " WHERE correlation IN (SELECT correlation FROM raw_api_calls WHERE correlation IS NOT NULL"
    "  GROUP BY correlation HAVING min(pid) <> max(pid))",
    "CREATE TEMP TABLE outermost AS SELECT id, correlation, start, pid FROM"
    " (SELECT id, correlation, start, pid, row_number() OVER"
    "   (PARTITION BY correlation, pid ORDER BY start, \"end\" DESC, id) AS number"
    "  FROM raw_api_calls WHERE correlation IN (SELECT correlation FROM shared)) WHERE number = 1",
    "CREATE INDEX outermost_start ON outermost(correlation, start)",
    "CREATE INDEX outermost_pid ON outermost(correlation, pid)",
    "REPLACE INTO launches SELECT op.id, ifnull((SELECT id FROM outermost AS call"
    "  WHERE call.correlation = op.correlation AND call.start <= op.start ORDER BY call.start DESC LIMIT 1),"
    " (SELECT id FROM outermost AS call WHERE call.correlation = op.correlation ORDER BY call.pid LIMIT 1))"
    " FROM shared AS op",
    "DROP TABLE outermost",
    "DROP TABLE shared",
    "CREATE INDEX names_name ON names(name)",
    "CREATE INDEX launches_call ON launches(call)",
    "CREATE INDEX kernels_name ON raw_kernels(name)",
    "CREATE INDEX kernels_start ON raw_kernels(start)",
    "CREATE INDEX api_calls_name ON raw_api_calls(name)",
    "CREATE INDEX api_calls_thread ON raw_api_calls(pid, tid, start)",
    "CREATE INDEX ranges_name ON raw_ranges(name)",
    "CREATE INDEX ranges_thread ON raw_ranges(pid, tid, start)",
    "PRAGMA analysis_limit=400", /* rows of an index that ANALYZE reads for planning queries */
    "ANALYZE",
    NULL,
};
