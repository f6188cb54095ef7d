#include "trace/sqlite/row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/event_fields.h"
#include "trace/json/text.h"
#include "trace/sink.h"

struct sqlite_row *sqlite_row_of(struct sink *sink)
{
    struct sqlite_row *state = sink->state;
    if (state)
        return state;
    state = sink->state = calloc(1, sizeof(*state));
    if (!state) {
        record_fail(sink);
        return NULL;
    }
    buffer_init_memory(&state->args);
    buffer_init_memory(&state->scratch);
    fields_put_record(sink->buffer, RECORD_PIECE, NULL, 0);
    return state;
}

void sqlite_row_release(struct sink *sink)
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

void sqlite_row_set_integer(struct sqlite_row *state, uint8_t column, int64_t integer)
{
    value_of(state, column, ROW_INTEGER)->integer = integer;
}

void sqlite_row_set_text(struct sink *sink, uint8_t column, const char *text, size_t length)
{
    struct sqlite_row *state = sink->state;
    value_of(state, column, ROW_NAME)->integer = record_texts_put(&state->texts, sink, text, length);
}

void sqlite_row_set_real(struct sqlite_row *state, uint8_t column, double real)
{
    value_of(state, column, ROW_REAL)->real = real;
}

void sqlite_row_set_name(struct sink *sink, uint8_t column, const struct name *name)
{
    struct sqlite_row *state = sink->state;
    value_of(state, column, ROW_NAME)->integer = record_texts_put_name(&state->texts, sink, name);
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
        sqlite_row_set_integer(state, column, arg->i64);
        return true;
    case ARG_TYPE_FIXED: /* as it is printed: with six decimals */
        sqlite_row_set_real(state, column, arg->real > 0 ? floor(fmin(arg->real, 1e12) * 1e6 + 0.5) / 1e6 : 0);
        return !name;
    case ARG_TYPE_REAL: sqlite_row_set_real(state, column, arg->real); return !name && isfinite(arg->real);
    case ARG_TYPE_HEX: sqlite_row_set_integer(state, column, (int64_t)arg->u64); return !name && arg->u64 <= INT64_MAX;
    case ARG_TYPE_TRUE:
    case ARG_TYPE_FALSE: sqlite_row_set_integer(state, column, arg->type == ARG_TYPE_TRUE); return !name;
    case ARG_TYPE_SIZE3:
        if (table_column->key != ARG_GRID && table_column->key != ARG_BLOCK)
            return false;
        for (uint8_t i = 0; i < 3; i++)
            sqlite_row_set_integer(state, (uint8_t)(column + i), arg->size3[i]);
        return true;
    case ARG_TYPE_TEXT:
        if (name)
            sqlite_row_set_text(sink, column, arg->text, arg->length);
        else if (arg->length > 0 && arg->text[0] >= '0' && arg->text[0] <= '9') /* "0x7f00" or "12" */
            sqlite_row_set_integer(state, column, event_number_of_text(arg->text, arg->length, 0));
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

void sqlite_row_take_args(struct sink *sink, const struct arg *args, size_t count)
{
    struct sqlite_row *state = sink->state;
    for (const struct arg *arg = args; arg < args + count; arg++) {
        if (arg->type == ARG_TYPE_LIST) {
            sqlite_row_take_args(sink, arg->list->items, arg->list->count);
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

void sqlite_row_begin(struct sqlite_row *state, enum sqlite_table_number table, struct row row)
{
    state->table = table;
    state->row = row;
    state->set = 0;
    state->args.length = 0;
}

uint8_t sqlite_row_column(const struct sqlite_row *state, enum sqlite_role role)
{
    return sqlite_role_columns[state->table][role];
}

/* Puts a record of the values that are set. */
void sqlite_row_put(struct sink *sink, uint32_t table, struct row row, uint64_t set, struct row_value *values)
{
    struct row_head head = {.table = table, .row = row};
    size_t size = sizeof(head);
    for (uint64_t left = set; left; left &= left - 1) {
        const struct row_value *value = &values[__builtin_ctzll(left)];
        head.count++;
        size += sizeof(*value) + value->length;
    }
    struct record record = {RECORD_RUN, (uint32_t)size};
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

void sqlite_row_end(struct sink *sink)
{
    struct sqlite_row *state = sink->state;
    if (state->args.length > 0) {
        buffer_char(&state->args, '}');
        struct row_value *value = value_of(state, sqlite_row_column(state, SQLITE_ROLE_ARGS), ROW_TEXT);
        value->text = state->args.data;
        value->length = (uint32_t)state->args.length;
    }
    if (state->args.failure || state->scratch.failure)
        record_fail(sink);
    sqlite_row_put(sink, state->table, state->row, state->set, state->values);
}
