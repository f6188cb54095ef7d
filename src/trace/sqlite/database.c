/*
 * Executes the statements of schema.c: opens the database, binds the values of each row, interns names, and creates
 * indexes and views at the end.
 */
#include "trace/sqlite/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "common/array.h"
#include "common/log.h"
#include "common/map.h"
#include "trace/sink.h"

#define NO_NAME UINT32_MAX

/* A row of the trace: a thread's, or a GPU's. */
struct known_row {
    struct row row;
    uint32_t name; /* index in `names`, or NO_NAME */
    bool host;     /* it has an event that is not a GPU operation */
};

struct known_stream {
    int64_t device, context, stream;
    struct row row; /* which shows it */
};

struct database {
    struct database_row row; /* the event's row that is being set */
    bool failed;             /* an error was printed */
    sqlite3 *handle;
    char *path;
    sqlite3_stmt *rows[SQLITE_TABLE_COUNT], *name, *metadata, *process;
    struct interner names; /* number N has id N + 1 in the table */
    struct buffer valid;   /* in memory: a text with its invalid UTF-8 replaced */
    int64_t events;
    ARRAY(struct known_row) known_rows;
    struct map row_index; /* pid and tid -> index + 1 in known_rows */
    uint64_t last_row;    /* key of the row that was found last, */
    size_t last_index;    /* and its index */
    struct map gpus;      /* keys: pids of GPUs' rows */
    ARRAY(struct known_stream) streams;
    struct map stream_index; /* hash of device, context and stream -> index + 1 in streams */
};

/* --- SQLite --- */

static int failed(struct database *database)
{
    if (database->failed)
        return -1;
    database->failed = true;
    return error("cannot write '%s': %s", database->path, sqlite3_errmsg(database->handle));
}

static int no_memory(struct database *database, const char *what)
{
    if (database->failed)
        return -1;
    database->failed = true;
    return error_no_memory(what);
}

static int execute(struct database *database, const char *sql)
{
    return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(database);
}

static int execute_all(struct database *database, const char *const *statements)
{
    int result = 0;
    while (*statements && result == 0)
        result = execute(database, *statements++);
    return result;
}

static int prepare(struct database *database, const char *sql, sqlite3_stmt **statement)
{
    int result = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    return result == SQLITE_OK ? 0 : failed(database);
}

/* Runs a statement whose parameters are bound, and resets it. */
static int step(struct database *database, sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);
    sqlite3_reset(statement);
    return result == SQLITE_DONE ? 0 : failed(database);
}

static void bind_name(const struct database *database, sqlite3_stmt *statement, int parameter, uint32_t name)
{
    if (name == NO_NAME) {
        sqlite3_bind_null(statement, parameter);
        return;
    }
    const struct interned *text = interner_at(&database->names, name);
    sqlite3_bind_text(statement, parameter, text->text, (int)text->length, SQLITE_STATIC);
}

/* --- opening --- */

/* The cache holds the pages that are written in random order: the last of each table and the upper ones of trees. */
static const char settings[] = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
                               "PRAGMA page_size=4096; PRAGMA cache_size=-32768; PRAGMA threads=4;"
                               "PRAGMA application_id=0x67747263; BEGIN";

static int put_statement(struct database *database, void (*put)(struct buffer *sql, enum sqlite_table_number table),
                         enum sqlite_table_number table, sqlite3_stmt **statement)
{
    struct buffer sql;
    buffer_init_memory(&sql);
    put(&sql, table);
    int result = sql.failure ? error_no_memory("a database") : 0;
    result = result ?: (statement ? prepare(database, sql.data, statement) : execute(database, sql.data));
    buffer_release(&sql);
    return result;
}

static int make_tables(struct database *database)
{
    int result = execute(database, settings) ?: execute_all(database, sqlite_begin);
    for (enum sqlite_table_number i = 0; i < SQLITE_TABLE_COUNT && result == 0; i++)
        result = put_statement(database, sqlite_put_create, i, NULL)
                     ?: put_statement(database, sqlite_put_insert, i, &database->rows[i]);
    result = result ?: prepare(database, "INSERT INTO names VALUES(?,?)", &database->name);
    result = result ?: prepare(database, "INSERT OR REPLACE INTO metadata VALUES(?,?)", &database->metadata);
    return result ?: prepare(database, "INSERT OR REPLACE INTO processes VALUES(?,?,?)", &database->process);
}

struct database *database_open(const char *path)
{
    struct database *database = calloc(1, sizeof(*database));
    if (!database || !(database->path = strdup(path))) {
        error_no_memory("a database");
        database_free(database);
        return NULL;
    }
    database->row.database = database;
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* statistics would take a lock for each allocation */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &database->handle, flags, NULL) != SQLITE_OK)
        failed(database);
    else if (make_tables(database) == 0)
        return database;
    database_free(database);
    return NULL;
}

