/*
 * The sink of a database: makes rows of events. Threads that write pieces do so at once; sqlite/database.h adds the
 * rows.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "trace/event_fields.h"
#include "trace/json/text.h"
#include "trace/names.h"
#include "trace/sink.h"
#include "trace/sqlite/database.h"
#include "trace/sqlite/schema.h"

/* The state of a sink that writes a piece, or the whole: a row in the making, with values by column, from fields and
 * arguments of an event. */
struct sqlite_row {
    struct record_texts texts;
    struct buffer args;    /* in memory: members of the row's object of JSON */
    struct buffer scratch; /* in memory: a text without its escapes */
    /* The row at hand */
    enum sqlite_table_number table;
    struct row row;
    uint64_t set; /* a bit for each column */
    struct row_value values[SQLITE_COLUMNS];
};

/* Made when it is first needed. NULL after a failure, which the buffer has. */
static struct sqlite_row *state_of(struct sink *sink)
{
    struct sqlite_row *state = sink->state;
    if (state)
        return state;
    state = sink->state = calloc(1, sizeof(*state));
    if (!state) {
        record_fail(sink->buffer);
        return NULL;
    }
    buffer_init_memory(&state->args);
    buffer_init_memory(&state->scratch);
    record_put(sink->buffer, RECORD_PIECE, NULL, 0);
    return state;
}

static void release(struct sink *sink)
{
    struct sqlite_row *state = sink->state;
    if (state) {
        interner_release(&state->texts.texts);
        buffer_release(&state->args);
        buffer_release(&state->scratch);
    }
    free(state);
    sink->state = NULL;
}

static void begin_piece(struct sink *sink)
{
    sink->state = NULL;
    state_of(sink);
}

/* --- values --- */

/* The value of a column that the table has; else one that is not in the row. */
static struct row_value *value_of(struct sqlite_row *state, uint8_t column, enum row_type type)
{
    static _Thread_local struct row_value none;
    if (column == SQLITE_NO_COLUMN)
        return &none;
    struct row_value *value = &state->values[column];
    state->set |= UINT64_C(1) << column;
    *value = (struct row_value){.column = column, .type = (uint8_t)type};
    return value;
}

static void set_integer(struct sqlite_row *state, uint8_t column, int64_t integer)
{
    value_of(state, column, ROW_INTEGER)->integer = integer;
}

static void set_text(struct sink *sink, uint8_t column, const char *text, size_t length)
{
    struct sqlite_row *state = sink->state;
    if (column != SQLITE_NO_COLUMN)
        value_of(state, column, ROW_NAME)->integer = record_texts_put(&state->texts, sink->buffer, text, length);
}

static void set_real(struct sqlite_row *state, uint8_t column, double real)
{
    value_of(state, column, ROW_REAL)->real = real;
}

static void set_name(struct sink *sink, uint8_t column, const struct name *name)
{
    struct sqlite_row *state = sink->state;
    value_of(state, column, ROW_NAME)->integer = record_texts_put_name(&state->texts, sink->buffer, name);
}

/* --- arguments, typed --- */

/* False: the column cannot have this value. */
static bool set_argument(struct sink *sink, uint8_t column, const struct arg *arg)
{
    struct sqlite_row *state = sink->state;
    const struct sqlite_column *table_column = &sqlite_tables[state->table].columns[column];
    bool name = table_column->type == SQLITE_NAME_COLUMN;
    switch (arg->type) {
    case ARG_TYPE_U64:
    case ARG_TYPE_I64:
        if (name || (arg->type == ARG_TYPE_U64 && arg->u64 > INT64_MAX))
            return false;
        set_integer(state, column, arg->i64);
        return true;
    case ARG_TYPE_FIXED: /* as it is printed: with six decimals */
        set_real(state, column, arg->real > 0 ? floor(fmin(arg->real, 1e12) * 1e6 + 0.5) / 1e6 : 0);
        return !name;
    case ARG_TYPE_REAL: set_real(state, column, arg->real); return !name && isfinite(arg->real);
    case ARG_TYPE_HEX: set_integer(state, column, (int64_t)arg->u64); return !name && arg->u64 <= INT64_MAX;
    case ARG_TYPE_TRUE:
    case ARG_TYPE_FALSE: set_integer(state, column, arg->type == ARG_TYPE_TRUE); return !name;
    case ARG_TYPE_SIZE3:
        if (table_column->key != ARG_GRID && table_column->key != ARG_BLOCK)
            return false;
        for (uint8_t i = 0; i < 3; i++)
            set_integer(state, (uint8_t)(column + i), arg->size3[i]);
        return true;
    case ARG_TYPE_TEXT:
        if (name)
            set_text(sink, column, arg->text, arg->length);
        else if (arg->length > 0 && arg->text[0] >= '0' && arg->text[0] <= '9') /* "0x7f00" or "12" */
            set_integer(state, column, event_number_of_text(arg->text, arg->length, 0));
        else
            return false;
        return true;
    default: return false;
    }
}

