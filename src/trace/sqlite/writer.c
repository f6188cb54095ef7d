/*
 * The sink of a database: sets the values of each event's row from its fields and arguments. The sink's context is the
 * database. The sink's buffer stays empty; its failure is ECANCELED after a failure of the database, which was printed.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "trace/event_fields.h"
#include "trace/json/events.h"
#include "trace/names.h"
#include "trace/sink.h"
#include "trace/sqlite/database.h"
#include "trace/sqlite/schema.h"

/* --- arguments, typed --- */

/* Sets a column to an argument's value. Returns false if the column cannot have the value. */
static bool set_argument(struct database_row *row, uint8_t column, const struct arg *arg)
{
    const struct sqlite_column *table_column = &sqlite_tables[row->table].columns[column];
    bool name = table_column->type == SQLITE_NAME_COLUMN;
    switch (arg->type) {
    case ARG_TYPE_U64:
    case ARG_TYPE_I64:
        if (name || (arg->type == ARG_TYPE_U64 && arg->u64 > INT64_MAX))
            return false;
        database_set_integer(row, column, arg->i64);
        return true;
    case ARG_TYPE_FIXED: /* rounded to six decimals, as other formats print it */
        database_set_real(row, column, arg->real > 0 ? floor(fmin(arg->real, 1e12) * 1e6 + 0.5) / 1e6 : 0);
        return !name;
    case ARG_TYPE_REAL: database_set_real(row, column, arg->real); return !name && isfinite(arg->real);
    case ARG_TYPE_HEX: database_set_integer(row, column, (int64_t)arg->u64); return !name && arg->u64 <= INT64_MAX;
    case ARG_TYPE_TRUE:
    case ARG_TYPE_FALSE: database_set_integer(row, column, arg->type == ARG_TYPE_TRUE); return !name;
    case ARG_TYPE_SIZE3:
        if (table_column->key != ARG_GRID && table_column->key != ARG_BLOCK)
            return false;
        for (uint8_t i = 0; i < 3; i++)
            database_set_integer(row, (uint8_t)(column + i), arg->size3[i]);
        return true;
    case ARG_TYPE_TEXT:
        if (name)
            database_set_name(row, column, arg->text, arg->length);
        else if (arg->length > 0 && arg->text[0] >= '0' && arg->text[0] <= '9') /* "0x7f00" or "12" */
            database_set_integer(row, column, event_number_of_text(arg->text, arg->length, 0));
        else
            return false;
        return true;
    default: return false;
    }
}

/* Returns the column of an argument. The argument "thread" of a slice in an extra row replaces the row's tid. */
static uint8_t column_of(const struct database_row *row, enum arg_key key)
{
    uint8_t column = sqlite_arg_columns[row->table][key];
    if (key == ARG_THREAD && column == SQLITE_NO_COLUMN && row->row.tid >= TRACKS_EXTRA_TID)
        column = sqlite_role_columns[row->table][SQLITE_ROLE_TID];
    return column;
}

/* --- arguments as text of a JSON file --- */

/* Sets ARG to a JSON value; its type is ARG_TYPE_RAW if no other type fits. */
static void read_value(struct database_row *row, struct json_text value, struct arg *arg)
{
    *arg = (struct arg){.type = ARG_TYPE_RAW, .text = value.at, .length = value.length};
    if (json_is_string(value)) {
        struct json_text text = json_plain(json_inside(value), &row->scratch);
        *arg = (struct arg){.type = ARG_TYPE_TEXT, .text = text.at, .length = text.length};
    } else if (value.at[0] == 't' || value.at[0] == 'f') {
        arg->type = value.at[0] == 't' ? ARG_TYPE_TRUE : ARG_TYPE_FALSE;
    } else if (value.at[0] == '[') {
        int32_t triple[3]; /* not in ARG, which stays a text if this is not a triple */
        if (!json_triple(value, triple))
            return;
        arg->type = ARG_TYPE_SIZE3;
        memcpy(arg->size3, triple, sizeof(triple));
    } else if (value.at[0] == '-' || (value.at[0] >= '0' && value.at[0] <= '9')) {
        json_number(value, arg);
    }
}