void database_free(struct database *database)
{
    if (!database)
        return;
    for (size_t i = 0; i < SQLITE_TABLE_COUNT; i++)
        sqlite3_finalize(database->rows[i]);
    sqlite3_finalize(database->name);
    sqlite3_finalize(database->metadata);
    sqlite3_finalize(database->process);
    sqlite3_close(database->handle);
    interner_release(&database->names);
    buffer_release(&database->valid);
    buffer_release(&database->row.args);
    buffer_release(&database->row.scratch);
    array_release(&database->known_rows);
    array_release(&database->streams);
    map_release(&database->row_index);
    map_release(&database->gpus);
    map_release(&database->stream_index);
    free(database->path);
    free(database);
}

/* --- rows and streams of the trace --- */

/* Returns the entry of a row, creating it if it is new, or NULL without memory. */
static struct known_row *find_row(struct database *database, struct row row)
{
    uint64_t key = (uint64_t)row.pid << 32 | row.tid;
    if (database->known_rows.count > 0 && key == database->last_row)
        return &database->known_rows.items[database->last_index];
    size_t known = database->known_rows.count;
    struct known_row *found = PUT_ITEM(&database->known_rows, &database->row_index, key);
    if (!found)
        return NULL;
    if (database->known_rows.count > known)
        *found = (struct known_row){.row = row, .name = NO_NAME};
    database->last_row = key;
    database->last_index = (size_t)(found - database->known_rows.items);
    return found;
}

static int note_stream(struct database *database, struct row row, const int64_t stream[3])
{
    size_t known = database->streams.count;
    struct known_stream *found =
        PUT_ITEM(&database->streams, &database->stream_index, hash_bytes(stream, 3 * sizeof(*stream)));
    if (found && database->streams.count > known)
        *found = (struct known_stream){stream[0], stream[1], stream[2], row};
    return found ? 0 : no_memory(database, "streams");
}

/* --- names --- */

/* Returns the number of TEXT, adding it to the table if it is new; NO_NAME after error(). Texts in the table are as in
 * JSON: valid UTF-8, up to the first NUL. */
static uint32_t number_of(struct database *database, const char *text, size_t length)
{
    size_t before = database->names.count;
    length = length ? strnlen(text, length) : 0;
    text = buffer_valid_text(&database->valid, text, &length);
    uint32_t number = intern(&database->names, length ? text : "", length);
    if (number == INTERN_NO_MEMORY || database->valid.failure) {
        no_memory(database, "the trace's names");
        return NO_NAME;
    }
    if (database->names.count == before)
        return number;
    sqlite3_bind_int64(database->name, 1, (int64_t)number + 1);
    bind_name(database, database->name, 2, number);
    return step(database, database->name) == 0 ? number : NO_NAME;
}

int database_put_process(struct database *database, const struct row_name *process)
{
    uint32_t name = number_of(database, process->name, strlen(process->name));
    uint32_t label = process->label ? number_of(database, process->label, strlen(process->label)) : NO_NAME;
    if (database->failed)
        return -1;
    if (process->owner)
        return map_put(&database->gpus, process->row.pid, NULL) ? 0 : no_memory(database, "names of rows");
    sqlite3_bind_int64(database->process, 1, process->row.pid);
    bind_name(database, database->process, 2, name);
    bind_name(database, database->process, 3, label);
    return step(database, database->process);
}

int database_put_thread(struct database *database, const struct row_name *thread)
{
    struct known_row *row = find_row(database, thread->row);
    if (!row)
        return no_memory(database, "names of rows");
    row->name = number_of(database, thread->name, strlen(thread->name));
    return database->failed ? -1 : 0;
}