/* The column of an argument; of a slice in an extra row the thread is that which the argument names. */
static uint8_t column_of(const struct sqlite_row *state, enum arg_key key)
{
    uint8_t column = sqlite_arg_columns[state->table][key];
    if (key == ARG_THREAD && column == SQLITE_NO_COLUMN && state->row.tid >= TRACKS_EXTRA_TID)
        column = sqlite_role_columns[state->table][SQLITE_ROLE_TID];
    return column;
}

/* --- arguments as they stand in a file of JSON --- */

static struct json_text inside(struct sink *sink, struct json_text string)
{
    struct sqlite_row *state = sink->state;
    struct json_text text = {string.at + 1, string.length - 2};
    if (!memchr(text.at, '\\', text.length))
        return text;
    state->scratch.length = 0;
    json_unescape(&state->scratch, text);
    return (struct json_text){state->scratch.data, state->scratch.length};
}

/* Sets VALUES to the three numbers of an array; false: it is another. */
static bool read_triple(struct json_text text, int32_t values[3])
{
    const char *at = text.at + 1;
    char *after;
    if (text.at[0] != '[')
        return false;
    for (int i = 0; i < 3; i++) {
        values[i] = (int32_t)strtol(at, &after, 10);
        if (after == at || (*after != ',' && *after != ']'))
            return false;
        at = after + 1;
    }
    return at == text.at + text.length;
}

/* Makes ARG of a value of JSON; one that has no such form is of type ARG_TYPE_RAW. */
static void read_value(struct sink *sink, struct json_text value, struct arg *arg)
{
    char digits[64] = "", *end;
    *arg = (struct arg){.type = ARG_TYPE_RAW, .text = value.at, .length = value.length};
    if (json_is_string(value)) {
        struct json_text text = inside(sink, value);
        *arg = (struct arg){.type = ARG_TYPE_TEXT, .text = text.at, .length = text.length};
    } else if (value.at[0] == 't' || value.at[0] == 'f') {
        arg->type = value.at[0] == 't' ? ARG_TYPE_TRUE : ARG_TYPE_FALSE;
    } else if (value.at[0] == '[') {
        int32_t triple[3];
        if (!read_triple(value, triple))
            return;
        arg->type = ARG_TYPE_SIZE3;
        memcpy(arg->size3, triple, sizeof(triple));
    } else if (value.length < sizeof(digits) && (value.at[0] == '-' || (value.at[0] >= '0' && value.at[0] <= '9'))) {
        memcpy(digits, value.at, value.length);
        errno = 0;
        arg->type = ARG_TYPE_I64;
        arg->i64 = strtoll(digits, &end, 10);
        if (*end == '\0' && errno == 0)
            return;
        arg->type = ARG_TYPE_REAL;
        arg->real = strtod(digits, NULL);
    }
}

static void take_members(struct sink *sink, const struct arg *members)
{
    struct sqlite_row *state = sink->state;
    const char *at = members->text, *end = at + members->length;
    struct json_text key, value;
    while (json_member(&at, end, &key, &value)) {
        struct arg arg;
        uint8_t column = column_of(state, arg_key_find(key.at, key.length));
        if (column != SQLITE_NO_COLUMN) {
            read_value(sink, value, &arg);
            if (set_argument(sink, column, &arg))
                continue;
            state->set &= ~(UINT64_C(1) << column);
        }
        buffer_text(&state->args, state->args.length ? ",\"" : "{\"");
        buffer_bytes(&state->args, key.at, key.length);
        buffer_bytes(&state->args, "\":", 2);
        buffer_bytes(&state->args, value.at, value.length);
    }
}