static void set_members(struct database_row *row, const struct arg *members)
{
    const char *at = members->text, *end = at + members->length;
    struct json_text key, value;
    while (json_member(&at, end, &key, &value)) {
        struct arg arg;
        uint8_t column = column_of(row, arg_key_find(key.at, key.length));
        if (column != SQLITE_NO_COLUMN) {
            read_value(row, value, &arg);
            if (set_argument(row, column, &arg))
                continue;
            database_set_null(row, column);
        }
        buffer_text(&row->args, row->args.length ? ",\"" : "{\"");
        buffer_bytes(&row->args, key.at, key.length);
        buffer_bytes(&row->args, "\":", 2);
        buffer_bytes(&row->args, value.at, value.length);
    }
}

/* Sets the columns of arguments; an argument without a column goes to the column "args". */
static void set_args(struct database_row *row, const struct arg *args, size_t count)
{
    for (const struct arg *arg = args; arg < args + count; arg++) {
        if (arg->type == ARG_TYPE_LIST) {
            set_args(row, arg->list->items, arg->list->count);
        } else if (arg->type == ARG_TYPE_MEMBERS) {
            set_members(row, arg);
        } else {
            uint8_t column = column_of(row, arg->key);
            if (column != SQLITE_NO_COLUMN && set_argument(row, column, arg))
                continue;
            if (column != SQLITE_NO_COLUMN)
                database_set_null(row, column);
            /* The table has no column for the argument, or the column cannot have its value. */
            buffer_char(&row->args, row->args.length ? ',' : '{');
            chrome_json_put_arg(&row->args, arg);
        }
    }
}

/* --- rows --- */

/* Returns NULL if the sink has failed. */
static struct database_row *begin_row(struct sink *sink, enum sqlite_table_number table, struct row row)
{
    return sink->buffer->failure ? NULL : database_begin_row(sink->context, table, row);
}

/* Makes the sink fail if RESULT is a failure of the database. */
static void check(struct sink *sink, int result)
{
    if (result != 0 && !sink->buffer->failure)
        sink->buffer->failure = ECANCELED;
}

/* Returns the column of the row's table that has this role, or SQLITE_NO_COLUMN, which drops the value. */
static uint8_t role_column(const struct database_row *row, enum sqlite_role role)
{
    return sqlite_role_columns[row->table][role];
}

static int64_t time_of(const struct sink *sink, uint64_t time)
{
    uint64_t since = time > sink->base ? time - sink->base : 0;
    return since < INT64_MAX ? (int64_t)since : INT64_MAX;
}

/* Sets the columns that all events have. */
static void set_event(const struct sink *sink, struct database_row *row, const struct name *name, uint64_t start)
{
    database_set_name(row, role_column(row, SQLITE_ROLE_NAME), name->text, name->length);
    database_set_integer(row, role_column(row, SQLITE_ROLE_START), time_of(sink, start));
    database_set_integer(row, role_column(row, SQLITE_ROLE_PID), row->row.pid);
    database_set_integer(row, role_column(row, SQLITE_ROLE_TID), row->row.tid);
}

static void set_word(struct database_row *row, enum sqlite_role which, const char *word)
{
    database_set_name(row, role_column(row, which), word, strlen(word));
}

/* Sets the category. OTHER: the name of CATEGORY_OTHER in JSON's escapes, else NULL. */
static void set_category(struct database_row *row, enum category category, const char *other)
{
    if (!other) {
        set_word(row, SQLITE_ROLE_CATEGORY, category_words[category].text);
        return;
    }
    row->scratch.length = 0;
    json_unescape(&row->scratch, (struct json_text){other, strlen(other)});
    database_set_name(row, role_column(row, SQLITE_ROLE_CATEGORY), row->scratch.data, row->scratch.length);
}

/* --- which table --- */

static enum sqlite_table_number table_of_slice(enum category category)
{
    switch (category) {
    case CATEGORY_KERNEL: return SQLITE_KERNELS;
    case CATEGORY_GPU_MEMCPY: return SQLITE_MEMCPY;
    case CATEGORY_GPU_MEMSET: return SQLITE_MEMSET;
    case CATEGORY_GPU_GRAPH: return SQLITE_GRAPH_LAUNCHES;
    case CATEGORY_CUDA_RUNTIME:
    case CATEGORY_CUDA_DRIVER: return SQLITE_API_CALLS;
    case CATEGORY_USER_ANNOTATION: return SQLITE_RANGES;
    case CATEGORY_GPU_USER_ANNOTATION: return SQLITE_GPU_RANGES;
    case CATEGORY_CUDA_SYNC: return SQLITE_SYNCHRONISATION;
    case CATEGORY_CPU_OP:
    case CATEGORY_PYTHON_FUNCTION: return SQLITE_OPERATORS;
    case CATEGORY_THREAD_STATE: return SQLITE_THREAD_STATES;
    default: return SQLITE_OTHER_EVENTS;
    }
}