int database_put_metadata(struct database *database, const char *key, const char *value, size_t size)
{
    sqlite3_bind_text(database->metadata, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(database->metadata, 2, value, (int)size, SQLITE_STATIC);
    return step(database, database->metadata);
}

/* --- the row of an event --- */

struct database_row *database_begin_row(struct database *database, enum sqlite_table_number table, struct row of)
{
    struct database_row *row = &database->row;
    row->table = table;
    row->row = of;
    row->args.length = 0;
    row->statement = database->rows[table];
    row->has_stream = false;
    memset(row->stream, 0, sizeof(row->stream));
    sqlite3_clear_bindings(row->statement);
    sqlite3_bind_int64(row->statement, 1, ++database->events);
    return row;
}

void database_set_integer(struct database_row *row, uint8_t column, int64_t value)
{
    const uint8_t device = sqlite_arg_columns[row->table][ARG_DEVICE];
    if (column == SQLITE_NO_COLUMN)
        return;
    sqlite3_bind_int64(row->statement, column + 1, value);
    if (device != SQLITE_NO_COLUMN && column >= device && column < device + 3) {
        row->stream[column - device] = value;
        row->has_stream |= column == device + 2;
    }
}

void database_set_real(struct database_row *row, uint8_t column, double value)
{
    if (column != SQLITE_NO_COLUMN)
        sqlite3_bind_double(row->statement, column + 1, value);
}

void database_set_name(struct database_row *row, uint8_t column, const char *text, size_t length)
{
    if (column != SQLITE_NO_COLUMN)
        sqlite3_bind_int64(row->statement, column + 1, (int64_t)number_of(row->database, text, length) + 1);
}

void database_set_null(struct database_row *row, uint8_t column)
{
    if (column != SQLITE_NO_COLUMN)
        sqlite3_bind_null(row->statement, column + 1);
}

int database_end_row(struct database_row *row)
{
    const uint8_t *columns = sqlite_role_columns[row->table];
    const uint8_t args = columns[SQLITE_ROLE_ARGS], name = columns[SQLITE_ROLE_ROW];
    if (row->args.length > 0 && args != SQLITE_NO_COLUMN) {
        buffer_char(&row->args, '}');
        sqlite3_bind_text(row->statement, args + 1, row->args.data, (int)row->args.length, SQLITE_STATIC);
    }
    if (row->args.failure || row->scratch.failure)
        return no_memory(row->database, "the trace's events");
    if (row->database->failed)
        return -1;
    /* Sets the name of the trace's row, if it has one by now, and notes rows of threads and streams. */
    bool gpu = sqlite_tables[row->table].gpu_ops, host = !gpu && columns[SQLITE_ROLE_TID] != SQLITE_NO_COLUMN;
    struct known_row *known = host || name != SQLITE_NO_COLUMN ? find_row(row->database, row->row) : NULL;
    if (!known && (host || name != SQLITE_NO_COLUMN))
        return no_memory(row->database, "rows");
    if (known && name != SQLITE_NO_COLUMN && known->name != NO_NAME)
        sqlite3_bind_int64(row->statement, name + 1, (int64_t)known->name + 1);
    if (known)
        known->host |= host;
    if (gpu && row->has_stream && note_stream(row->database, row->row, row->stream) < 0)
        return -1;
    return step(row->database, row->statement);
}

/* --- the end --- */

static int put_threads(struct database *database)
{
    sqlite3_stmt *statement;
    int result = prepare(database, "INSERT OR IGNORE INTO threads VALUES(?,?,?)", &statement);
    for (size_t i = 0; i < database->known_rows.count && result == 0; i++) {
        const struct known_row *row = &database->known_rows.items[i];
        bool further = row->row.tid >= TRACKS_EXTRA_TID; /* a further lane of a thread, or no thread's row */
        if (map_get(&database->gpus, row->row.pid) || further || (!row->host && row->name == NO_NAME))
            continue;
        sqlite3_bind_int64(statement, 1, row->row.pid);
        sqlite3_bind_int64(statement, 2, row->row.tid);
        bind_name(database, statement, 3, row->name);
        result = step(database, statement);
    }
    sqlite3_finalize(statement);
    return result;
}

static int put_streams(struct database *database)
{
    sqlite3_stmt *statement;
    int result = prepare(database, "INSERT INTO streams VALUES(?,?,?,?)", &statement);
    for (size_t i = 0; i < database->streams.count && result == 0; i++) {
        const struct known_stream *stream = &database->streams.items[i];
        const struct known_row *row = find_row(database, stream->row);
        sqlite3_bind_int64(statement, 1, stream->device);
        sqlite3_bind_int64(statement, 2, stream->context);
        sqlite3_bind_int64(statement, 3, stream->stream);
        bind_name(database, statement, 4, row ? row->name : NO_NAME);
        result = step(database, statement);
    }
    sqlite3_finalize(statement);
    return result;
}

int database_finish(struct database *database)
{
    int result = put_threads(database) ?: put_streams(database) ?: execute_all(database, sqlite_before_launches);
    for (enum sqlite_table_number i = 0; i < SQLITE_TABLE_COUNT && result == 0; i++)
        if (sqlite_tables[i].gpu_ops)
            result = put_statement(database, sqlite_put_launches, i, NULL);
    result = result ?: execute_all(database, sqlite_after_launches);
    for (enum sqlite_table_number i = 0; i < SQLITE_TABLE_COUNT && result == 0; i++)
        result = put_statement(database, sqlite_put_view, i, NULL);
    if (result < 0)
        return result;
    char version[64];
    snprintf(version, sizeof(version), "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
             SQLITE_APPLICATION_ID, SQLITE_SCHEMA_VERSION);
    return execute(database, version);
}