/* Arguments go to their columns; those without go to the column "args". */
static void take_args(struct sink *sink, const struct arg *args, size_t count)
{
    struct sqlite_row *state = sink->state;
    for (const struct arg *arg = args; arg < args + count; arg++) {
        if (arg->type == ARG_TYPE_LIST) {
            take_args(sink, arg->list->items, arg->list->count);
        } else if (arg->type == ARG_TYPE_MEMBERS) {
            take_members(sink, arg);
        } else {
            uint8_t column = column_of(state, arg->key);
            if (column != SQLITE_NO_COLUMN && set_argument(sink, column, arg))
                continue;
            if (column != SQLITE_NO_COLUMN)
                state->set &= ~(UINT64_C(1) << column);
            /* The table has no column for it, or the column cannot have the value. */
            buffer_char(&state->args, state->args.length ? ',' : '{');
            chrome_json_put_arg(&state->args, arg);
        }
    }
}

/* --- rows --- */

/* Begins a row of TABLE, whose event is in ROW of the trace. */
static void begin_row(struct sqlite_row *state, enum sqlite_table_number table, struct row row)
{
    state->table = table;
    state->row = row;
    state->set = 0;
    state->args.length = 0;
}

/* The column of the row's table that has this role; SQLITE_NO_COLUMN: it has none, and then the value is dropped. */
static uint8_t role_column(const struct sqlite_row *state, enum sqlite_role role)
{
    return sqlite_role_columns[state->table][role];
}

/* Puts a record of the values that are set. */
static void put_row(struct sink *sink, uint32_t table, struct row row, uint64_t set, struct row_value *values)
{
    struct row_head head = {.table = table, .row = row};
    size_t size = sizeof(head);
    for (uint64_t left = set; left; left &= left - 1) {
        const struct row_value *value = &values[__builtin_ctzll(left)];
        head.count++;
        size += sizeof(*value) + value->length;
    }
    struct record record = {RECORD_ROW, (uint32_t)size};
    char *at = buffer_reserve(sink->buffer, sizeof(record) + size);
    if (!at)
        return;
    memcpy(at, &record, sizeof(record));
    at += sizeof(record);
    memcpy(at, &head, sizeof(head));
    at += sizeof(head);
    char *texts = at + head.count * sizeof(*values);
    for (uint64_t left = set; left; left &= left - 1, at += sizeof(*values)) {
        const struct row_value *value = &values[__builtin_ctzll(left)];
        memcpy(at, value, sizeof(*value));
        if (value->length > 0)
            memcpy(texts, value->text, value->length);
        texts += value->length;
    }
    buffer_advance(sink->buffer, sizeof(record) + size);
}

/* Puts the record of the row at hand into the sink's buffer. */
static void end_row(struct sink *sink)
{
    struct sqlite_row *state = sink->state;
    if (state->args.length > 0) {
        buffer_char(&state->args, '}');
        struct row_value *value = value_of(state, role_column(state, SQLITE_ROLE_ARGS), ROW_TEXT);
        value->text = state->args.data;
        value->length = (uint32_t)state->args.length;
    }
    if (state->args.failure || state->scratch.failure)
        record_fail(sink->buffer);
    put_row(sink, state->table, state->row, state->set, state->values);
}

static int64_t time_of(const struct sink *sink, uint64_t time)
{
    uint64_t since = time > sink->base ? time - sink->base : 0;
    return since < INT64_MAX ? (int64_t)since : INT64_MAX;
}

/* What all events have. */
static void set_event(struct sink *sink, const struct name *name, struct row row, uint64_t start)
{
    struct sqlite_row *state = sink->state;
    set_name(sink, role_column(state, SQLITE_ROLE_NAME), name);
    set_integer(state, role_column(state, SQLITE_ROLE_START), time_of(sink, start));
    set_integer(state, role_column(state, SQLITE_ROLE_PID), row.pid);
    set_integer(state, role_column(state, SQLITE_ROLE_TID), row.tid);
}

static void set_word(struct sink *sink, enum sqlite_role which, const char *word)
{
    set_text(sink, role_column(sink->state, which), word, strlen(word));
}