static enum sqlite_table_number table_of_instant(const struct slice *instant)
{
    static const char pytorch[] = "[memory]";
    bool is_memory =
        instant->name.length == sizeof(pytorch) - 1 && memcmp(instant->name.text, pytorch, sizeof(pytorch) - 1) == 0;
    switch (instant->category) {
    case CATEGORY_MEMORY: return SQLITE_MEMORY_EVENTS;
    case CATEGORY_CPU_INSTANT_EVENT: return is_memory ? SQLITE_MEMORY_EVENTS : SQLITE_OTHER_EVENTS;
    case CATEGORY_USER_ANNOTATION: return SQLITE_MARKS;
    case CATEGORY_CPU_SAMPLE: return SQLITE_CPU_SAMPLES;
    default: return SQLITE_OTHER_EVENTS;
    }
}

/* --- events --- */

/* Writes one event. END_ROW: where an asynchronous range ends, else NULL. */
static void write_one(struct sink *sink, const struct slice *slice, enum sqlite_table_number table, const char *kind,
                      uint64_t end, const struct row *end_row)
{
    struct database_row *row = begin_row(sink, table, slice->row);
    sink->events++;
    if (!row)
        return;
    set_event(sink, row, &slice->name, slice->start);
    database_set_integer(row, role_column(row, SQLITE_ROLE_END), time_of(sink, end));
    if (end_row)
        database_set_integer(row, role_column(row, SQLITE_ROLE_END_TID), end_row->tid);
    set_word(row, SQLITE_ROLE_KIND, kind);
    set_category(row, slice->category, slice->other_category);
    if (slice->args)
        set_args(row, slice->args->items, slice->args->count);
    check(sink, database_end_row(row));
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    enum sqlite_table_number table = table_of_slice(slice->category);
    const char *kind = table == SQLITE_RANGES ? "nested" : "slice";
    if (table == SQLITE_API_CALLS)
        kind = slice->category == CATEGORY_CUDA_RUNTIME ? "runtime" : "driver";
    write_one(sink, slice, table, kind, slice->end, NULL);
}

static void write_instant(struct sink *sink, const struct slice *instant)
{
    write_one(sink, instant, table_of_instant(instant), "instant", instant->start, NULL);
}

static void write_async(struct sink *sink, const struct async_slice *slice)
{
    bool range = slice->category == CATEGORY_USER_ANNOTATION;
    const struct slice begin = async_slice_begin(slice);
    write_one(sink, &begin, range ? SQLITE_RANGES : SQLITE_OTHER_EVENTS, range ? "started" : "range", slice->end,
              &slice->end_row);
}

static void write_counter(struct sink *sink, const struct counter *counter)
{
    const struct counter_value only = counter_only_value(counter);
    size_t count = counter->value_count ? counter->value_count : 1;
    sink->events++;
    for (size_t i = 0; i < count; i++) {
        const struct counter_value *value = counter->value_count ? &counter->values[i] : &only;
        struct database_row *row = begin_row(sink, SQLITE_COUNTERS, (struct row){.pid = counter->pid});
        if (!row)
            return;
        set_event(sink, row, &counter->name, counter->time);
        database_set_name(row, role_column(row, SQLITE_ROLE_SERIES), value->name, value->length);
        uint8_t column = role_column(row, SQLITE_ROLE_VALUE);
        if (value->kind == COUNTER_REAL)
            database_set_real(row, column, value->real);
        else if (value->kind == COUNTER_UNSIGNED && value->u64 > INT64_MAX)
            database_set_real(row, column, (double)value->u64);
        else
            database_set_integer(row, column, value->i64);
        check(sink, database_end_row(row));
    }
}

/* --- rows of the trace, and metadata --- */

static void write_process(struct sink *sink, const struct row_name *process)
{
    check(sink, database_put_process(sink->context, process));
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    check(sink, database_put_thread(sink->context, thread));
}

static void write_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    check(sink, database_put_metadata(sink->context, key, value, size));
}

const struct sink_format sqlite_rows = {
    .name = "sqlite",
    .piece_scale = 1,
    .one_thread = true,
    .metadata = write_metadata,
    .begin = sink_set_base,
    .process = write_process,
    .thread = write_thread,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow = sink_pass_flow, /* not needed: a GPU operation has the correlation id of its call */
    .finish = sink_pass_end,
};
