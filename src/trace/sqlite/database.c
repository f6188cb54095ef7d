/*
 * Executes the statements of schema.c: it opens the database, binds the rows that threads have made, interns names,
 * and makes indexes and views at the end.
 */
#include "trace/sqlite/database.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/map.h"
#include "trace/format.h"

#define NO_NAME UINT32_MAX

/* A row of the trace: a thread, or a GPU's. */
struct known_row {
    struct row row;
    uint32_t name; /* of `names`; NO_NAME */
    bool host;     /* an event is on it, and it is not a GPU's */
};

struct known_stream {
    int64_t device, context, stream;
    struct row row; /* where it is shown */
};

struct database {
    sqlite3 *handle;
    char *path;
    sqlite3_stmt *rows[SQLITE_TABLE_COUNT], *name, *metadata, *process;
    struct interner names;   /* number N is row N + 1 of the table */
    ARRAY(uint32_t) numbers; /* of the piece's texts, in these */
    int64_t events;
    ARRAY(struct known_row) known_rows;
    struct map row_index; /* of a row -> index + 1 */
    uint64_t last_row;    /* found last: its key, and index */
    size_t last_index;
    struct map gpus; /* pids of GPUs' rows */
    ARRAY(struct known_stream) streams;
    struct map stream_index; /* hash -> index + 1 */
};

/* --- SQLite --- */

static int failed(const struct database *database)
{
    return error("cannot write '%s': %s", database->path, sqlite3_errmsg(database->handle));
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

/* Runs a statement whose parameters are bound, and makes it ready for the next time. */
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

/* The cache holds what is written at random: the last pages of each table, and the upper ones of the trees. */
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
    array_release(&database->numbers);
    array_release(&database->known_rows);
    array_release(&database->streams);
    map_release(&database->row_index);
    map_release(&database->gpus);
    map_release(&database->stream_index);
    free(database->path);
    free(database);
}

/* --- rows and streams of the trace --- */

/* NULL: no memory. */
static struct known_row *find_row(struct database *database, struct row row)
{
    uint64_t key = (uint64_t)row.pid << 32 | row.tid;
    if (database->known_rows.count > 0 && key == database->last_row)
        return &database->known_rows.items[database->last_index];
    uint64_t *index = map_put(&database->row_index, key, NULL);
    struct known_row *found = index && *index == 0 ? array_push(&database->known_rows) : NULL;
    if (!index || (*index == 0 && !found))
        return NULL;
    if (found) {
        *found = (struct known_row){.row = row, .name = NO_NAME};
        *index = database->known_rows.count;
    }
    database->last_row = key;
    database->last_index = *index - 1;
    return &database->known_rows.items[*index - 1];
}

static int note_stream(struct database *database, struct row row, int64_t device, int64_t context, int64_t stream)
{
    const int64_t key[] = {device, context, stream};
    uint64_t *index = map_put(&database->stream_index, hash_bytes(key, sizeof(key)), NULL);
    if (!index)
        return error_no_memory("streams");
    if (*index != 0)
        return 0;
    if (!ADD(array_push, &database->streams, (struct known_stream){device, context, stream, row}))
        return error_no_memory("streams");
    *index = database->streams.count;
    return 0;
}

/* --- records --- */

static int take_text(struct database *database, const char *text, size_t length)
{
    size_t before = database->names.count;
    uint32_t name = intern(&database->names, length ? text : "", length);
    uint32_t *number = name != INTERN_NO_MEMORY ? array_push(&database->numbers) : NULL;
    if (!number)
        return error_no_memory("the trace's names");
    *number = name;
    if (database->names.count == before)
        return 0;
    sqlite3_bind_int64(database->name, 1, (int64_t)name + 1);
    bind_name(database, database->name, 2, name);
    return step(database, database->name);
}

static uint32_t name_at(const struct database *database, int64_t number)
{
    return (uint64_t)number < database->numbers.count ? database->numbers.items[number] : NO_NAME;
}

/* The name of a row, or of a process and its label. */
static int take_naming(struct database *database, const struct row_head *head, const char *values)
{
    uint32_t texts[2] = {NO_NAME, NO_NAME};
    for (uint32_t i = 0; i < head->count && i < 2; i++) {
        struct row_value value;
        memcpy(&value, values + i * sizeof(value), sizeof(value));
        texts[i] = name_at(database, value.integer);
    }
    if (head->table == ROW_THREAD) {
        struct known_row *row = find_row(database, head->row);
        if (!row)
            return error_no_memory("names of rows");
        row->name = texts[0];
        return 0;
    }
    if (head->table == ROW_GPU)
        return map_put(&database->gpus, head->row.pid, NULL) ? 0 : error_no_memory("names of rows");
    sqlite3_bind_int64(database->process, 1, head->row.pid);
    bind_name(database, database->process, 2, texts[0]);
    bind_name(database, database->process, 3, texts[1]);
    return step(database, database->process);
}