/* OTHER: the name of CATEGORY_OTHER in JSON's escapes. */
static void set_category(struct sink *sink, enum category category, const char *other)
{
    struct sqlite_row *state = sink->state;
    if (!other) {
        set_word(sink, SQLITE_ROLE_CATEGORY, category_words[category].text);
        return;
    }
    state->scratch.length = 0;
    json_unescape(&state->scratch, (struct json_text){other, strlen(other)});
    set_text(sink, role_column(state, SQLITE_ROLE_CATEGORY), state->scratch.data, state->scratch.length);
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

static void write_one(struct sink *sink, const struct slice *slice, enum sqlite_table_number table, const char *kind,
                      uint64_t end)
{
    struct sqlite_row *state = state_of(sink);
    sink->events++;
    if (!state)
        return;
    begin_row(state, table, slice->row);
    set_event(sink, &slice->name, slice->row, slice->start);
    set_integer(state, role_column(state, SQLITE_ROLE_END), time_of(sink, end));
    set_word(sink, SQLITE_ROLE_KIND, kind);
    set_category(sink, slice->category, slice->other_category);
    if (slice->args)
        take_args(sink, slice->args->items, slice->args->count);
    end_row(sink);
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    enum sqlite_table_number table = table_of_slice(slice->category);
    const char *kind = table == SQLITE_RANGES ? "nested" : "slice";
    if (table == SQLITE_API_CALLS)
        kind = slice->category == CATEGORY_CUDA_RUNTIME ? "runtime" : "driver";
    write_one(sink, slice, table, kind, slice->end);
}

static void write_instant(struct sink *sink, const struct slice *instant)
{
    write_one(sink, instant, table_of_instant(instant), "instant", instant->start);
}

static void write_async(struct sink *sink, const struct async_slice *slice)
{
    struct sqlite_row *state = state_of(sink);
    bool range = slice->category == CATEGORY_USER_ANNOTATION;
    sink->events++;
    if (!state)
        return;
    begin_row(state, range ? SQLITE_RANGES : SQLITE_OTHER_EVENTS, slice->begin);
    set_event(sink, &slice->name, slice->begin, slice->start);
    set_integer(state, role_column(state, SQLITE_ROLE_END), time_of(sink, slice->end));
    set_integer(state, role_column(state, SQLITE_ROLE_END_TID), slice->end_row.tid);
    set_word(sink, SQLITE_ROLE_KIND, range ? "started" : "range");
    set_category(sink, slice->category, slice->other_category);
    if (slice->args)
        take_args(sink, slice->args->items, slice->args->count);
    end_row(sink);
}

static void set_counter_value(struct sqlite_row *state, const struct counter_value *value)
{
    uint8_t column = role_column(state, SQLITE_ROLE_VALUE);
    if (value->kind == COUNTER_REAL)
        set_real(state, column, value->real);
    else if (value->kind == COUNTER_UNSIGNED && value->u64 > INT64_MAX)
        set_real(state, column, (double)value->u64);
    else
        set_integer(state, column, value->i64);
}

static void write_counter(struct sink *sink, const struct counter *counter)
{
    struct sqlite_row *state = state_of(sink);
    struct counter_value one = {.kind = counter->real ? COUNTER_REAL : COUNTER_UNSIGNED, .u64 = counter->bytes};
    size_t count = counter->value_count ? counter->value_count : 1;
    sink->events++;
    if (counter->real)
        one.real = counter->value;
    for (size_t i = 0; state && i < count; i++) {
        const struct counter_value *value = counter->value_count ? &counter->values[i] : &one;
        begin_row(state, SQLITE_COUNTERS, (struct row){.pid = counter->pid});
        set_event(sink, &counter->name, state->row, counter->time);
        if (value->name)
            set_text(sink, role_column(state, SQLITE_ROLE_SERIES), value->name, value->length);
        else
            set_word(sink, SQLITE_ROLE_SERIES, counter->real ? "value" : "bytes");
        set_counter_value(state, value);
        end_row(sink);
    }
}

/* --- rows of the trace, and metadata --- */

static void write_naming(struct sink *sink, uint32_t table, struct row row, const char *name, const char *label)
{
    struct row_value values[2] = {{.column = 0, .type = ROW_NAME}, {.column = 1, .type = ROW_NAME}};
    struct sqlite_row *state = state_of(sink);
    if (!state)
        return;
    values[0].integer = record_texts_put(&state->texts, sink->buffer, name, strlen(name));
    if (label)
        values[1].integer = record_texts_put(&state->texts, sink->buffer, label, strlen(label));
    put_row(sink, table, row, label ? 3 : 1, values);
}

static void write_process(struct sink *sink, const struct row_name *process)
{
    write_naming(sink, process->owner ? ROW_GPU : ROW_PROCESS, process->row, process->name, process->label);
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    write_naming(sink, ROW_THREAD, thread->row, thread->name, NULL);
}

static void write_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    record_put_metadata(sink->buffer, key, value, size);
}

const struct sink_format sqlite_rows = {
    .name = "sqlite",
    .piece_scale = 1,
    .metadata = write_metadata,
    .begin = sink_set_base,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow = sink_pass_flow, /* a GPU operation has the correlation id of its call */
    .finish = sink_pass_end,
    .release = release,
};