static void bind_value(const struct database *database, sqlite3_stmt *statement, const struct row_value *value,
                       const char *text)
{
    int parameter = value->column + 1;
    switch ((enum row_type)value->type) {
    case ROW_INTEGER: sqlite3_bind_int64(statement, parameter, value->integer); break;
    case ROW_REAL: sqlite3_bind_double(statement, parameter, value->real); break;
    case ROW_NAME: sqlite3_bind_int64(statement, parameter, (int64_t)name_at(database, value->integer) + 1); break;
    case ROW_TEXT: sqlite3_bind_text(statement, parameter, text, (int)value->length, SQLITE_STATIC); break;
    }
}

/* What a row of the trace is called, once it has a name. */
static int bind_row(struct database *database, sqlite3_stmt *statement, const struct row_head *head)
{
    const struct known_row *row = find_row(database, head->row);
    uint8_t column = sqlite_role_columns[head->table][SQLITE_ROLE_ROW];
    if (!row)
        return error_no_memory("rows");
    if (row->name != NO_NAME)
        sqlite3_bind_int64(statement, column + 1, (int64_t)row->name + 1);
    return 0;
}

/* Notes the thread or stream that an event is of. ARGS has its device, context and stream, if it has them. */
static int note_row(struct database *database, const struct row_head *head, const int64_t *stream, bool has_stream)
{
    if (sqlite_tables[head->table].gpu_ops)
        return has_stream ? note_stream(database, head->row, stream[0], stream[1], stream[2]) : 0;
    if (sqlite_role_columns[head->table][SQLITE_ROLE_TID] == SQLITE_NO_COLUMN)
        return 0;
    struct known_row *row = find_row(database, head->row);
    if (row)
        row->host = true;
    return row ? 0 : error_no_memory("rows");
}

static int take_row(struct database *database, const char *data)
{
    struct row_head head;
    memcpy(&head, data, sizeof(head));
    const char *values = data + sizeof(head), *texts = values + head.count * sizeof(struct row_value);
    if (head.table >= SQLITE_TABLE_COUNT)
        return take_naming(database, &head, values);
    sqlite3_stmt *statement = database->rows[head.table];
    const uint8_t device = sqlite_arg_columns[head.table][ARG_DEVICE];
    int64_t stream[3] = {0};
    bool has_stream = false;
    sqlite3_clear_bindings(statement);
    sqlite3_bind_int64(statement, 1, ++database->events);
    for (uint32_t i = 0; i < head.count; i++) {
        struct row_value value;
        memcpy(&value, values + i * sizeof(value), sizeof(value));
        bind_value(database, statement, &value, texts);
        texts += value.length;
        if (device != SQLITE_NO_COLUMN && value.column >= device && value.column < device + 3) {
            stream[value.column - device] = value.integer;
            has_stream |= value.column == device + 2;
        }
    }
    if (sqlite_role_columns[head.table][SQLITE_ROLE_ROW] != SQLITE_NO_COLUMN &&
        bind_row(database, statement, &head) < 0)
        return -1;
    return note_row(database, &head, stream, has_stream) < 0 ? -1 : step(database, statement);
}

static int take_record(struct database *database, const struct record *record, const char *data)
{
    size_t key;
    switch ((enum record_kind)record->kind) {
    case RECORD_PIECE: database->numbers.count = 0; return 0;
    case RECORD_TEXT: return take_text(database, data, record->size);
    case RECORD_ROW: return take_row(database, data);
    case RECORD_METADATA:
        key = strlen(data);
        sqlite3_bind_text(database->metadata, 1, data, (int)key, SQLITE_STATIC);
        sqlite3_bind_text(database->metadata, 2, data + key + 1, (int)(record->size - key - 1), SQLITE_STATIC);
        return step(database, database->metadata);
    }
    return 0;
}

int database_drain(void *context, const char *data, size_t size)
{
    struct database *database = context;
    struct record record;
    int result = 0;
    for (size_t at = 0; result == 0 && size - at >= sizeof(record); at += sizeof(record) + record.size) {
        memcpy(&record, data + at, sizeof(record));
        result = take_record(database, &record, data + at + sizeof(record));
    }
    errno = ECANCELED;
    return result;
}

/* --- the end --- */

static int put_threads(struct database *database)
{
    sqlite3_stmt *statement;
    int result = prepare(database, "INSERT OR IGNORE INTO threads VALUES(?,?,?)", &statement);
    for (size_t i = 0; i < database->known_rows.count && result == 0; i++) {
        const struct known_row *row = &database->known_rows.items[i];
        bool further = row->row.tid >= TRACKS_EXTRA_TID; /* of a thread that has another row, or another thing */
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
